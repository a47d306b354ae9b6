// SPDX-License-Identifier: MIT
#include "dispatch/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

Dispatcher::Dispatcher(std::string name, const DispatchSpec& spec, std::uint32_t clusters, std::uint32_t sms_per_cluster,
                       std::vector<std::uint32_t> first_sms, const Policies& policies)
    : Component(std::move(name)), scheduler_(policies.make<CtaScheduler>(spec.scheduler, spec)) {
    state_.clusters = clusters;
    state_.sms_per_cluster = sms_per_cluster;
    state_.first_sms = std::move(first_sms);
}

void Dispatcher::connect(std::vector<Link<CtaMessage>*> to_sms, std::vector<Link<CtaMessage>*> from_sms) {
    to_sms_ = std::move(to_sms);
    from_sms_ = std::move(from_sms);
    placements_.reserve(to_sms_.size());
}

void Dispatcher::launch(const Grid& grid) {
    state_.first_cta = grid.first;
    state_.end_cta = grid.end;
    state_.contexts_per_sm = grid.contexts_per_sm;
    state_.free_contexts.assign(state_.sms(), grid.contexts_per_sm);
    placed_ = nullptr;
    used_slots_.clear();
    scheduler_->start(state_);
    start_ = grid.start;
    finished_at_ = grid.start;
    completed_ = 0;
    total_ = grid.end - grid.first;
    wake(grid.start);
}

void Dispatcher::launch(const Grid& grid, const KernelSource& kernel, std::uint32_t first_sm, std::uint32_t all_sms) {
    launch(grid);
    if (!kernel.wants_places()) return;
    placed_ = &kernel;
    used_slots_.assign(state_.sms(), 0);
    first_sm_ = first_sm;
    all_sms_ = all_sms;
}

Cycle Dispatcher::step(Cycle now) {
    // 1. Completed CTAs free their context.
    Cycle next = kNever;
    for (std::uint32_t sm = 0; sm < from_sms_.size(); ++sm) {
        while (from_sms_[sm]->has(now)) {
            const CtaMessage done = from_sms_[sm]->pop_and_release(now);
            if (placed_ != nullptr) used_slots_[sm] &= ~bit(done.slot);
            ++state_.free_contexts[sm];
            ++completed_;
            ++completed_all_;
            finished_at_ = now;
        }
        next = std::min(next, from_sms_[sm]->head_arrival());
    }
    if (completed_ == total_ || scheduler_->remaining() == 0) return next;
    // 2. The policy places what it can; every SM receives at most one CTA per cycle.
    if (now < start_) return std::min(next, start_);
    placements_.clear();
    scheduler_->place(state_, placements_);
    for (const Placement& placement : placements_) {
        --state_.free_contexts[placement.sm];
        to_sms_[placement.sm]->can_send(now, 1);
        to_sms_[placement.sm]->send(now, {placement.cta, placed_ != nullptr ? take_slot(placement, now) : CtaMessage::kAnySlot});
        ++dispatched_all_;
    }
    return placements_.empty() ? next : now + 1;
}

/// A dispatcher places CTAs one after another. A kernel that executes at placement has only one dispatcher, so dispatch order is execution
/// order for any number of host threads. The SM opens the CTA in a later window.
std::uint32_t Dispatcher::take_slot(const Placement& placement, Cycle now) {
    const std::uint32_t slot = lowest_bit(~used_slots_[placement.sm]);
    used_slots_[placement.sm] |= bit(slot);
    placed_->place(placement.cta, {first_sm_ + placement.sm, all_sms_, slot, state_.contexts_per_sm, now});
    return slot;
}

void Dispatcher::stats(StatFields& f, Cycle) const {
    f.group("dispatch");
    f.add("ctas_dispatched", dispatched_all_, "CTAs", "CTAs sent to an SM");
    f.add("ctas_completed", completed_all_, "CTAs", "completions received");
}

void Dispatcher::gauges(StatFields& f) const {
    f.group("dispatch");
    f.add("waiting", scheduler_->remaining(), "CTAs", "not dispatched yet");
}

void Dispatcher::explain(std::vector<Wait>& waits) const {
    if (finished()) return;
    for (std::uint32_t sm = 0; sm < from_sms_.size(); ++sm) {
        if (state_.free_contexts[sm] != state_.contexts_per_sm) {
            waits.push_back({this, from_sms_[sm]->sender(),
                             fmt::format("{} of {} CTAs have finished; one is resident there", completed_, total_), false});
        }
    }
}

}  // namespace mergelane
