// SPDX-License-Identifier: MIT
// The SM's cycle: warp scheduling, scoreboard and issue.
#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "sm/sm.hpp"

namespace mergelane {

/// Warps that cannot issue because of the front end or the shared-memory banks.
template <bool kPlain>
inline std::uint64_t Sm::held_up(Moment now) const {
    const std::uint64_t memory = unit_mask_[kFront];
    std::uint64_t mask = (memory & front_->refused()) | (~memory & front_->held_back());
    if (!kPlain) mask |= limit_.beyond();
    if (shared_has_own_path_ && shared_.free_at() > base_ + now + 1) mask |= unit_mask_[kShared];
    return mask;
}

/// Warps whose execution unit is occupied, as far as the scheduler is concerned.
inline std::uint64_t Sm::without_unit(std::uint32_t scheduler, Moment now) {
    const std::uint32_t pool = sub_cores_ ? scheduler : 0;
    std::uint64_t mask = 0;
    for (std::uint32_t kinds = pool_taken_[pool]; kinds != 0; kinds &= kinds - 1) {
        const std::uint32_t unit = lowest_bit(kinds);
        if (pool_free_at_[pool][unit] > now)
            mask |= unit_mask_[unit];
        else
            pool_taken_[pool] &= ~(1u << unit);
    }
    return mask;
}

/// Occupies one free unit of the scheduler's pool and records when the pool has a free one again.
inline void Sm::occupy_unit(std::uint32_t scheduler, std::uint32_t unit, Moment now, std::uint32_t interval) {
    const std::uint32_t pool = sub_cores_ ? scheduler : 0;
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
    if (soonest > now) pool_taken_[pool] |= 1u << unit;
}

inline void Sm::put_on_wheel(std::uint32_t warp, Moment at, Moment now) {
    if (at - now >= kWheel) {
        far_until_[warp] = at;
        far_ |= bit(warp);
        at = now + kWheel - 1;
    }
    wheel_[at % kWheel] |= bit(warp);
    wheel_occupied_ |= bit(at % kWheel);
}

inline void Sm::take_from_wheel(Moment now) {
    const std::uint32_t slot = now % kWheel;
    std::uint64_t due = wheel_[slot];
    wheel_[slot] = 0;
    wheel_occupied_ &= ~bit(slot);
    for (std::uint64_t far = due & far_; far != 0; far &= far - 1) {
        const std::uint32_t warp = lowest_bit(far);
        far_ &= ~bit(warp);
        if (far_until_[warp] <= now) continue;
        due &= ~bit(warp);
        put_on_wheel(warp, far_until_[warp], now);
    }
    ready_ |= due;
    changed_ |= due;
}

/// The first instruction of the warp's next run; finishes the warp if there is none.
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
    if (w.active != run.active) {
        w.active = run.active;
        w.active_lanes = static_cast<std::uint8_t>(std::popcount(run.active));
    }
    if (by_instruction_ != nullptr) [[unlikely]]
        by_instruction_->fetched(run, w.active_lanes);
    return true;
}

inline bool Sm::advance(Warp& w, std::uint32_t warp, Moment now) {
    if (w.run_left > 1) {
        --w.run_left;
        ++w.inst;
    } else if (!fetch_run(warp, now)) {
        return false;
    }
    std::uint8_t unit = unit_of_[static_cast<std::size_t>(w.inst->op)];
    if (unit == kFront && shared_has_own_path_ && w.inst->space == Space::shared) unit = kShared;
    if (wants_stores_ && unit == kFront) front_->comes_with_store(warp, w.inst->op != OpClass::load);
    if (unit != w.next_unit) {
        unit_mask_[w.next_unit] &= ~bit(warp);
        unit_mask_[unit] |= bit(warp);
        w.next_unit = unit;
    }
    return true;
}

/// When the registers allow the warp's next instruction to issue; kPending: when a load returns.
inline std::uint64_t Sm::operands_ready(const Warp& warp, Moment earliest) {
    const StaticInst& inst = *warp.inst;
    std::uint64_t at = earliest;  // wide, because compilers would otherwise use vector registers for 32 bits
    for (std::uint32_t r = 0; r < inst.reg_count; ++r) at = std::max<std::uint64_t>(at, warp.regs[inst.regs[r]]);
    return at;
}

