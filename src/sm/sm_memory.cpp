// SPDX-License-Identifier: MIT
// The interface between the SM and its front end: instructions go in, completions come back.
#include "core/bits.hpp"
#include "sm/sm.hpp"

namespace mergelane {

void Sm::issue_memory(std::uint32_t warp, const StaticInst& inst, Moment now) {
    Warp& w = warps_[warp];
    if (w.active == 0) return;  // predicated off: takes its issue slot, accesses nothing
    Context& context = contexts_[w.context];
    lanes_.run_count = 0;
    context.stream->addresses(w.index_in_cta, inst, w.active, lanes_);
    ++w.outstanding;
    ++context.outstanding;
    if (inst.op != OpClass::store || inst.space == Space::shared) {  // a store to memory writes no register, whatever a trace says
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) w.regs[inst.regs[d]] = kPending;
    }
    if (inst.space == Space::shared) {
        ++stats_.shared_instructions;
        if (shared_has_own_path_) return issue_shared(warp, inst, now);
    } else {
        ++stats_.memory_instructions;
    }
    if (port_.observed()) tell_memory_issued(inst, w.active);
    const Cycle cycle = base_ + now;
    const std::uint64_t cta = port_.describes_reads() ? context.stream->task(w.index_in_cta, context.cta) : context.cta;
    front_->accept({&inst, &lanes_, cta, cycle, w.active, warp, w.context}, cycle);
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
    load_finished({&inst, cycle, shared_.access(degree, cycle + 1), 0, static_cast<std::uint8_t>(warp)}, cycle);
}

void Sm::load_finished(const Load& load, Cycle now) {
    const StaticInst& inst = *load.inst;
    if (inst.op != OpClass::store) {  // shared-memory stores take this path too
        ++stats_.loads;
        stats_.load_latency += load.latest - load.issued;
    }
    const std::uint32_t warp = load.warp;
    const Moment ready = static_cast<Moment>(load.latest - base_);
    for (std::uint32_t d = 0; d < inst.dst_count; ++d) warps_[warp].regs[inst.regs[d]] = ready;
    if ((waits_memory_ & bit(warp)) != 0) reevaluate(warp, static_cast<Moment>(now - base_));
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
