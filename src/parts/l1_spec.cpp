// SPDX-License-Identifier: MIT
#include "parts/l1_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "parts/cache_checks.hpp"
#include "parts/index_hash.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

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
    f.integer("partitions", partitions, 1, 4, "partitions",
              "CTAs of slot n have only the sets of partition n mod partitions, and find only what is there");
    f.boolean("flush_at_kernel", flush_at_kernel, "a kernel starts with an empty L1; else it finds what the last one left");
    f.boolean("perfect", perfect, "every load hits, whatever the L1 holds: what a program would gain at most; stores are as ever");
}

void L1Spec::check(Problems& problems) const {
    bool sizes = check_block_bytes("l1.line_bytes", line_bytes, problems);
    sizes = check_block_bytes("l1.sector_bytes", sector_bytes, problems) && sizes;
    if (!sizes) return;  // further checks would only repeat the error
    check_sets("l1", size_kib, line_bytes, ways, problems);
    problems.require(IndexHash::suits(set_hash, sets(), line_bytes, partitions), {"l1.set_hash", "l1.size_kib", "l1.ways", "l1.line_bytes"},
                     fmt::format("l1.set_hash = \"{}\" is for 32 or 64 sets of 128-byte lines, not for {} of {}; use \"xor_fold\" or "
                                 "change l1.size_kib or l1.ways",
                                 set_hash, sets(), line_bytes));
    problems.require(sector_bytes <= line_bytes, {"l1.sector_bytes", "l1.line_bytes"},
                     fmt::format("l1.sector_bytes ({}) is larger than l1.line_bytes ({}); lower it", sector_bytes, line_bytes));
    problems.require(unified_kib == 0 || unified_kib >= size_kib, {"l1.unified_kib", "l1.size_kib"},
                     fmt::format("l1.unified_kib ({}) is smaller than l1.size_kib ({}); raise it or set it to 0", unified_kib, size_kib));
    problems.require(std::is_sorted(carveouts_kib.begin(), carveouts_kib.end()), {"l1.carveouts_kib"},
                     "l1.carveouts_kib is not in ascending order; sort it");
    problems.require(
        is_power_of_two(partitions) && sets() % partitions == 0, {"l1.partitions", "l1.size_kib", "l1.ways"},
        fmt::format("{} sets cannot be shared by l1.partitions = {}; use 1, 2 or 4, and at least as many sets", sets(), partitions));
    problems.require(mshrs * mshr_merges < 32768, {"l1.mshrs", "l1.mshr_merges"},
                     fmt::format("l1.mshrs x l1.mshr_merges is {}; at most 32767 requests can wait in one L1", mshrs * mshr_merges));
}

void L1Spec::laws(LawBook& book) const {
    // Every sector lookup is a hit, a miss or a hit on miss.
    book.balance("l1 load sectors = hits + misses + pending", book("l1.sector_accesses") - book("l1.sector_write_accesses"),
                 book("l1.sector_hits") + (book("l1.sector_misses") - book("l1.sector_write_misses")) + book("l1.sector_pending_hits"));
}

}  // namespace mergelane
