// SPDX-License-Identifier: MIT
// Tags and sector states of a set-associative cache. It has no notion of requests or time. Data read by a lookup is stored together: per
// set the fingerprints of its tags and the eviction order, per line everything else.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "core/bits.hpp"
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
    };

    explicit TagArray(const Geometry& geometry, const Policies& policies = policies_of<add_replacements>());

    /// First line of the set of `line_number`; computed once per access.
    std::uint32_t set_of(std::uint64_t line_number) const { return first_line(hash_.index(line_number)); }
    std::uint32_t first_line(std::uint32_t set) const { return set * ways_; }
    /// The line of the set that holds `line_number`, or kNoSlot.
    std::uint32_t find(std::uint32_t set, std::uint64_t line_number) const {
        if (ways_ <= 4) {
            for (std::uint32_t line = set; line < set + ways_; ++line) {
                if (lines_[line].tag == line_number) return line;
            }
            return kNoSlot;
        }
        return chained_ ? find_in_chain(set, line_number) : find_by_print(set, line_number);
    }
    /// The line of the set to allocate: an empty one, otherwise the policy's victim; kNoSlot if every line of the set has a pending fill.
    std::uint32_t candidate(std::uint32_t set) const;
    /// Assigns a new tag to the line; nothing is valid.
    void install(std::uint32_t line, std::uint64_t line_number);
    void invalidate(std::uint32_t line);
    void invalidate_all();
    void touch(std::uint32_t line) {
        if (touch_order_ == Replacement::Order::by_use)
            renew(line);
        else if (touch_order_ == Replacement::Order::policy)
            replacement_->touched(line);
    }

    // Ranks: lines of lower rank are evicted first, those of one rank in the policy's order. A new line has rank 0.
    static constexpr std::int8_t kLowestRank = -1, kHighestRank = 1;
    /// Without this, ranks are not looked at.
    void use_ranks() { ranked_ = chosen_ = true; }
    std::int8_t rank(std::uint32_t line) const { return lines_[line].rank; }
    void set_rank(std::uint32_t line, std::int8_t rank) { lines_[line].rank = rank; }
    /// The next line of the set's lines of this rank in eviction order, or kNoSlot; unless `even_pending`, one without a pending fill.
    std::uint32_t next_of_rank(std::uint32_t set, std::int8_t rank, bool even_pending) const;
    std::uint32_t count_rank(std::uint32_t set, std::int8_t rank) const;
    /// While on, touch() does nothing.
    void keep_order(bool on) { touch_order_ = on ? Replacement::Order::by_fill : order_; }

    /// A line of this set will be looked for soon.
    void fetch_set(std::uint32_t set) const {
        const std::uint16_t* const of_set = words(set_index(set));
        prefetch(of_set);
        prefetch(of_set + kQueue + 2 * ways_);
    }

    std::uint64_t tag(std::uint32_t line) const { return lines_[line].tag; }
    bool in_use(std::uint32_t line) const { return lines_[line].tag != kEmpty; }
    std::uint32_t lines() const { return static_cast<std::uint32_t>(lines_.size()); }

    /// Bit per sector.
    std::uint8_t& valid(std::uint32_t line) { return lines_[line].valid; }
    std::uint8_t valid(std::uint32_t line) const { return lines_[line].valid; }
    std::uint8_t& pending(std::uint32_t line) { return lines_[line].pending; }
    std::uint8_t& dirty(std::uint32_t line) { return lines_[line].dirty; }
    /// Sectors with some known bytes, because they were written.
    std::uint8_t partial(std::uint32_t line) const { return lines_[line].partial; }
    /// For use by the cache while a fill is pending: one of the fills of this line.
    std::uint16_t& fetch(std::uint32_t line) { return lines_[line].fetch; }

    /// Sectors for which a store needs no new allocation: valid, pending, or partly written.
    std::uint32_t held(std::uint32_t line) const {
        const Line& l = lines_[line];
        return l.valid | l.pending | l.partial;
    }
    /// Records written bytes. A sector becomes valid when all its bytes are known.
    void write_bytes(std::uint32_t line, const ByteMask& written);
    /// Sectors arrived from the next level.
    void fill(std::uint32_t line, std::uint8_t sectors);

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    static constexpr std::uint32_t kMostPrints = 32;  ///< wider sets are searched by hash chains
    static constexpr std::uint16_t kChainEnd = 0xFFFF;
    static constexpr std::uint32_t kDivideShift = 40;

    struct alignas(16) Line {
        std::uint64_t tag = kEmpty;
        std::uint8_t valid = 0;
        std::uint8_t pending = 0;
        std::uint8_t dirty = 0;
        std::uint8_t partial = 0;
        std::uint16_t fetch = 0;
        std::int8_t rank = 0;
    };
    static_assert(sizeof(Line) == 16, "four lines share a host cache line");
    using SectorMasks = std::array<std::uint32_t, kMaxLineBytes / kSectorBytes>;
    /// The words of a set: a head, two links per way (a ring in eviction order, from first to last and back), then fingerprints, or the
    /// next way of each way's chain and the chains' first ways.
    struct alignas(64) Block {
        std::uint16_t words[32] = {};
    };
    static constexpr std::uint32_t kLast = 0;      ///< way at the end of the queue
    static constexpr std::uint32_t kEmptyWay = 1;  ///< first empty way; the number of ways if there is none
    static constexpr std::uint32_t kQueue = 2;     ///< per way: its predecessor and successor in eviction order

    std::uint32_t find_by_print(std::uint32_t set, std::uint64_t line_number) const;
    std::uint32_t find_in_chain(std::uint32_t set, std::uint64_t line_number) const;
    std::uint16_t& chain_of(std::uint16_t* words, std::uint64_t line_number) const;
    std::uint32_t chosen_candidate(std::uint32_t set) const;
    void unchain(std::uint32_t line);
    void renew(std::uint32_t line);
    /// line / ways by multiplication; exact because lines * ways is below 2^40.
    std::uint32_t set_index(std::uint32_t line) const { return static_cast<std::uint32_t>(line * reciprocal_ >> kDivideShift); }
    // The words of all blocks are contiguous; a set may have several blocks.
    std::uint16_t* words(std::uint32_t set_index) {
        return reinterpret_cast<std::uint16_t*>(blocks_.data()) + std::size_t{set_index} * stride_;
    }
    const std::uint16_t* words(std::uint32_t set_index) const {
        return reinterpret_cast<const std::uint16_t*>(blocks_.data()) + std::size_t{set_index} * stride_;
    }

    std::uint32_t ways_;
    std::uint32_t stride_ = 0;  ///< words from set to set
    std::uint64_t reciprocal_;
    bool chained_;
    Replacement::Order order_;
    Replacement::Order touch_order_;  ///< the same, or by_fill: a use changes nothing
    bool ranked_ = false;
    bool chosen_ = false;  ///< ranks or the policy say which line is evicted, not the queue alone
    std::uint32_t chain_shift_ = 0;
    IndexHash hash_;
    std::vector<Line> lines_;
    std::vector<Block> blocks_;
    std::vector<SectorMasks> masks_;  ///< known bytes of partial sectors; allocated on first use, because many programs need none
    std::unique_ptr<Replacement> replacement_;
    mutable std::vector<std::uint8_t> locked_;  ///< passed to `replacement_` if it maintains the order itself
};

