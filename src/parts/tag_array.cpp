// SPDX-License-Identifier: MIT
#include "parts/tag_array.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace mergelane {

TagArray::TagArray(const Geometry& geometry, const Policies& policies)
    : ways_(geometry.ways),
      reciprocal_((std::uint64_t{1} << kDivideShift) / geometry.ways + 1),
      chained_(geometry.ways > kMostPrints),
      hash_(geometry.set_hash, geometry.sets),
      lines_(std::size_t{geometry.sets} * geometry.ways),
      replacement_(policies.make<Replacement>(geometry.replacement, geometry.sets * geometry.ways)) {
    if (ways_ >= kChainEnd) throw InputError("a set has at most 65534 ways; use several sets");
    order_ = touch_order_ = replacement_->order();
    chosen_ = order_ == Replacement::Order::policy;
    if (chosen_) locked_.resize(lines());
    // Small sets share a host cache line; larger sets start on one.
    const std::uint32_t chains = std::bit_ceil(ways_);
    chain_shift_ = 64 - index_bits(chains);
    const std::uint32_t count = kQueue + 2 * ways_ + (chained_ ? ways_ + chains : (ways_ + 1) / 2);
    constexpr std::uint32_t kBlockWords = sizeof(Block) / 2;
    stride_ = count <= kBlockWords ? std::bit_ceil(count) : static_cast<std::uint32_t>(divide_up(count, kBlockWords)) * kBlockWords;
    // One extra block, because fingerprints are read sixteen at a time.
    blocks_.resize(divide_up(std::size_t{geometry.sets} * stride_, kBlockWords) + 1);
    for (std::uint32_t set = 0; set < geometry.sets; ++set) {
        std::uint16_t* const of_set = words(set);
        for (std::uint32_t way = 0; way < ways_; ++way) {
            of_set[kQueue + 2 * way] = static_cast<std::uint16_t>(way == 0 ? ways_ - 1 : way - 1);
            of_set[kQueue + 2 * way + 1] = static_cast<std::uint16_t>(way + 1 == ways_ ? 0 : way + 1);
        }
        of_set[kLast] = static_cast<std::uint16_t>(ways_ - 1);
        if (chained_) std::fill_n(of_set + kQueue + 3 * ways_, chains, kChainEnd);
    }
}

std::uint32_t TagArray::candidate(std::uint32_t set) const {
    const std::uint16_t* const of_set = words(set_index(set));
    if (of_set[kEmptyWay] < ways_) return set + of_set[kEmptyWay];
    if (chosen_) return chosen_candidate(set);
    std::uint32_t way = of_set[kLast];
    for (std::uint32_t k = 0; k < ways_; ++k) {
        way = of_set[kQueue + 2 * way + 1];
        if (lines_[set + way].pending == 0) return set + way;
    }
    return kNoSlot;
}

/// The order is not that of the set's queue alone.
std::uint32_t TagArray::chosen_candidate(std::uint32_t set) const {
    if (!ranked_) {
        for (std::uint32_t way = 0; way < ways_; ++way) locked_[set + way] = lines_[set + way].pending;
        return replacement_->victim(set, ways_, locked_.data());
    }
    for (int rank = kLowestRank; rank <= kHighestRank; ++rank) {
        const std::uint32_t line = next_of_rank(set, static_cast<std::int8_t>(rank), false);
        if (line != kNoSlot) return line;
    }
    return kNoSlot;
}

std::uint32_t TagArray::next_of_rank(std::uint32_t set, std::int8_t rank, bool even_pending) const {
    const auto excluded = [&](std::uint32_t line) {
        return !in_use(line) || lines_[line].rank != rank || (!even_pending && lines_[line].pending != 0);
    };
    if (order_ == Replacement::Order::policy) {
        for (std::uint32_t line = set; line < set + ways_; ++line) locked_[line] = excluded(line) ? 1 : 0;
        return replacement_->victim(set, ways_, locked_.data());
    }
    const std::uint16_t* const of_set = words(set_index(set));
    std::uint32_t way = of_set[kLast];
    for (std::uint32_t k = 0; k < ways_; ++k) {
        way = of_set[kQueue + 2 * way + 1];
        if (!excluded(set + way)) return set + way;
    }
    return kNoSlot;
}

std::uint32_t TagArray::count_rank(std::uint32_t set, std::int8_t rank) const {
    std::uint32_t count = 0;
    for (std::uint32_t line = set; line < set + ways_; ++line) count += in_use(line) && lines_[line].rank == rank ? 1 : 0;
    return count;
}

void TagArray::install(std::uint32_t line, std::uint64_t line_number) {
    const std::uint32_t index = set_index(line);
    std::uint16_t* const of_set = words(index);
    const std::uint32_t way = line - index * ways_;
    if (chained_) {
        if (in_use(line)) unchain(line);
        std::uint16_t& first = chain_of(of_set, line_number);
        of_set[kQueue + 2 * ways_ + way] = first;
        first = static_cast<std::uint16_t>(way);
    } else {
        reinterpret_cast<std::uint8_t*>(of_set + kQueue + 2 * ways_)[way] = fingerprint(line_number);
    }
    lines_[line] = {};
    lines_[line].tag = line_number;
    if (of_set[kEmptyWay] == way) {
        std::uint32_t empty = way + 1;
        while (empty < ways_ && in_use(line - way + empty)) ++empty;
        of_set[kEmptyWay] = static_cast<std::uint16_t>(empty);
    }
    if (order_ == Replacement::Order::policy)
        replacement_->filled(line);
    else
        renew(line);
}

/// Removes the line from the chain of its tag.
void TagArray::unchain(std::uint32_t line) {
    const std::uint32_t index = set_index(line);
    std::uint16_t* const of_set = words(index);
    const std::uint32_t way = line - index * ways_;
    std::uint16_t* next = of_set + kQueue + 2 * ways_;
    std::uint16_t* place = &chain_of(of_set, lines_[line].tag);
    while (*place != way) place = &next[*place];
    *place = next[way];
}

void TagArray::invalidate(std::uint32_t line) {
    if (!in_use(line)) return;
    if (chained_) unchain(line);
    const std::uint32_t index = set_index(line);
    std::uint16_t& empty = words(index)[kEmptyWay];
    empty = std::min(empty, static_cast<std::uint16_t>(line - index * ways_));
    lines_[line] = {};
}

void TagArray::invalidate_all() {
    for (std::uint32_t line = 0; line < lines(); ++line) invalidate(line);
}

}  // namespace mergelane
