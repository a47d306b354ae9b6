// SPDX-License-Identifier: MIT
// Residency, time and bookkeeping of the SM; issue and memory are in their own files.
#include "sm/sm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {

/// A load lives as long as one of its requests does, so merge slots and queue places bound their number; direct requests (atomics,
/// bypasses) share what is left.
std::uint32_t load_entries(const LsuSpec& lsu, const L1Spec& l1) {
    return std::min(std::max(256u, l1.mshrs * l1.mshr_merges + lsu.queue), 0x7FFFu);
}

}  // namespace

Sm::Sm(std::string name, const SmSpec& sm, const LsuSpec& lsu, const L1Spec& l1, std::uint32_t cluster, std::uint32_t index_in_cluster,
       const Policies& policies)
    : Component(std::move(name)),
      spec_(sm),
      shared_has_own_path_(sm.shared_path == "own"),
      port_(cluster, index_in_cluster),
      shared_(sm),
      loads_(load_entries(lsu, l1), *this),
      front_(policies.make<MemoryFront>(lsu.front, FrontContext{sm, lsu, l1, policies, loads_, port_, shared_})) {
    for (std::uint32_t s = 0; s < sm.schedulers; ++s) {
        schedulers_.push_back(policies.make<WarpScheduler>(sm.scheduler, sm));
        for (std::uint32_t w = s; w < sm.warps; w += sm.schedulers) scheduler_mask_[s] |= bit(w);
    }
    for (std::uint32_t c = 0; c < kComputeClasses; ++c) {
        const auto unit = static_cast<std::uint32_t>(std::find(kUnitNames.begin(), kUnitNames.end(), sm.exec[c].unit) - kUnitNames.begin());
        exec_[c] = {sm.exec[c].latency + sm.pipeline_latency, sm.exec[c].interval, unit};
        unit_scarce_[unit] = sm.units[unit] < sm.schedulers;
    }
    for (std::uint32_t u = 0; u < kUnits; ++u) unit_share_[u] = sm.sub_cores ? sm.units[u] / sm.schedulers : sm.units[u];
    for (std::uint32_t op = 0; op < unit_of_.size(); ++op) {
        unit_of_[op] = static_cast<std::uint8_t>(op < kComputeClasses                                ? exec_[op].unit
                                                 : op <= static_cast<std::uint32_t>(OpClass::atomic) ? kFront
                                                                                                     : kNoUnit);
    }
}

void Sm::connect(const Links& links) {
    links_ = links;
    port_.connect(*links.requests);
}

void Sm::launch(const KernelSource& kernel, std::uint32_t contexts, Cycle start) {
    const KernelInfo& info = kernel.info();
    base_ = start;
    last_step_ = 0;
    shared_.launch();
    for (auto& unit : unit_free_at_) unit.fill(0);
    for (auto& pool : pool_free_at_) pool.fill(0);
    unit_long_until_.fill(0);
    units_busy_until_ = 0;
    warps_per_cta_ = info.warps_per_cta();
    register_slots_ = std::max(info.register_slots, 1u);
    reg_ready_.assign(std::size_t{spec_.warps} * register_slots_, 0);
    contexts_.clear();
    contexts_.resize(contexts);
    for (Context& context : contexts_) context.stream = kernel.make_stream();
    ctas_by_age_.clear();
    ctas_by_age_.reserve(contexts);
    front_->launch(static_cast<std::uint32_t>(divide_up(std::uint64_t{info.shared_bytes} * contexts, 1024)));
}

void Sm::start_cta(const CtaMessage& message, Moment now) {
    const std::uint64_t cta = message.cta;
    const auto found = message.slot == CtaMessage::kAnySlot
                           ? std::find_if(contexts_.begin(), contexts_.end(), [](const Context& c) { return !c.used; })
                           : contexts_.begin() + message.slot;
    if (found == contexts_.end() || found->used) throw SimulationError(name() + ": a CTA was dispatched to a full SM");
    Context& context = *found;
    stalls_known_ = 0;
    if (resident_ == 0) active_since_ = base_ + now;
    context.used = true;
    context.cta = cta;
    context.warps = 0;
    context.live = warps_per_cta_;
    context.stream->open(cta);
    for (std::uint32_t i = 0; i < warps_per_cta_; ++i) {
        // CTAs of a kernel have equally many warps and take the lowest slot free, so slot k has the warps from k times their number.
        const std::uint32_t warp = static_cast<std::uint32_t>(found - contexts_.begin()) * warps_per_cta_ + i;
        resident_ |= bit(warp);
        context.warps |= bit(warp);
        warps_[warp].context = static_cast<std::uint8_t>(found - contexts_.begin());
        warps_[warp].index_in_cta = static_cast<std::uint8_t>(i);
        warps_[warp].outstanding = 0;
        finished_ &= ~bit(warp);
        std::fill_n(&reg_ready_[std::size_t{warp} * register_slots_], register_slots_, 0);
    }
    ctas_by_age_.push_back(context.warps);
    ++stats_.ctas_started;
    for (std::uint64_t warps = context.warps; warps != 0; warps &= warps - 1) {
        const std::uint32_t warp = lowest_bit(warps);
        warps_[warp].run_left = 0;
        warps_[warp].next_unit = kNoUnit;
        resume(warp, now, now);
    }
}

