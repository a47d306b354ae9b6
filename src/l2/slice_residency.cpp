// SPDX-License-Identifier: MIT
// The slice with l2.residency (ADR 0054): accesses by priority, and the ranks of lines.
#include <array>
#include <string_view>

#include "l2/slice.hpp"

namespace mergelane {

namespace {

std::int8_t rank_of(L2Priority priority) {
    return priority == L2Priority::first ? TagArray::kLowestRank : priority == L2Priority::last ? TagArray::kHighestRank : std::int8_t{0};
}
std::size_t index_of(L2Priority priority) {
    return static_cast<std::size_t>(priority);
}

}  // namespace

void L2Slice::use_hints(const ResidencySpec& spec) {
    residency_ = &spec;
    special_ = true;
    tags_.use_ranks();
}

/// The lookup as without hints, but victims go by rank; then the line gets the rank of this access.
L2Slice::Blocked L2Slice::look_up_by_priority(const Packet& packet, Cycle now) {
    const std::uint64_t number = map_.slice_local(packet.address) >> line_shift_;
    const std::uint32_t set = tags_.set_of(number);
    const bool present = tags_.find(set, number) != kNoSlot;
    const std::uint32_t victim = present ? kNoSlot : tags_.candidate(set);
    const bool evicts = victim != kNoSlot && tags_.in_use(victim);
    const std::int8_t victim_rank = evicts ? tags_.rank(victim) : std::int8_t{0};
    const std::uint64_t accesses = stats_.sector_accesses, hits = stats_.sector_hits;
    const L2Priority priority = packet.priority;

    tags_.keep_order(priority == L2Priority::unchanged);
    const Blocked blocked = look_up(packet, now);
    tags_.keep_order(false);
    if (blocked != Blocked::no) return blocked;

    residency_stats_.accesses[index_of(priority)] += stats_.sector_accesses - accesses;
    residency_stats_.hits[index_of(priority)] += stats_.sector_hits - hits;
    const std::uint32_t line = tags_.find(set, number);
    if (line == kNoSlot) return blocked;  // a request for the other half that no copy answered
    if (evicts) {
        const bool first = victim_rank == TagArray::kLowestRank, last = victim_rank == TagArray::kHighestRank;
        ++residency_stats_.evictions[index_of(first ? L2Priority::first : last ? L2Priority::last : L2Priority::normal)];
    }
    if (priority != L2Priority::unchanged) rank_line(set, line, rank_of(priority));
    return blocked;
}

/// Lines of the highest rank may hold only a share of the set: beyond that, the next in eviction order becomes normal.
void L2Slice::rank_line(std::uint32_t set, std::uint32_t line, std::int8_t rank) {
    if (tags_.rank(line) == rank) return;
    tags_.set_rank(line, rank);
    if (rank != TagArray::kHighestRank || tags_.count_rank(set, rank) <= residency_->most_last(spec_.ways)) return;
    tags_.set_rank(tags_.next_of_rank(set, rank, true), 0);
    ++residency_stats_.demotions;
}

void L2Slice::residency_stats(StatFields& f) const {
    struct Names {
        std::string_view accesses, hits, evictions, accessed, hit, evicted;
    };
    static constexpr std::array<Names, kL2Priorities> kNames = {{
        {"normal_accesses", "normal_hits", "normal_evictions", "L2 sectors accessed without a hint or with evict_normal",
         "those found valid, without a hint or with evict_normal", "lines evicted whose last access was normal, or that were demoted"},
        {"evict_first_accesses", "evict_first_hits", "evict_first_evictions", "L2 sectors accessed with evict_first",
         "those found valid, with evict_first", "lines evicted whose last access was with evict_first"},
        {"evict_last_accesses", "evict_last_hits", "evict_last_evictions", "L2 sectors accessed with evict_last",
         "those found valid, with evict_last", "lines evicted whose last access was with evict_last, and that were not demoted"},
        {"evict_unchanged_accesses", "evict_unchanged_hits", "", "L2 sectors accessed with evict_unchanged",
         "those found valid, with evict_unchanged", ""},
    }};
    f.group("residency");
    for (std::size_t p = 0; p < kL2Priorities; ++p) {
        f.add(kNames[p].accesses, residency_stats_.accesses[p], "sectors", kNames[p].accessed);
        f.add(kNames[p].hits, residency_stats_.hits[p], "sectors", kNames[p].hit);
        if (!kNames[p].evictions.empty()) f.add(kNames[p].evictions, residency_stats_.evictions[p], "lines", kNames[p].evicted);
    }
    f.add("demotions", residency_stats_.demotions, "lines", "lines with evict_last that became normal, because their set held too many");
}

}  // namespace mergelane
