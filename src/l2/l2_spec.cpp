// SPDX-License-Identifier: MIT
#include "l2/l2_spec.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "parts/cache_checks.hpp"
#include "parts/index_hash.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

void L2Spec::fields(SpecFields& f) {
    f.section("l2");
    f.boolean("enabled", enabled,
              "false: no cache; requests go from the network to the DRAM channel, which answers reads and atomics; writes are acknowledged "
              "at once");
    f.integer("slices_per_channel", slices_per_channel, 1, 16, "slices", "L2 slices per DRAM channel, each with its own network port");
    f.integer("size_kib", size_kib, 1, 65536, "KiB", "data capacity of one slice");
    f.integer("line_bytes", line_bytes, 32, 128, "bytes", "line size");
    f.integer("sector_bytes", sector_bytes, 32, 128, "bytes", "sector size, fetched from DRAM by a miss");
    f.integer("ways", ways, 1, 1024, "ways", "associativity");
    f.choice("set_hash", set_hash, IndexHash::names(), "hash function from line address to set");
    f.policy<Replacement>("replacement", replacement, "replacement policy");
    f.integer("mshrs", mshrs, 1, 4096, "entries", "MSHR entries per slice: outstanding sectors");
    f.integer("mshr_merges", mshr_merges, 1, 1024, "requests", "requests per MSHR entry, including the first");
    f.integer("latency", latency, 1, 10000, "core cycles", "latency from the request network to the tag lookup; none without a cache");
    f.integer("input_queue", input_queue, 1, 4096, "packets", "input queue, in addition to the requests in the latency pipeline");
    f.integer("output_queue", output_queue, 1, 4096, "packets", "output queue, for replies to the network");
    f.integer("dram_queue", dram_queue, 2, 4096, "requests", "requests in flight from a slice to its DRAM channel");
    f.integer("interleave_bytes", interleave_bytes, 128, 65536, "bytes", "interleaving granularity over slices");
    f.choice("slice_hash", slice_hash, IndexHash::names_for_slices(), "hash function from address to slice");
}

void L2Spec::check(Problems& problems) const {
    bool sizes = check_block_bytes("l2.line_bytes", line_bytes, problems);
    sizes = check_block_bytes("l2.sector_bytes", sector_bytes, problems) && sizes;
    if (!sizes) return;  // further checks would only repeat the error
    problems.require(is_power_of_two(interleave_bytes), {"l2.interleave_bytes"},
                     fmt::format("l2.interleave_bytes is {}; use a power of two", interleave_bytes));
    check_sets("l2", size_kib, line_bytes, ways, problems);
    problems.require(sector_bytes <= line_bytes, {"l2.sector_bytes", "l2.line_bytes"},
                     fmt::format("l2.sector_bytes ({}) is larger than l2.line_bytes ({}); lower it", sector_bytes, line_bytes));
    problems.require(mshr_merges <= output_queue, {"l2.output_queue", "l2.mshr_merges"},
                     fmt::format("l2.output_queue ({}) cannot hold the {} replies of one fill (l2.mshr_merges); raise it to at least {}",
                                 output_queue, mshr_merges, mshr_merges));
}

void L2Spec::laws(LawBook& book) const {
    // Copies of lines of the other half are inserted without an answer; requests that no copy answers are returned.
    const bool copies = book.has("l2.copies_filled");
    const std::uint64_t answered = book("l2.requests") - (copies ? book("l2.copies_filled") : 0);
    book.balance("l2.requests = l2.replies + held", answered, book("l2.replies") + book("l2.held"));
    book.balance("l2.requests = l2.reads + l2.writes + l2.atomics", answered - (copies ? book("l2.copies_missed") : 0),
                 book("l2.reads") + book("l2.writes") + book("l2.atomics"));
    // Every sector lookup is a hit, a miss or a hit on miss.
    book.balance("l2.sector_accesses = hits + misses + pending", book("l2.sector_accesses"),
                 book("l2.sector_hits") + book("l2.sector_misses") + book("l2.sector_pending_hits"));
}

}  // namespace mergelane
