// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"

namespace mergelane {

struct L2Spec {
    bool enabled = true;
    std::uint32_t slices_per_channel = 1;
    std::uint32_t size_kib = 512;
    std::uint32_t line_bytes = 128;
    std::uint32_t sector_bytes = 128;
    std::uint32_t ways = 8;
    std::string set_hash = "xor_fold";
    std::string replacement = "lru";
    std::uint32_t mshrs = 32;
    std::uint32_t mshr_merges = 8;
    std::uint32_t latency = 120;
    std::uint32_t input_queue = 64;
    std::uint32_t output_queue = 64;
    std::uint32_t dram_queue = 64;
    std::uint32_t interleave_bytes = 256;
    std::string slice_hash = "xor_fold";

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
    std::uint32_t sets() const { return size_kib * 1024 / (line_bytes * ways); }
};

}  // namespace mergelane