void Sm::finish_warp(std::uint32_t warp, Moment now) {
    stalls_known_ = 0;
    finished_ |= bit(warp);
    unit_mask_[warps_[warp].next_unit] &= ~bit(warp);
    Context& context = contexts_[warps_[warp].context];
    --context.live;
    for (std::uint32_t barrier = 0; barrier < context.at_barrier.size(); ++barrier) check_barrier(context, barrier, now);
    maybe_finish(context);
}

void Sm::maybe_finish(Context& context) {
    if (context.live != 0 || context.outstanding != 0 || !context.used) return;
    stalls_known_ = 0;
    context.used = false;
    resident_ &= ~context.warps;
    finished_ &= ~context.warps;
    ctas_by_age_.erase(std::find(ctas_by_age_.begin(), ctas_by_age_.end(), context.warps));
    ++stats_.ctas_finished;
    const Cycle now = base_ + last_step_;
    last_finish_ = now;
    if (resident_ == 0) stats_.active_cycles += now - active_since_;
    links_.done->can_send(now, 1);  // always true; takes back credits
    links_.done->send(now, {context.cta, static_cast<std::uint32_t>(&context - contexts_.data())});
}

/// Takes everything that has arrived; returns when the next message will.
Cycle Sm::receive(Moment now) {
    const Cycle cycle = base_ + now;
    Cycle work = links_.work->head_arrival();
    for (; work <= cycle; work = links_.work->head_arrival()) start_cta(links_.work->pop_and_release(cycle), now);
    Cycle reply = links_.replies->head_arrival();
    for (; reply <= cycle; reply = links_.replies->head_arrival()) {
        port_.answered(cycle);
        front_->reply(links_.replies->pop_and_release(cycle), cycle);
    }
    return std::min(work, reply);
}

void Sm::account(Moment now) {
    // Nothing has changed since the last step, so the state still tells why the cycles in between were idle.
    const Moment gap = now - last_step_;
    if (gap > 1 && resident_ != 0) {
        count_idle(static_cast<std::uint32_t>(low_bits(spec_.schedulers)), gap - 1);
    }
    last_step_ = now;
}

Cycle Sm::step(Cycle now_cycle) {
    if (now_cycle < base_) return base_;
    const Moment now = static_cast<Moment>(now_cycle - base_);
    if (now == kPending) throw SimulationError("a kernel ran for more than 4,294,967,294 cycles; split it or lower --max-cycles");
    // 1. Close the interval since the last step.
    account(now);
    // 2. CTAs from the dispatcher, replies from below.
    const Cycle inbox = receive(now);
    // 3. The memory front does what it can.
    if (front_->due() <= now_cycle) front_->step(now_cycle);
    // 4. Warps whose operands are now ready.
    take_from_wheel(now);
    // 5. Each scheduler issues at most one warp.
    issue_all(now);
    return next_time(now, inbox);
}

Cycle Sm::next_time(Moment now, Cycle inbox) const {
    Cycle next = inbox;
    if (resident_ == 0) return next;
    Moment soonest = kPending;
    if (const std::uint64_t may = ready_ & ~(unit_mask_[kFront] & front_->refused()); may != 0) {
        // Warps for whose unit another has just come first are looked at again in the next cycle; only the banks of shared memory tell
        // when they are free.
        soonest = (may & ~unit_mask_[kShared]) != 0 ? now + 1 : std::max(now + 1, static_cast<Moment>(shared_.free_at() - base_ - 1));
    }
    if (soonest != now + 1) next = std::min(next, std::max(front_->next(), base_ + now + 1));
    if (soonest != now + 1 && wheel_occupied_ != 0) {
        const std::uint64_t ahead = std::rotr(wheel_occupied_, static_cast<int>((now + 1) % kWheel));
        soonest = std::min(soonest, now + 1 + lowest_bit(ahead));
    }
    return soonest == kPending ? next : std::min(next, base_ + soonest);
}

