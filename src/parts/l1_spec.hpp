// SPDX-License-Identifier: MIT
// Configuration of a first-level cache, in an SM or in a node.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/problems.hpp"

namespace mergelane {

struct L1Spec {
    enum class WritePolicy : std::uint8_t { write_evict, byte_mask };
    enum class Allocate : std::uint8_t { on_miss, on_fill };

    bool enabled = true;
    std::uint32_t size_kib = 16;
    std::uint32_t unified_kib = 0;
    std::vector<std::uint32_t> carveouts_kib = {0};
    std::uint32_t line_bytes = 128;
    std::uint32_t sector_bytes = 128;
    std::uint32_t ways = 4;
    std::string set_hash = "xor_fold";
    std::string replacement = "lru";
    std::uint32_t hit_latency = 28;
    std::uint32_t mshrs = 32;
    std::uint32_t mshr_merges = 8;
    std::uint32_t miss_queue = 8;
    WritePolicy write_policy = WritePolicy::write_evict;
    Allocate allocate = Allocate::on_miss;
    std::uint32_t partitions = 1;
    bool flush_at_kernel = true;
    bool perfect = false;

    void fields(SpecFields& f);
    void check(Problems& problems) const;
    void laws(LawBook& book) const;
    std::uint32_t sets() const { return size_kib * 1024 / (line_bytes * ways); }
};

}  // namespace mergelane
