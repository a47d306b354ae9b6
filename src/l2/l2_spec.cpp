// SPDX-License-Identifier: MIT
#include "l2/l2_spec.hpp"

#include "parts/index_hash.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

void L2Spec::fields(SpecFields& f) {
    f.section("l2");
    f.integer("slices_per_channel", slices_per_channel, 1, 16, "slices",
              "L2 slices in front of each DRAM channel, each with its own network port");
    f.integer("size_kib", size_kib, 1, 65536, "KiB", "data capacity of one slice");
    f.integer("line_bytes", line_bytes, 32, 128, "bytes", "bytes per tag");
    f.integer("sector_bytes", sector_bytes, 32, 128, "bytes", "bytes fetched from DRAM by a miss");
    f.integer("ways", ways, 1, 1024, "ways", "associativity");
    f.choice("set_hash", set_hash, IndexHash::names(), "how line addresses spread over sets");
    f.choice("replacement", replacement, replacement_names(), "which line of a set makes room");
    f.integer("mshrs", mshrs, 1, 4096, "entries", "outstanding sectors per slice");
    f.integer("mshr_merges", mshr_merges, 1, 1024, "requests", "requests one MSHR entry can hold, the first included");
    f.integer("latency", latency, 1, 10000, "core cycles", "from leaving the request network until the tag lookup");
    f.integer("input_queue", input_queue, 1, 4096, "packets",
              "requests waiting for their lookup, beyond those still in the latency pipeline");
    f.integer("output_queue", output_queue, 1, 4096, "packets", "replies waiting for the network");
    f.integer("dram_queue", dram_queue, 2, 4096, "requests", "requests on their way from a slice to its DRAM channel");
    f.integer("interleave_bytes", interleave_bytes, 128, 65536, "bytes", "consecutive bytes that stay in one slice");
    f.choice("slice_hash", slice_hash, IndexHash::names(), "how address chunks spread over slices");
}

}  // namespace mergelane
