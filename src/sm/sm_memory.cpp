// SPDX-License-Identifier: MIT
// The interface between the SM and its front end: instructions go in, completions come back.
#include <algorithm>
#include <utility>

#include "core/bits.hpp"
#include "sm/sm.hpp"

namespace mergelane {

/// Accesses what the lanes address.
[[gnu::always_inline]] inline void Sm::access_lanes(std::uint32_t warp, const StaticInst& inst, Moment now) {
    Warp& w = warps_[warp];
    Context& context = contexts_[w.context];
    ++w.outstanding;
    ++context.outstanding;
    if (inst.op != OpClass::store || inst.space == Space::shared) {  // a store to memory writes no register, whatever a trace says
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) w.regs[inst.regs[d]] = kPending;
    }
    if (inst.space == Space::shared) {
        ++stats_.shared_instructions;
        if (in_clusters_ && !has_values(inst) && is_remote(warp)) [[unlikely]]
            return issue_remote(warp, inst, now);
        if (shared_has_own_path_) return issue_shared(warp, inst, now);
    } else {
        ++stats_.memory_instructions;
    }
    if (port_.observed()) tell_memory_issued(inst, w.active);
    const Cycle cycle = base_ + now;
    const std::uint64_t cta = port_.describes_reads() ? context.stream->task(w.index_in_cta, context.cta) : context.cta;
    front_->accept({&inst, &lanes_, cta, cycle, w.active, warp, w.context}, cycle);
}

void Sm::issue_memory(std::uint32_t warp, const StaticInst& inst, Moment now) {
    const Warp& w = warps_[warp];
    if (w.active == 0) return;  // predicated off: takes its issue slot, accesses nothing
    lanes_.run_count = 0;
    contexts_[w.context].stream->addresses(w.index_in_cta, inst, w.active, lanes_);
    access_lanes(warp, inst, now);
}

/// All lanes access the same word of shared memory.
void Sm::issue_word(std::uint32_t warp, const StaticInst& inst, Addr word, Moment now) {
    lanes_.run_count = 0;
    lanes_.affine = true;
    lanes_.base = word;
    lanes_.stride = 0;
    access_lanes(warp, inst, now);
}

void Sm::tell_memory_issued(const StaticInst& inst, std::uint32_t active) {
    for (SmObserver* observer : port_.observers()) observer->memory_issued(inst, lanes_, active);
}

void Sm::tell_issued() {
    for (SmObserver* observer : port_.observers()) observer->issued(stats_.computing(), front_->l1_is_full());
}

/// The banks are free when the access arrives, one cycle after issue, so its completion time is known immediately.
void Sm::issue_shared(std::uint32_t warp, const StaticInst& inst, Moment now) {
    const Cycle cycle = base_ + now;
    const std::uint32_t degree = shared_.degree(lanes_, warps_[warp].active, inst.lane_bytes);
    if (by_instruction_ != nullptr) [[unlikely]]
        by_instruction_->coalesced(inst, warps_[warp].active, degree);
    Load load{&inst, cycle, shared_.access(degree, cycle + 1), 0, static_cast<std::uint8_t>(warp)};
    load.started = cycle;
    if (port_.followed().is_turn(stats_.shared_instructions)) [[unlikely]]
        return follow_shared(load, cycle);
    load_finished(load, nullptr, cycle);
}

void Sm::follow_shared(const Load& load, Cycle now) {
    const Arrival arrival{load.latest, now * shared_stage_.period, nullptr, shared_stage_};
    const LoadHistory history(load, arrival, nullptr, loads_.stages(), now);
    if (load.inst->op != OpClass::store) loads_.account().add(history);
    load_finished(load, &history, now);
}

/// A load has returned for which warps of the scheduler waited: it explains the time since the last one did.
void Sm::explain_stall(std::uint32_t scheduler, const LoadHistory& history, Moment now) {
    Moment& since = explained_until_[scheduler];
    since = std::max(since, stall_since_[scheduler]);
    if (since >= now) return;
    const std::uint32_t period = shared_stage_.period;
    loads_.account().add_stall(history, (base_ + since) * period, (base_ + now) * period);
    since = now;
}

/// A load has returned. If warps waited for it, the stalls of their scheduler since the last such load count for its instruction.
void Sm::count_finished(const Load& load, const LoadHistory* history, Moment now) {
    InstructionTable::Row& row = by_instruction_->row(*load.inst);
    if (load.inst->op != OpClass::store) {
        ++row.counts[InstCount::loads];
        row.counts[InstCount::latency] += load.latest - load.issued;
        if (history != nullptr) {
            ++row.counts[InstCount::followed_loads];
            history->add_to(by_instruction_->spent(row));
        }
    }
    if (((waits_memory_ | waits_copies_) & bit(load.warp)) == 0) return;
    const std::uint32_t scheduler = load.warp % scheduler_count_;
    std::uint64_t stalled = stats_.stalls[static_cast<std::size_t>(Stall::memory)][scheduler];
    if ((stalled_ >> scheduler & 1) != 0 && stall_[scheduler] == Stall::memory) stalled += now - stall_since_[scheduler];
    row.counts[InstCount::stalled] += stalled - std::exchange(attributed_[scheduler], stalled);
}

void Sm::load_finished(const Load& load, const LoadHistory* history, Cycle now) {
    const StaticInst& inst = *load.inst;
    if (inst.op != OpClass::store) {  // shared-memory stores take this path too
        ++stats_.loads;
        stats_.load_latency += load.latest - load.issued;
    }
    if (by_instruction_ != nullptr) [[unlikely]]
        count_finished(load, history, static_cast<Moment>(now - base_));
    const std::uint32_t warp = load.warp;
    const Moment ready = static_cast<Moment>(load.latest - base_);
    for (std::uint32_t d = 0; d < inst.dst_count; ++d) warps_[warp].regs[inst.regs[d]] = ready;
    if (((waits_memory_ | waits_copies_) & bit(warp)) != 0) {
        const std::uint32_t scheduler = warp % scheduler_count_;
        if (history != nullptr && (stalled_ >> scheduler & 1) != 0 && stall_[scheduler] == Stall::memory)
            explain_stall(scheduler, *history, static_cast<Moment>(now - base_));
        if ((waits_memory_ & bit(warp)) != 0) reevaluate(warp, static_cast<Moment>(now - base_));
    }
    if (inst.async) [[unlikely]]
        copy_finished(load, now);
    retire_transaction(warp, now);
}

void Sm::store_split(std::uint32_t warp, std::uint32_t further_requests) {
    warps_[warp].outstanding += further_requests;
    contexts_[warps_[warp].context].outstanding += further_requests;
}

void Sm::retire_transaction(std::uint32_t warp, Cycle now) {
    Context& context = contexts_[warps_[warp].context];
    --context.outstanding;
    if (--warps_[warp].outstanding == 0 && (in_fence_ & bit(warp)) != 0) {
        in_fence_ &= ~bit(warp);
        const Moment moment = static_cast<Moment>(now - base_);
        resume(warp, moment, moment);
    }
    maybe_finish(context);
}

}  // namespace mergelane
