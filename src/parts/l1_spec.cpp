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
    f.boolean("enabled", enabled, "false: no L1; all global accesses go to the L2");
    f.integer("size_kib", size_kib, 1, 1024, "KiB", "data capacity, without the unified memory that the L1 can grow into");
    f.integer("unified_kib", unified_kib, 0, 1024, "KiB",
              "capacity shared by L1 and shared memory; the L1 grows, by ways, into the part a kernel does not use; 0: fixed size");
    f.integers("carveouts_kib", carveouts_kib, 0, 1024, "KiB", "allowed shared-memory carveouts of the unified memory, ascending");
    f.integer("line_bytes", line_bytes, 32, 128, "bytes", "line size");
    f.integer("sector_bytes", sector_bytes, 32, 128, "bytes", "sector size, fetched by a miss; must equal lsu.block_bytes");
    f.integer("ways", ways, 1, 1024, "ways", "associativity at size_kib");
    f.choice("set_hash", set_hash, IndexHash::names_for_sets(), "hash function from line address to set");
    f.policy<Replacement>("replacement", replacement, "replacement policy");
    f.integer("hit_latency", hit_latency, 1, 1000, "cycles", "hit latency, from tag lookup until a dependent instruction may issue");
    f.integer("mshrs", mshrs, 1, 4096, "entries", "MSHR entries: outstanding blocks");
    f.integer("mshr_merges", mshr_merges, 1, 64, "requests", "requests per MSHR entry, including the first");
    f.integer("miss_queue", miss_queue, 1, 1024, "packets", "capacity of the miss queue, for requests leaving the SM");
    f.enumeration("write_policy", write_policy, {"write_evict", "byte_mask"},
                  "write_evict: a store invalidates the line, without write allocation; byte_mask: it allocates with a byte mask, without "
                  "a fetch; both write through");
    f.enumeration("allocate", allocate, {"on_miss", "on_fill"}, "when a missing line is allocated in the set");
    f.integer("partitions", partitions, 1, 4, "partitions", "partitions of the sets; CTAs of slot n use only partition n mod partitions");
    f.boolean("flush_at_kernel", flush_at_kernel, "invalidate the L1 at the start of every kernel");
    f.boolean("perfect", perfect, "every load hits, for an upper bound on the speedup; stores are not affected");
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
        fmt::format("{} sets cannot be divided into l1.partitions = {}; use 1, 2 or 4, and at least as many sets", sets(), partitions));
    problems.require(mshrs * mshr_merges < 32768, {"l1.mshrs", "l1.mshr_merges"},
                     fmt::format("l1.mshrs x l1.mshr_merges is {}; at most 32767 requests can wait in one L1", mshrs * mshr_merges));
}

void L1Spec::laws(LawBook& book) const {
    // Every sector lookup is a hit, a miss or a hit on miss.
    book.balance("l1 load sectors = hits + misses + pending", book("l1.sector_accesses") - book("l1.sector_write_accesses"),
                 book("l1.sector_hits") + (book("l1.sector_misses") - book("l1.sector_write_misses")) + book("l1.sector_pending_hits"));
}

}  // namespace mergelane