/// Classifies a warp by when its next instruction may issue: now, at a known time, or when a load returns.
void Sm::evaluate(std::uint32_t warp, Moment earliest, Moment now) {
    changed_ |= bit(warp);
    const Moment at = static_cast<Moment>(operands_ready(warps_[warp], earliest));
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
    if (advance(warps_[warp], warp, now)) evaluate(warp, earliest, now);
}

/// Returns false if the front end was notified, so that what it blocks may have changed.
inline bool Sm::issue(std::uint32_t scheduler, std::uint32_t warp, Moment now) {
    Warp& w = warps_[warp];
    const StaticInst& inst = *w.inst;
    ready_ &= ~bit(warp);
    ++stats_.warp_instructions;
    stats_.lanes[static_cast<std::size_t>(inst.op)] += w.active_lanes;
    const bool computes = inst.op < OpClass::load;
    Moment earliest = now + 1;
    if (computes) {
        const Exec& exec = exec_[static_cast<std::size_t>(inst.op)];
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) w.regs[inst.regs[d]] = now + exec.latency;
        if (exec.occupies || unit_long_until_[exec.unit] > now) occupy_unit(scheduler, exec.unit, now, exec.interval);
        earliest = now + exec.issue_gap;
    } else if (!issue_other(warp, inst, now)) {
        return false;
    }
    if (advance(w, warp, now)) {
        // Never in the cycle of issue.
        if (const std::uint64_t at = operands_ready(w, earliest); at == kPending)
            waits_memory_ |= bit(warp);
        else
            put_on_wheel(warp, static_cast<Moment>(at), now);
    }
    return computes;
}

