// SPDX-License-Identifier: MIT
#include "sm/sm_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "parts/cache_checks.hpp"
#include "sm/memory_front.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

void SmSpec::fields(SpecFields& f) {
    f.section("sm");
    f.integer("warps", warps, 1, 64, "warps", "maximum resident warps per SM");
    f.integer("cta_slots", cta_slots, 1, 64, "CTAs", "maximum resident CTAs per SM");
    f.integer("registers", registers, 1024, 1u << 20, "registers", "32-bit registers of the register file");
    f.integer("shared_kib", shared_kib, 0, 1024, "KiB", "shared memory available to resident CTAs");
    f.integer("schedulers", schedulers, 1, 4, "schedulers", "warp schedulers; warp slot w belongs to scheduler w mod n");
    f.policy<WarpScheduler>("scheduler", scheduler, "warp scheduling policy");
    f.boolean("sub_cores", sub_cores, "each scheduler owns its share of the execution units instead of sharing all");
    f.integer("pipeline_latency", pipeline_latency, 0, 64, "cycles", "operand collection and write-back added to every execution latency");
    f.integer("barrier_latency", barrier_latency, 1, 1000, "cycles",
              "latency from the last arrival at a CTA barrier until its warps may issue");
    f.integer("shared_banks", shared_banks, 1, 128, "banks", "banks of shared memory, 4 bytes wide");
    f.integer("shared_latency", shared_latency, 1, 1000, "cycles", "latency of a conflict-free shared-memory access");
    f.enumeration("shared_path", shared_path, {"front", "own"},
                  "path of shared-memory accesses: through the load/store unit's queue with other memory instructions, or separate");
    f.integer("warp_limit", warp_limit, 0, 64, "warps",
              "static warp limit (CCWS-SWL): only this many warps, the oldest ready ones, may issue loads; 0: no limit");
    f.section("units");
    for (std::size_t u = 0; u < kUnitNames.size(); ++u) {
        f.integer(kUnitNames[u], units[u], 1, 16, "units", "execution units of this kind per SM");
    }
    f.section("exec");
    for (std::uint32_t c = 0; c < kComputeClasses; ++c) {
        const std::string name(kComputeClassNames[c]);
        f.integer(name + ".latency", exec[c].latency, 1, 10000, "cycles", "latency from issue until a dependent instruction may issue");
        f.integer(name + ".interval", exec[c].interval, 1, 10000, "cycles",
                  "initiation interval: cycles a warp instruction occupies the unit");
        f.choice(name + ".unit", exec[c].unit, {kUnitNames.begin(), kUnitNames.end()}, "execution unit the class occupies");
    }
}

void SmSpec::check(Problems& problems) const {
    problems.require(
        cta_slots <= warps, {"sm.cta_slots", "sm.warps"},
        fmt::format("sm.cta_slots ({}) is more than sm.warps ({}), but a CTA has at least one warp; lower sm.cta_slots", cta_slots, warps));
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
    f.policy<MemoryFront>("front", front, "load/store unit front end: how memory instructions are coalesced, queued and sent to the L1");
    f.integer("queue", queue, 1, 256, "instructions", "capacity of the load/store unit's instruction queue");
    f.integer("block_bytes", block_bytes, 32, 128, "bytes", "coalescing granularity: one request per block accessed by a warp instruction");
    f.integer("blocks_per_cycle", blocks_per_cycle, 1, 32, "blocks/cycle", "L1 accesses per cycle, of one instruction");
    f.integer("banks", banks, 1, 32, "banks",
              "L1 banks, interleaved by block; accesses of one cycle must go to different banks; 1: no bank conflicts");
    f.boolean("atomic_rounds", atomic_rounds,
              "serialize lanes of an atomic that access the same address, in rounds with separate requests");
    f.integer(
        "issue_limit", issue_limit, 0, 1024, "instructions",
        "memory instructions of a sub-core that may wait before it stops issuing, because they occupy its operand collectors; 0: no limit");
}

void LsuSpec::check(Problems& problems) const {
    check_block_bytes("lsu.block_bytes", block_bytes, problems);
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