inline std::uint32_t TagArray::find_by_print(std::uint32_t set, std::uint64_t line_number) const {
    const auto* prints = reinterpret_cast<const std::uint8_t*>(words(set_index(set)) + kQueue + 2 * ways_);
    const Line* const lines = &lines_[set];
    for (std::uint32_t base = 0; base < ways_; base += 16) {
        std::uint32_t hits = equal_prints(prints + base, line_number);
        if (ways_ - base < 16) hits &= static_cast<std::uint32_t>(low_bits(ways_ - base));
        for (; hits != 0; hits &= hits - 1) {
            const std::uint32_t way = base + lowest_bit(hits);
            if (lines[way].tag == line_number) return set + way;
        }
    }
    return kNoSlot;
}

inline std::uint16_t& TagArray::chain_of(std::uint16_t* words, std::uint64_t line_number) const {
    return words[kQueue + 3 * ways_ + (line_number * 0x9E3779B97F4A7C15ull >> chain_shift_)];
}

inline std::uint32_t TagArray::find_in_chain(std::uint32_t set, std::uint64_t line_number) const {
    const std::uint16_t* const of_set = words(set_index(set));
    const std::uint16_t* const next = of_set + kQueue + 2 * ways_;
    for (std::uint32_t way = next[ways_ + (line_number * 0x9E3779B97F4A7C15ull >> chain_shift_)]; way != kChainEnd; way = next[way]) {
        if (lines_[set + way].tag == line_number) return set + way;
    }
    return kNoSlot;
}

inline void TagArray::renew(std::uint32_t line) {
    const std::uint32_t index = set_index(line);
    std::uint16_t* const of_set = words(index);
    const auto way = static_cast<std::uint16_t>(line - index * ways_);
    const std::uint16_t last = of_set[kLast];
    if (way == last) return;
    std::uint16_t* const queue = of_set + kQueue;
    of_set[kLast] = way;
    const std::uint16_t first = queue[2 * last + 1];
    if (way == first) return;  // the ring has rotated by one
    const std::uint16_t before = queue[2 * way];
    const std::uint16_t after = queue[2 * way + 1];
    queue[2 * before + 1] = after;
    queue[2 * after] = before;
    queue[2 * last + 1] = way;
    queue[2 * way] = last;
    queue[2 * way + 1] = first;
    queue[2 * first] = way;
}

inline void TagArray::write_bytes(std::uint32_t line, const ByteMask& written) {
    Line& l = lines_[line];
    for (std::uint32_t left = written.touched_sectors() & ~std::uint32_t{l.valid}; left != 0; left &= left - 1) {
        const std::uint32_t sector = lowest_bit(left);
        const auto sector_bit = static_cast<std::uint8_t>(1u << sector);
        std::uint32_t known = written.sector(sector);
        if ((l.partial & sector_bit) != 0) known |= masks_[line][sector];
        if (known == 0xFFFFFFFFu) {
            l.valid = static_cast<std::uint8_t>(l.valid | sector_bit);
            l.partial = static_cast<std::uint8_t>(l.partial & ~sector_bit);
            continue;
        }
        if (masks_.empty()) masks_.resize(lines_.size());
        l.partial = static_cast<std::uint8_t>(l.partial | sector_bit);
        masks_[line][sector] = known;
    }
}

inline void TagArray::fill(std::uint32_t line, std::uint8_t sectors) {
    Line& l = lines_[line];
    l.valid = static_cast<std::uint8_t>(l.valid | sectors);
    l.pending = static_cast<std::uint8_t>(l.pending & ~sectors);
    l.partial = static_cast<std::uint8_t>(l.partial & ~sectors);
}

}  // namespace mergelane
