// SPDX-License-Identifier: MIT
#include "sm/instruction_table.hpp"

#include <bit>

namespace mergelane {

void InstructionTable::launch(const Listing& listing) {
    program_ = listing.instructions;
    // The text belongs to the program: launches of one kernel share it.
    if (text_ != nullptr && text_ == listing.text && row_of_.size() == program_.size()) return;
    text_ = listing.text;
    row_of_.assign(program_.size(), kNoRow);
    rows_.clear();
    executed_.assign(program_.size() + 1, {});
    for (std::size_t i = 0; i < program_.size(); ++i) {
        if (!is_memory(program_[i])) continue;
        row_of_[i] = static_cast<std::uint32_t>(rows_.size());
        rows_.emplace_back();
    }
}

InstructionTable::Row& InstructionTable::row(const StaticInst& inst) {
    used_ = true;
    if (const std::size_t at = place(inst); at < program_.size() && row_of_[at] != kNoRow) return rows_[row_of_[at]];
    return others_[key_of(inst)];
}

void InstructionTable::fetched(const Run& run, std::uint64_t lanes, bool will_issue) {
    used_ = true;
    const std::uint64_t times = will_issue ? 1 : ~std::uint64_t{0};
    if (!will_issue) lanes = 0 - lanes;
    if (const std::size_t at = place(*run.first); at < program_.size() && run.count <= program_.size() - at) {
        executed_[at].times += times;
        executed_[at].lanes += lanes;
        executed_[at + run.count].times -= times;
        executed_[at + run.count].lanes -= lanes;
        return;
    }
    for (std::uint32_t i = 0; i < run.count; ++i) {
        InstructionCounts& counts = row(run.first[i]).counts;
        counts[InstCount::executions] += times;
        counts[InstCount::lanes] += lanes;
    }
}

void InstructionTable::coalesced(const StaticInst& inst, std::uint32_t active, std::uint32_t transactions) {
    Row& r = row(inst);
    const bool shared = is_shared(inst);
    const std::uint64_t width = shared ? bank_bytes_ : block_bytes_;
    const std::uint64_t ideal = divide_up(static_cast<std::uint64_t>(std::popcount(active)) * inst.lane_bytes, width);
    ++r.counts[InstCount::accesses];
    r.counts[InstCount::transactions] += transactions;
    r.counts[InstCount::ideal] += ideal;
    if (shared && transactions > ideal) r.counts[InstCount::conflicts] += transactions - ideal;
}

void InstructionTable::looked_up(const StaticInst& inst, const L1Stats& l1, std::uint64_t sent) {
    InstructionCounts& counts = row(inst).counts;
    counts[InstCount::l1_sectors] += l1.sector_accesses - l1_.sector_accesses;
    counts[InstCount::l1_hits] += l1.sector_hits - l1_.sector_hits;
    counts[InstCount::l1_merged] += l1.sector_pending_hits - l1_.sector_pending_hits;
    counts[InstCount::l1_misses] += l1.sector_misses - l1_.sector_misses;
    counts[InstCount::requests] += sent - sent_;
    l1_ = l1;
    sent_ = sent;
}

void InstructionTable::take(Rows& sum) {
    if (!used_) return;
    used_ = false;
    Executed executed;
    for (std::size_t i = 0; i < program_.size(); ++i) {
        executed.times += executed_[i].times;
        executed.lanes += executed_[i].lanes;
        if (executed.times == 0) continue;
        Row& to = sum[key_of(program_[i])];
        to.counts[InstCount::executions] += executed.times;
        to.counts[InstCount::lanes] += executed.lanes;
        if (row_of_[i] == kNoRow) continue;
        Row& from = rows_[row_of_[i]];
        to.add(from);
        from = {};
    }
    std::fill(executed_.begin(), executed_.end(), Executed{});
    for (const auto& [key, row] : others_) sum[key].add(row);
    others_.clear();
}

}  // namespace mergelane
