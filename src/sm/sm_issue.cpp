// SPDX-License-Identifier: MIT
// Warp scheduling, scoreboard and issue.
#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "sm/sm.hpp"

namespace mergelane {

std::uint64_t Sm::blocked(std::uint32_t scheduler, Moment now) const {
    const std::uint64_t memory = unit_mask_[kFront];
    std::uint64_t mask = (memory & front_->refused()) | (~memory & front_->held_back());
    if (shared_has_own_path_ && shared_.free_at() > base_ + now + 1) mask |= unit_mask_[kShared];
    if (units_busy_until_ <= now) return mask;
    const auto& free_at = pool_free_at_[spec_.sub_cores ? scheduler : 0];
    for (std::uint32_t u = 0; u < kUnits; ++u) {
        if (free_at[u] > now) mask |= unit_mask_[u];
    }
    return mask;
}

/// Takes one unit of the scheduler's pool, which has a free one, and notes when the pool has one again.
inline void Sm::occupy_unit(std::uint32_t scheduler, std::uint32_t unit, Moment now, std::uint32_t interval) {
    const std::uint32_t pool = spec_.sub_cores ? scheduler : 0;
    const std::uint32_t share = unit_share_[unit];
    Moment* units = &unit_free_at_[unit][pool * share];
    Moment soonest = kPending;
    bool taken = false;
    for (std::uint32_t k = 0; k < share; ++k) {
        if (!taken && units[k] <= now) {
            units[k] = now + interval;
            taken = true;
        }
        soonest = std::min(soonest, units[k]);
    }
    if (interval > 1) unit_long_until_[unit] = std::max(unit_long_until_[unit], now + interval);
    pool_free_at_[pool][unit] = soonest;
    units_busy_until_ = std::max(units_busy_until_, soonest);
}

inline void Sm::put_on_wheel(std::uint32_t warp, Moment at, Moment now) {
    warps_[warp].ready_at = at;
    on_wheel_ |= bit(warp);
    if (at - now >= kWheel) {
        at = now + kWheel - 1;
        far_ |= bit(warp);
    }
    wheel_[at % kWheel] |= bit(warp);
    wheel_occupied_ |= bit(at % kWheel);
}

void Sm::take_from_wheel(Moment now) {
    const std::uint32_t slot = now % kWheel;
    std::uint64_t due = wheel_[slot];
    if (due == 0) return;
    stalls_known_ = 0;
    wheel_[slot] = 0;
    wheel_occupied_ &= ~bit(slot);
    on_wheel_ &= ~due;
    for (std::uint64_t far = due & far_; far != 0; far &= far - 1) {
        const std::uint32_t warp = lowest_bit(far);
        far_ &= ~bit(warp);
        if (warps_[warp].ready_at <= now) continue;
        due &= ~bit(warp);
        put_on_wheel(warp, warps_[warp].ready_at, now);
    }
    ready_ |= due;
}

/// The first instruction of the warp's next run; finishes the warp when there is none.
bool Sm::fetch_run(std::uint32_t warp, Moment now) {
    Warp& w = warps_[warp];
    Run run;
    do {
        run = {};
        if (!contexts_[w.context].stream->next_run(w.index_in_cta, run)) {
            finish_warp(warp, now);
            return false;
        }
    } while (run.count == 0);
    w.inst = run.first;
    w.run_left = run.count;
    w.active = run.active;
    w.active_lanes = static_cast<std::uint8_t>(std::popcount(run.active));
    return true;
}

inline bool Sm::advance(std::uint32_t warp, Moment now) {
    Warp& w = warps_[warp];
    if (w.run_left > 1) {
        --w.run_left;
        ++w.inst;
    } else if (!fetch_run(warp, now)) {
        return false;
    }
    std::uint8_t unit = unit_of_[static_cast<std::size_t>(w.inst->op)];
    if (unit == kFront && shared_has_own_path_ && w.inst->space == Space::shared) unit = kShared;
    if (unit != w.next_unit) {
        unit_mask_[w.next_unit] &= ~bit(warp);
        unit_mask_[unit] |= bit(warp);
        w.next_unit = unit;
    }
    return true;
}

/// Sorts a warp by when its next instruction may issue: now, at a known time, or when a load comes back.
inline void Sm::evaluate(std::uint32_t warp, Moment earliest, Moment now) {
    stalls_known_ = 0;
    const StaticInst& inst = *warps_[warp].inst;
    const Moment* regs = &reg_ready_[std::size_t{warp} * register_slots_];
    Moment at = earliest;
    for (std::uint32_t r = 0; r < inst.reg_count; ++r) at = std::max(at, regs[inst.regs[r]]);
    if (at <= now) {
        ready_ |= bit(warp);
    } else if (at == kPending) {
        waits_memory_ |= bit(warp);
    } else {
        put_on_wheel(warp, at, now);
    }
}

void Sm::reevaluate(std::uint32_t warp, Moment now) {
    waits_memory_ &= ~bit(warp);
    evaluate(warp, now, now);
}

void Sm::resume(std::uint32_t warp, Moment earliest, Moment now) {
    if (advance(warp, now)) evaluate(warp, earliest, now);
}

inline void Sm::issue(std::uint32_t scheduler, std::uint32_t warp, Moment now) {
    stalls_known_ = 0;
    const StaticInst& inst = *warps_[warp].inst;
    ready_ &= ~bit(warp);
    ++stats_.warp_instructions;
    stats_.lanes[static_cast<std::size_t>(inst.op)] += warps_[warp].active_lanes;
    Moment earliest = now + 1;
    if (inst.op < OpClass::load) {
        const Exec& exec = exec_[static_cast<std::size_t>(inst.op)];
        Moment* regs = &reg_ready_[std::size_t{warp} * register_slots_];
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) regs[inst.regs[d]] = now + exec.latency;
        // One-cycle operations need no record while their units outnumber the schedulers and none is taken for longer.
        if (exec.interval > 1 || unit_scarce_[exec.unit] || unit_long_until_[exec.unit] > now)
            occupy_unit(scheduler, exec.unit, now, exec.interval);
        if (inst.op == OpClass::branch) earliest = now + exec.latency;  // no issue past an unresolved branch
    } else if (!issue_other(warp, inst, now)) {
        return;
    }
    if (advance(warp, now)) evaluate(warp, earliest, now);
}

