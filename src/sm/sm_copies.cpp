// SPDX-License-Identifier: MIT
// Asynchronous copies from global to shared memory (ADR 0037). A copy is a load without a destination register: it takes the same way
// through the front end, and what waits for it is not the scoreboard but a fence for its group, or an mbarrier.
#include <algorithm>

#include "core/bits.hpp"
#include "sm/sm.hpp"

namespace mergelane {

/// Returns false if the warp waits and does not advance to its next instruction yet.
bool Sm::issue_async(std::uint32_t warp, const StaticInst& inst, Moment now) {
    if (copies_.empty()) copies_.resize(warps_.size());
    if (inst.async_op != AsyncOp::copy) return issue_async_op(warp, inst, now);
    const Warp& w = warps_[warp];
    CopyGroups& mine = copies_[warp];
    if (inst.op == OpClass::fence) {
        if (inst.lane_bytes == StaticInst::kEndsGroup) {
            mine.end_group(CopyGroups::kNoBarrier, base_ + now);
            return true;
        }
        mine.waits_at = CopyGroups::kNoBarrier;
        return !wait_for_copies(warp, now);
    }
    if (inst.op > OpClass::atomic) return true;  // no meaning, but a trace may say so
    if (w.active != 0 && inst.op == OpClass::load && inst.space == Space::global) mine.issued();
    issue_memory(warp, inst, now);
    if (w.active == 0 || inst.space != Space::shared) return true;
    lanes_.expand(w.active);
    const Addr barrier = lanes_.of(lowest_bit(w.active));
    if (inst.op == OpClass::load) {
        mine.waits_at = barrier;
        return !wait_for_copies(warp, now);
    }
    mine.end_group(barrier, base_ + now);
    expect_event(w.context, barrier, base_ + now + spec_.shared_latency);
    return true;
}

/// When the copies that the warp waits for have completed; kNever: not known yet.
Cycle Sm::copies_done(std::uint32_t warp) const {
    const StaticInst& inst = *warps_[warp].inst;
    const CopyGroups& mine = copies_[warp];
    if (inst.async_op != AsyncOp::copy) return async_wait_over(warp);
    if (mine.waits_at == CopyGroups::kNoBarrier) return mine.all_but(inst.lane_bytes);
    return observed_copies(warps_[warp].context, mine.waits_at);
}

/// When the copies of a CTA that an mbarrier observes have completed; kNever: not known yet.
Cycle Sm::observed_copies(std::uint32_t context, Addr barrier) const {
    Cycle at = 0;
    for (std::uint64_t warps = contexts_[context].warps; warps != 0; warps &= warps - 1)
        at = std::max(at, copies_[lowest_bit(warps)].observed_by(barrier));
    return at;
}

/// A warp has issued a wait. Returns false if it is over already.
bool Sm::wait_for_copies(std::uint32_t warp, Moment now) {
    const Cycle at = copies_done(warp);
    if (at <= base_ + now + 1) return false;
    if (at == kNever)
        waits_copies_ |= bit(warp);
    else
        resume(warp, static_cast<Moment>(at - base_), now);
    return true;
}

void Sm::copy_finished(const Load& load, Cycle now) {
    if (load.inst->async_op == AsyncOp::arrive) return arrivals_finished(load.warp, load.latest, now);
    if (load.inst->op != OpClass::load || load.inst->space != Space::global) return;
    const Cycle written = shared_.write_copied(kWarpLanes * load.inst->lane_bytes, now);
    copies_[load.warp].finished(load.issued, std::max(load.latest, written));
    release_waiting(contexts_[warps_[load.warp].context].warps, now);
}

/// Those of these warps go on whose wait is over, or will be at a known time.
void Sm::release_waiting(std::uint64_t warps, Cycle now) {
    for (std::uint64_t waiting = waits_copies_ & warps; waiting != 0; waiting &= waiting - 1) {
        const std::uint32_t warp = lowest_bit(waiting);
        const Cycle at = copies_done(warp);
        if (at == kNever) continue;
        waits_copies_ &= ~bit(warp);
        resume(warp, static_cast<Moment>(std::max(at, now) - base_), static_cast<Moment>(now - base_));
    }
}

}  // namespace mergelane
