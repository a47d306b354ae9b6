// SPDX-License-Identifier: MIT
#include "sm/sm_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "parts/cache_checks.hpp"
#include "parts/index_hash.hpp"
#include "parts/replacement.hpp"
#include "sm/memory_front.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

void SmSpec::fields(SpecFields& f) {
    f.section("sm");
    f.integer("warps", warps, 1, 64, "warps", "warps that can be resident at once");
    f.integer("cta_slots", cta_slots, 1, 64, "CTAs", "CTAs that can be resident at once");
    f.integer("registers", registers, 1024, 1u << 20, "registers", "32-bit registers of the register file");
    f.integer("shared_kib", shared_kib, 0, 1024, "KiB", "shared memory available to resident CTAs");
    f.integer("schedulers", schedulers, 1, 4, "schedulers", "warp schedulers; warp slot w belongs to scheduler w mod n");
    f.policy<WarpScheduler>("scheduler", scheduler, "which ready warp issues");
    f.boolean("sub_cores", sub_cores, "each scheduler owns its share of the execution units instead of sharing all");
    f.integer("pipeline_latency", pipeline_latency, 0, 64, "cycles", "operand collection and write-back added to every execution latency");
    f.integer("barrier_latency", barrier_latency, 1, 1000, "cycles", "from the last arrival at a CTA barrier until its warps may issue");
    f.integer("shared_banks", shared_banks, 1, 128, "banks", "banks of shared memory, 4 bytes wide");
    f.integer("shared_latency", shared_latency, 1, 1000, "cycles", "latency of a conflict-free shared-memory access");
    f.choice("shared_path", shared_path, {"front", "own"},
             "accesses to shared memory wait in line with other memory instructions in the memory front, or have a path of their own");
    f.neutral("front");
    f.integer("warp_limit", warp_limit, 0, 64, "warps", "only so many, the oldest that could go on, may issue loads (CCWS-SWL); 0: all");
    f.neutral("0");
    f.section("units");
    for (std::size_t u = 0; u < kUnitNames.size(); ++u) {
        f.integer(kUnitNames[u], units[u], 1, 16, "units", "execution units of this kind per SM");
    }
    f.section("exec");
    for (std::uint32_t c = 0; c < kComputeClasses; ++c) {
        const std::string name(kComputeClassNames[c]);
        f.integer(name + ".latency", exec[c].latency, 1, 10000, "cycles", "from issue until a dependent instruction may issue");
        f.integer(name + ".interval", exec[c].interval, 1, 10000, "cycles", "cycles the unit is taken by one warp instruction");
        f.choice(name + ".unit", exec[c].unit, {kUnitNames.begin(), kUnitNames.end()}, "execution unit the class occupies");
    }
}

void SmSpec::check(Problems& problems) const {
    problems.require(
        cta_slots <= warps, {"sm.cta_slots", "sm.warps"},
        fmt::format("sm.cta_slots ({}) is more than sm.warps ({}); a CTA has at least one warp: lower sm.cta_slots too", cta_slots, warps));
    problems.require(schedulers <= warps, {"sm.schedulers", "sm.warps"},
                     fmt::format("sm.schedulers ({}) is more than sm.warps ({}); lower it", schedulers, warps));
    for (std::size_t u = 0; sub_cores && u < kUnitNames.size(); ++u) {
        const std::string key = fmt::format("units.{}", kUnitNames[u]);
        problems.require(units[u] % schedulers == 0, {key, "sm.sub_cores", "sm.schedulers"},
                         fmt::format("{} ({}) cannot be shared evenly by {} sub-cores; use a multiple, or sm.sub_cores = false", key,
                                     units[u], schedulers));
    }
}

void SmSpec::laws(LawBook& book) const {
    book.balance("sm.requests_sent = sm.replies_received + outstanding", book("sm.requests_sent"),
                 book("sm.replies_received") + book("sm.outstanding"));
}

void LsuSpec::fields(SpecFields& f) {
    f.section("lsu");
    f.policy<MemoryFront>("front", front,
                          "what stands between issue and the network: how memory instructions coalesce, wait and reach the L1");
    f.neutral("in_order");
    f.integer("queue", queue, 1, 256, "instructions", "memory instructions waiting in the load/store unit");
    f.integer("block_bytes", block_bytes, 32, 128, "bytes",
              "what the coalescer forms: one request per block touched by a warp instruction");
    f.integer("blocks_per_cycle", blocks_per_cycle, 1, 32, "blocks/cycle", "blocks of one instruction that enter the L1 per cycle");
    f.integer("banks", banks, 1, 32, "banks",
              "banks of the L1, interleaved by block: blocks that enter in one cycle are of different banks; 1: any");
    f.boolean("atomic_rounds", atomic_rounds,
              "lanes of an atomic that hit the same address go in separate rounds, each with its own requests");
    f.integer("issue_limit", issue_limit, 0, 1024, "instructions",
              "with so many memory instructions of a sub-core waiting, it issues nothing else: they hold its operand collectors; 0: never");
}

void LsuSpec::check(Problems& problems) const {
    check_block_bytes("lsu.block_bytes", block_bytes, problems);
}