/// Memory, barrier, fence, exit. Returns false if the warp waits and does not advance to its next instruction yet.
bool Sm::issue_other(std::uint32_t warp, const StaticInst& inst, Moment now) {
    if (inst.async) [[unlikely]]
        return issue_async(warp, inst, now);
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

void Sm::apply_limit() {
    std::uint64_t loads = 0;
    for (std::uint64_t memory = resident_ & unit_mask_[kFront]; memory != 0; memory &= memory - 1) {
        const std::uint32_t warp = lowest_bit(memory);
        if (warps_[warp].inst->op == OpClass::load) loads |= bit(warp);
    }
    limit_.update(ctas_by_age_, resident_ & ~(finished_ | at_barrier_ | in_fence_ | waits_copies_), loads);
}

/// Returns a bit for each scheduler that issued.
template <bool kPlain>
inline std::uint32_t Sm::issue_all(Moment now) {
    std::uint32_t issued = 0;
    std::uint64_t may = ready_ & ~held_up<kPlain>(now);
    for (std::uint32_t s = 0; may != 0 && s < scheduler_count_; ++s) {
        std::uint64_t eligible = may & scheduler_mask_[s];
        if (eligible != 0) eligible &= ~without_unit(s, now);
        if (eligible == 0) continue;
        issued |= 1u << s;
        if (!issue(s, schedulers_[s]->choose(eligible, ctas_by_age_), now)) may = ready_ & ~held_up<kPlain>(now);
    }
    return issued;
}

/// When a ready warp may issue next; kPending: when the front end makes progress.
Sm::Moment Sm::next_issue(Moment now) {
    Moment soonest = kPending;
    const std::uint64_t may = ready_ & ~held_up<false>(now + 1);
    for (std::uint32_t s = 0; may != 0 && s < scheduler_count_; ++s) {
        const std::uint64_t mine = may & scheduler_mask_[s];
        if (mine == 0) continue;
        if ((mine & ~without_unit(s, now + 1)) != 0) return now + 1;
        const std::uint32_t pool = sub_cores_ ? s : 0;
        for (std::uint32_t kinds = pool_taken_[pool]; kinds != 0; kinds &= kinds - 1) {
            const std::uint32_t unit = lowest_bit(kinds);
            if ((mine & unit_mask_[unit]) != 0) soonest = std::min(soonest, pool_free_at_[pool][unit]);
        }
    }
    // The remaining warps wait for the banks of the separate shared-memory path.
    if ((ready_ & unit_mask_[kShared] & ~front_->held_back()) != 0)
        soonest = std::min(soonest, static_cast<Moment>(shared_.free_at() - base_ - 1));
    return soonest;
}

/// When something can happen here again, unless a message arrives earlier.
template <bool kPlain>
inline Cycle Sm::next_time(Moment now, Cycle inbox) {
    if (!kPlain) inbox = std::min(inbox, async_due_);
    if (resident_ == 0) return inbox;
    const Cycle next_cycle = base_ + now + 1;
    if ((wheel_occupied_ & bit((now + 1) % kWheel)) != 0) return next_cycle;
    Moment soonest = ready_ != 0 ? next_issue(now) : kPending;
    if (soonest == now + 1) return next_cycle;
    if (wheel_occupied_ != 0) {
        const std::uint64_t ahead = std::rotr(wheel_occupied_, static_cast<int>((now + 1) % kWheel));
        soonest = std::min(soonest, now + 1 + lowest_bit(ahead));
    }
    const Cycle next = std::min(inbox, std::max(front_->next(), next_cycle));
    return soonest == kPending ? next : std::min(next, base_ + soonest);
}

/// `kPlain`: nothing happens but CTAs, replies and instructions; it saves asking for the rest in every cycle.
template <bool kPlain>
inline Cycle Sm::step_as(Cycle now_cycle) {
    if (now_cycle < base_) return base_;
    const Moment now = static_cast<Moment>(now_cycle - base_);
    if (now == kPending) throw SimulationError("a kernel ran for more than 4,294,967,294 cycles; split it or lower --max-cycles");
    // 1. Nothing has changed since the last step, so the state still explains why the cycles in between were idle.
    if (now - last_step_ > 1) {
        open_stalls(last_step_ + 1);
        count_waiting(stats_.waiting, now - last_step_ - 1);
    }
    last_step_ = now;
    // 2. CTAs from the dispatcher, replies from the network.
    Cycle inbox = std::min(links_.work->head_arrival(), links_.replies->head_arrival());
    if (inbox <= now_cycle) inbox = receive(now);
    // 3. The front end makes progress.
    if (front_->due() <= now_cycle) front_->step(now_cycle);
    if (!kPlain && async_due_ <= now_cycle) [[unlikely]]
        step_async(now_cycle);
    // 4. Warps whose operands have become ready.
    if ((wheel_occupied_ & bit(now % kWheel)) != 0) take_from_wheel(now);
    if (!kPlain && limit_.on()) apply_limit();
    // 5. Each scheduler issues at most one warp.
    std::uint32_t issued = 0;
    if (ready_ != 0) {
        stats_.waiting.ready += static_cast<std::uint64_t>(std::popcount(ready_));
        issued = issue_all<kPlain>(now);
    }
    if (!kPlain && port_.observed()) tell_issued();
    if ((refused_operations() | front_->waiting()) != 0) {
        stats_.waiting.operations += waiting_operations();
        ++stats_.waiting.cycles;
    }
    // 6. The others stall; the reason is unchanged if the state is.
    const std::uint32_t idle = all_schedulers_ & ~issued;
    if (stalled_ != idle || (idle != 0 && changed_ != 0)) note_stalls(issued, now);
    changed_ = 0;
    if (!kPlain && limit_.on()) apply_limit();  // a warp that has reached a barrier lets another one in
    return next_time<kPlain>(now, inbox);
}

Cycle Sm::step(Cycle now) {
    return plain_ ? step_as<true>(now) : step_as<false>(now);
}

void Sm::choose_step() {
    plain_ = !limit_.on() && !port_.observed() && async_ == nullptr && !gpc_.connected();
}

void Sm::arrive_at_barrier(std::uint32_t warp, std::uint32_t barrier, Moment now) {
    Context& context = contexts_[warps_[warp].context];
    barrier %= static_cast<std::uint32_t>(context.at_barrier.size());
    at_barrier_ |= bit(warp);
    context.at_barrier[barrier] |= bit(warp);
    context.barriers |= 1u << barrier;
    check_barrier(context, barrier, now);
}

void Sm::check_barrier(Context& context, std::uint32_t barrier, Moment now) {
    const std::uint64_t waiting = context.at_barrier[barrier];
    if (waiting == 0 || static_cast<std::uint32_t>(std::popcount(waiting)) != context.live) return;
    context.at_barrier[barrier] = 0;
    context.barriers &= ~(1u << barrier);
    at_barrier_ &= ~waiting;
    for (std::uint64_t warps = waiting; warps != 0; warps &= warps - 1) resume(lowest_bit(warps), now + spec_.barrier_latency, now);
}

}  // namespace mergelane
