// SPDX-License-Identifier: MIT
// Tags and sector states of a set-associative cache, as flat arrays. It knows nothing of requests or time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/packet.hpp"
#include "core/types.hpp"
#include "parts/index_hash.hpp"
#include "parts/key_index.hpp"
#include "parts/replacement.hpp"

namespace mergelane {

class TagArray {
public:
    struct Geometry {
        std::uint32_t sets = 1;
        std::uint32_t ways = 1;
        std::string_view set_hash = "plain";
        std::string_view replacement = "lru";
        bool byte_masks = false;  ///< keep which bytes of a partly written sector are valid
    };

    explicit TagArray(const Geometry& geometry, const Policies& policies = policies_of<add_replacements>());

    /// First line of the set that `line_number` belongs to; asked once per access.
    std::uint32_t set_of(std::uint64_t line_number) const { return hash_.index(line_number) * ways_; }
    /// Line of the set that holds `line_number`, or kNoSlot.
    std::uint32_t find(std::uint32_t set, std::uint64_t line_number) const {
        const std::uint32_t way = find_key(&tags_[set], &prints_[set], ways_, line_number);
        return way == kNoSlot ? kNoSlot : set + way;
    }
    /// The line of the set that would make room: an empty one, else the policy's victim; kNoSlot when every line of the
    /// set waits for a fetch.
    std::uint32_t candidate(std::uint32_t set) const;
    /// Gives the line a new tag with nothing valid.
    void install(std::uint32_t line, std::uint64_t line_number);
    void invalidate(std::uint32_t line);
    void invalidate_all();
    void touch(std::uint32_t line) { replacement_->touched(line); }

    std::uint64_t tag(std::uint32_t line) const { return tags_[line]; }
    bool in_use(std::uint32_t line) const { return tags_[line] != kEmpty; }
    std::uint32_t lines() const { return static_cast<std::uint32_t>(sets_ * ways_); }

    /// Bit per sector.
    std::uint8_t& valid(std::uint32_t line) { return valid_[line]; }
    std::uint8_t& pending(std::uint32_t line) { return pending_[line]; }
    std::uint8_t& dirty(std::uint32_t line) { return dirty_[line]; }
    ByteMask& bytes(std::uint32_t line) { return bytes_[line]; }
    bool has_byte_masks() const { return !bytes_.empty(); }

    /// Sectors a store need not take a place for: valid, being fetched, or written in part.
    std::uint32_t held(std::uint32_t line) const {
        return valid_[line] | pending_[line] | (bytes_.empty() ? 0 : bytes_[line].touched_sectors());
    }
    /// Notes written bytes; a sector all of whose bytes are known becomes valid.
    void write_bytes(std::uint32_t line, const ByteMask& written);
    /// Sectors arrived from below.
    void fill(std::uint32_t line, std::uint8_t sectors);

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

    std::uint32_t sets_;
    std::uint32_t ways_;
    IndexHash hash_;
    std::unique_ptr<Replacement> replacement_;
    mutable std::vector<std::uint32_t> used_;  ///< per set: at least so many lines at its start hold something
    std::vector<std::uint64_t> tags_;
    std::vector<std::uint8_t> prints_;
    std::vector<std::uint8_t> valid_;
    std::vector<std::uint8_t> pending_;
    std::vector<std::uint8_t> dirty_;
    std::vector<ByteMask> bytes_;
};

}  // namespace mergelane
