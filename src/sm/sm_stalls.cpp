// SPDX-License-Identifier: MIT
// Stall accounting by interval: a reason holds from the cycle in which it arises until a warp of the scheduler changes state or issues, so
// a step in which neither happens costs nothing.
#include <algorithm>
#include <bit>
#include <numeric>

#include "core/bits.hpp"
#include "sm/sm.hpp"

namespace mergelane {

inline Stall Sm::why_stalled(std::uint32_t scheduler) const {
    const std::uint64_t mine = resident_ & scheduler_mask_[scheduler];
    if (mine == 0) return Stall::none;
    if (const std::uint64_t ready = ready_ & mine; ready != 0) {
        return (ready & unit_mask_[kFront]) == ready ? Stall::lsu_busy : Stall::unit_busy;
    }
    if (((waits_memory_ | waits_copies_) & mine) != 0) return Stall::memory;
    const std::uint64_t waits_for_others = at_barrier_ | in_fence_;
    if ((mine & ~(waits_for_others | finished_)) != 0) return Stall::dependency;
    if ((mine & waits_for_others) != 0) return Stall::barrier;
    return Stall::drain;
}

/// The state was the current one for this many cycles.
void Sm::count_waiting(SmStats::Waiting& waiting, std::uint64_t cycles) const {
    if (ready_ == 0 && front_->waiting() == 0) return;
    const std::uint64_t operations = waiting_operations();
    waiting.ready += static_cast<std::uint64_t>(std::popcount(ready_)) * cycles;
    waiting.operations += operations * cycles;
    waiting.cycles += operations != 0 ? cycles : 0;
}

/// Every scheduler stalls from `since` on, before the state changes.
void Sm::open_stalls(Moment since) {
    for (std::uint32_t left = all_schedulers_ & ~stalled_; left != 0; left &= left - 1) {
        const std::uint32_t s = lowest_bit(left);
        stall_[s] = why_stalled(s);
        stall_since_[s] = since;
    }
    stalled_ = all_schedulers_;
}

/// All schedulers that did not issue stall in this cycle, after all state changes.
void Sm::note_stalls(std::uint32_t issued, Moment now) {
    const auto end = [&](std::uint32_t s) { stats_.stalls[static_cast<std::size_t>(stall_[s])][s] += now - stall_since_[s]; };
    for (std::uint32_t ended = stalled_ & issued; ended != 0; ended &= ended - 1) end(lowest_bit(ended));
    const std::uint32_t idle = all_schedulers_ & ~issued;
    for (std::uint32_t left = idle; left != 0; left &= left - 1) {
        const std::uint32_t s = lowest_bit(left);
        const bool stalled = (stalled_ >> s & 1) != 0;
        if (stalled && (changed_ & scheduler_mask_[s]) == 0) continue;
        const Stall why = why_stalled(s);
        if (stalled && why == stall_[s]) continue;
        if (stalled) end(s);
        stall_[s] = why;
        stall_since_[s] = now;
    }
    stalled_ = idle;
}

/// Cycles before `now` are over; open intervals count as if they ended there.
StallCycles Sm::stalls_until(Cycle now) const {
    StallCycles stalls;
    for (std::size_t why = 0; why < stalls.size(); ++why)
        stalls[why] = std::accumulate(stats_.stalls[why].begin(), stats_.stalls[why].end(), std::uint64_t{0});
    const Cycle next_cycle = base_ + last_step_ + 1;
    now = std::max(now, next_cycle);
    for (std::uint32_t s = 0; s < spec_.schedulers; ++s) {
        const bool stalled = (stalled_ >> s & 1) != 0;
        stalls[static_cast<std::size_t>(stalled ? stall_[s] : why_stalled(s))] += now - (stalled ? base_ + stall_since_[s] : next_cycle);
    }
    return stalls;
}

}  // namespace mergelane