void Sm::stats(StatFields& f, Cycle now) const {
    // Cycles up to `now` are over; close the open interval without changing state.
    const std::uint64_t open = now > base_ + last_step_ + 1 ? now - (base_ + last_step_ + 1) : 0;
    auto stalls = stats_.stalls;
    for (std::uint32_t s = 0; s < spec_.schedulers; ++s) stalls[static_cast<std::size_t>(why_stalled(s))] += open;
    const auto stall = [&](Stall reason) { return stalls[static_cast<std::size_t>(reason)]; };

    f.group("sm");
    f.add("warp_instructions", stats_.warp_instructions, "warp instructions", "warp instructions issued");
    const std::uint64_t lanes = std::accumulate(stats_.lanes.begin(), stats_.lanes.end(), std::uint64_t{0});
    f.add("thread_instructions", lanes, "thread instructions", "active lanes over all warp instructions");
    f.add("active_cycles", stats_.active_cycles + (resident_ != 0 && now > active_since_ ? now - active_since_ : 0), "cycles",
          "cycles with resident warps");
    f.add("ctas_started", stats_.ctas_started, "CTAs", "CTAs placed on an SM");
    f.add("ctas_finished", stats_.ctas_finished, "CTAs", "CTAs whose warps finished and whose memory transactions were answered");
    f.add("memory_instructions", stats_.memory_instructions, "warp instructions", "global and local loads, stores and atomics");
    f.add("shared_instructions", stats_.shared_instructions, "warp instructions", "shared-memory accesses");
    f.add("shared_bank_cycles", shared_.bank_cycles(), "cycles", "cycles the shared-memory banks were taken, conflicts included");
    f.add("loads", stats_.loads, "warp instructions", "loads and atomics completed");
    f.add("load_latency", stats_.load_latency, "cycles", "sum over loads of the cycles from issue until the value can be used");
    port_.stats(f, now);
    f.add("stall_lsu", stall(Stall::lsu_busy), "scheduler cycles",
          "no issue: the load/store unit cannot take the ready memory instructions");
    f.add("stall_unit", stall(Stall::unit_busy), "scheduler cycles", "no issue: the execution unit is taken");
    f.add("stall_memory", stall(Stall::memory), "scheduler cycles", "no issue: warps wait for loaded values");
    f.add("stall_dependency", stall(Stall::dependency), "scheduler cycles", "no issue: warps wait for computed values");
    f.add("stall_barrier", stall(Stall::barrier), "scheduler cycles", "no issue: warps wait at a CTA barrier or fence");
    f.add("stall_drain", stall(Stall::drain), "scheduler cycles",
          "no issue: warps have finished, memory transactions of their CTA have not");
    front_->stats(f, now);
    f.group("lanes");
    for (std::uint32_t c = 0; c < kOpClasses; ++c) {
        f.add(c < kComputeClasses ? kComputeClassNames[c] : kOtherClassNames[c - kComputeClasses], stats_.lanes[c], "thread instructions",
              "active lanes over the warp instructions of this class");
    }
}

void Sm::gauges(StatFields& f) const {
    f.group("sm");
    f.add("outstanding", port_.outstanding(), "requests", "requests sent and not answered");
    f.add("resident_warps", static_cast<std::uint64_t>(std::popcount(resident_)), "warps", "warps of CTAs that have not finished");
    front_->gauges(f);
}

void Sm::explain(std::vector<Wait>& waits) const {
    if (resident_ == 0) return;
    if (front_->waits_for_room()) {
        waits.push_back({this, links_.requests->receiver(), links_.requests->describe_wait(), true});
    } else if (port_.outstanding() != 0) {
        waits.push_back(
            {this, links_.replies->sender(), fmt::format("{} memory requests were sent and not answered", port_.outstanding()), false});
    } else {
        waits.push_back(
            {this, nullptr,
             fmt::format("{} resident warps, {} at a barrier, {} in a fence, {} finished: nothing can release them",
                         std::popcount(resident_), std::popcount(at_barrier_), std::popcount(in_fence_), std::popcount(finished_)),
             false});
    }
}

}  // namespace mergelane