/// Memory, barrier, fence, exit. False: the warp waits and does not go on to its next instruction yet.
bool Sm::issue_other(std::uint32_t warp, const StaticInst& inst, Moment now) {
    if (inst.op <= OpClass::atomic) {
        issue_memory(warp, inst, now);
    } else if (inst.op == OpClass::barrier) {
        arrive_at_barrier(warp, inst.lane_bytes, now);
        return false;
    } else if (inst.op == OpClass::fence && warps_[warp].outstanding != 0) {
        in_fence_ |= bit(warp);
        return false;
    }
    return true;
}

void Sm::issue_all(Moment now) {
    if (resident_ == 0) return;
    std::uint32_t idle = 0;  // bit per scheduler that issued nothing
    for (std::uint32_t s = 0; s < spec_.schedulers; ++s) {
        std::uint64_t eligible = ready_ & scheduler_mask_[s];
        if (eligible != 0) eligible &= ~blocked(s, now);
        if (eligible != 0)
            issue(s, schedulers_[s]->pick(eligible, ctas_by_age_), now);
        else
            idle |= 1u << s;
    }
    if (resident_ != 0) count_idle(idle, 1);
}

/// Adds `cycles` to the reason why each scheduler of the mask issued nothing.
void Sm::count_idle(std::uint32_t schedulers, std::uint64_t cycles) {
    for (; schedulers != 0; schedulers &= schedulers - 1) {
        const std::uint32_t s = lowest_bit(schedulers);
        if ((stalls_known_ >> s & 1) == 0) {
            stall_[s] = why_stalled(s);
            stalls_known_ |= 1u << s;
        }
        stats_.stalls[static_cast<std::size_t>(stall_[s])] += cycles;
    }
}

void Sm::arrive_at_barrier(std::uint32_t warp, std::uint32_t barrier, Moment now) {
    Context& context = contexts_[warps_[warp].context];
    barrier %= static_cast<std::uint32_t>(context.at_barrier.size());
    at_barrier_ |= bit(warp);
    context.at_barrier[barrier] |= bit(warp);
    check_barrier(context, barrier, now);
}

void Sm::check_barrier(Context& context, std::uint32_t barrier, Moment now) {
    const std::uint64_t waiting = context.at_barrier[barrier];
    if (waiting == 0 || static_cast<std::uint32_t>(std::popcount(waiting)) != context.live) return;
    context.at_barrier[barrier] = 0;
    at_barrier_ &= ~waiting;
    for (std::uint64_t warps = waiting; warps != 0; warps &= warps - 1) resume(lowest_bit(warps), now + spec_.barrier_latency, now);
}

Stall Sm::why_stalled(std::uint32_t scheduler) const {
    const std::uint64_t mine = resident_ & scheduler_mask_[scheduler];
    if (mine == 0) return Stall::none;
    if (const std::uint64_t ready = ready_ & mine; ready != 0) {
        return (ready & unit_mask_[kFront]) == ready ? Stall::lsu_busy : Stall::unit_busy;
    }
    if ((waits_memory_ & mine) != 0) return Stall::memory;
    if ((on_wheel_ & mine) != 0) return Stall::dependency;
    if (((at_barrier_ | in_fence_) & mine) != 0) return Stall::barrier;
    return Stall::drain;
}

}  // namespace mergelane