void L1Spec::fields(SpecFields& f) {
    f.section("l1");
    f.boolean("enabled", enabled, "false: a lite core whose global accesses all go down");
    f.integer("size_kib", size_kib, 1, 1024, "KiB", "data capacity (before growing into unified memory)");
    f.integer("unified_kib", unified_kib, 0, 1024, "KiB",
              "capacity shared by L1 and shared memory; the L1 grows by ways into what the kernel leaves; 0: fixed size");
    f.integers("carveouts_kib", carveouts_kib, 0, 1024, "KiB",
               "allowed shared-memory shares of unified memory, ascending, separated by commas");
    f.integer("line_bytes", line_bytes, 32, 128, "bytes", "bytes per tag");
    f.integer("sector_bytes", sector_bytes, 32, 128, "bytes", "bytes fetched by a miss; equal to lsu.block_bytes");
    f.integer("ways", ways, 1, 1024, "ways", "associativity at size_kib");
    f.choice("set_hash", set_hash, IndexHash::names_for_sets(), "how line addresses spread over sets");
    f.policy<Replacement>("replacement", replacement, "which line of a set makes room");
    f.integer("hit_latency", hit_latency, 1, 1000, "cycles", "from tag lookup until a dependent instruction may issue");
    f.integer("mshrs", mshrs, 1, 4096, "entries", "outstanding blocks");
    f.integer("mshr_merges", mshr_merges, 1, 64, "requests", "requests one MSHR entry can hold, the first included");
    f.integer("miss_queue", miss_queue, 1, 1024, "packets", "requests waiting to leave the SM");
    f.enumeration("write_policy", write_policy, {"write_evict", "byte_mask"},
                  "write_evict: a store invalidates the line and allocates nothing; byte_mask: it allocates with a byte mask and fetches "
                  "nothing; both write through");
    f.enumeration("allocate", allocate, {"on_miss", "on_fill"}, "when a missing line takes its place in the set");
    f.boolean("flush_at_kernel", flush_at_kernel, "a kernel starts with an empty L1; else it finds what the last one left");
    f.neutral("true");
}

void L1Spec::check(Problems& problems) const {
    bool sizes = check_block_bytes("l1.line_bytes", line_bytes, problems);
    sizes = check_block_bytes("l1.sector_bytes", sector_bytes, problems) && sizes;
    if (!sizes) return;  // other rules would only say it again
    check_sets("l1", size_kib, line_bytes, ways, problems);
    problems.require(set_hash != "fermi" || (line_bytes == 128 && (sets() == 32 || sets() == 64)),
                     {"l1.set_hash", "l1.size_kib", "l1.ways", "l1.line_bytes"},
                     fmt::format("l1.set_hash = \"fermi\" is for 32 or 64 sets of 128-byte lines, not for {} of {}; use \"xor_fold\" or "
                                 "change l1.size_kib or l1.ways",
                                 sets(), line_bytes));
    problems.require(sector_bytes <= line_bytes, {"l1.sector_bytes", "l1.line_bytes"},
                     fmt::format("l1.sector_bytes ({}) is larger than l1.line_bytes ({}); lower it", sector_bytes, line_bytes));
    problems.require(unified_kib == 0 || unified_kib >= size_kib, {"l1.unified_kib", "l1.size_kib"},
                     fmt::format("l1.unified_kib ({}) is smaller than l1.size_kib ({}); raise it or set it to 0", unified_kib, size_kib));
    problems.require(std::is_sorted(carveouts_kib.begin(), carveouts_kib.end()), {"l1.carveouts_kib"},
                     "l1.carveouts_kib is not in ascending order; sort it");
    problems.require(mshrs * mshr_merges < 32768, {"l1.mshrs", "l1.mshr_merges"},
                     fmt::format("l1.mshrs x l1.mshr_merges is {}; at most 32767 requests can wait in one L1", mshrs * mshr_merges));
}

void L1Spec::laws(LawBook& book) const {
    if (!book.has("l1.sector_accesses")) return;  // a memory front without an L1
    // Every sector lookup is a hit, a miss or on its way.
    book.balance("l1 load sectors = hits + misses + pending", book("l1.sector_accesses") - book("l1.sector_write_accesses"),
                 book("l1.sector_hits") + (book("l1.sector_misses") - book("l1.sector_write_misses")) + book("l1.sector_pending_hits"));
}

Residency residency(const SmSpec& sm, const KernelInfo& kernel) {
    const std::uint32_t warps = kernel.warps_per_cta();
    Residency best{sm.cta_slots, "CTA slots"};
    const auto limit = [&](std::uint64_t ctas, std::string_view what) {
        if (ctas < best.ctas) best = {static_cast<std::uint32_t>(ctas), what};
    };
    limit(sm.warps / std::max(warps, 1u), "warp slots");
    const std::uint64_t registers = std::uint64_t{kernel.registers_per_thread} * kWarpLanes * warps;
    if (registers != 0) limit(sm.registers / registers, "registers");
    if (kernel.shared_bytes != 0) limit(std::uint64_t{sm.shared_kib} * 1024 / kernel.shared_bytes, "shared memory");
    return best;
}

}  // namespace mergelane
