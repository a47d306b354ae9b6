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

void Dispatcher::connect_gpcs(std::vector<std::uint32_t> first_sms, std::vector<Link<GpcMessage>*> to_gpcs) {
    gpc_first_sms_ = std::move(first_sms);
    to_gpcs_ = std::move(to_gpcs);
    cluster_number_.assign(to_gpcs_.size(), 0);
}

void Dispatcher::launch(const Grid& grid) {
    state_.first_cta = grid.first;
    state_.end_cta = grid.end;
    state_.contexts_per_sm = grid.contexts_per_sm;
    state_.free_contexts.assign(state_.sms(), grid.contexts_per_sm);
    placed_ = nullptr;
    clustered_.reset();
    used_slots_.clear();
    scheduler_->start(state_);
    start_ = grid.start;
    finished_at_ = grid.start;
    completed_ = 0;
    total_ = grid.end - grid.first;
    mark({});
    wake(grid.start);
}

void Dispatcher::mark(std::vector<std::uint64_t> completed) {
    marks_ = std::move(completed);
    marks_.push_back(~std::uint64_t{0});
    marked_.clear();
    marked_.reserve(marks_.size());
}

void Dispatcher::launch(const Grid& grid, const KernelSource& kernel, std::uint32_t first_sm, std::uint32_t all_sms) {
    launch(grid);
    if (kernel.info().cluster_ctas() > 1) {
        clustered_ = kernel.info();
        next_cluster_ = 0;
        used_slots_.assign(state_.sms(), 0);
    }
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
            if (!used_slots_.empty()) used_slots_[sm] &= ~bit(done.slot);
            ++state_.free_contexts[sm];
            ++completed_;
            ++completed_all_;
            if (completed_ == marks_[marked_.size()]) marked_.push_back(now);
            finished_at_ = now;
        }
        next = std::min(next, from_sms_[sm]->head_arrival());
    }
    if (completed_ == total_ || remaining() == 0) return next;
    // 2. The policy places what it can; every SM receives at most one CTA per cycle.
    if (now < start_) return std::min(next, start_);
    if (clustered_.has_value()) {
        place_clusters(now);
        return placed_some_ ? now + 1 : next;
    }
    placements_.clear();
    scheduler_->place(state_, placements_);
    for (const Placement& placement : placements_) {
        --state_.free_contexts[placement.sm];
        to_sms_[placement.sm]->can_send(now, 1);
        CtaMessage message;
        message.cta = placement.cta;
        if (placed_ != nullptr) {
            message.slot = take_slot(placement.sm);
            placed_->place(placement.cta, {first_sm_ + placement.sm, all_sms_, message.slot, state_.contexts_per_sm, now});
        }
        to_sms_[placement.sm]->send(now, message);
        ++dispatched_all_;
    }
    return placements_.empty() ? next : now + 1;
}

/// A dispatcher places CTAs one after another. A kernel that executes at placement has only one dispatcher, so dispatch order is execution
/// order for any number of host threads. The SM opens the CTA in a later window.
std::uint32_t Dispatcher::take_slot(std::uint32_t sm) {
    const std::uint32_t slot = lowest_bit(~used_slots_[sm]);
    used_slots_[sm] |= bit(slot);
    return slot;
}

std::uint64_t Dispatcher::remaining() const {
    if (!clustered_.has_value()) return scheduler_->remaining();
    return total_ - next_cluster_ * clustered_->cluster_ctas();
}

/// Clusters in the order of their numbers, to the GPCs in turn. All CTAs of a cluster are placed in the same cycle, on SMs of one GPC,
/// each on another one; the CTA scheduler has no part in it.
void Dispatcher::place_clusters(Cycle now) {
    placed_some_ = false;
    taken_.assign(state_.sms(), false);
    const auto gpcs = static_cast<std::uint32_t>(to_gpcs_.size());
    for (std::uint32_t without = 0; without < gpcs && remaining() != 0;) {
        const bool placed = place_cluster(next_gpc_, now);
        next_gpc_ = (next_gpc_ + 1) % gpcs;
        without = placed ? 0 : without + 1;
        placed_some_ = placed_some_ || placed;
    }
}

/// On those SMs of the GPC that have the most free contexts.
bool Dispatcher::place_cluster(std::uint32_t gpc, Cycle now) {
    const std::uint32_t ranks = clustered_->cluster_ctas();
    const std::uint32_t first = gpc_first_sms_[gpc];
    candidates_.clear();
    for (std::uint32_t sm = first; sm < gpc_first_sms_[gpc + 1]; ++sm) {
        if (!taken_[sm] && state_.free_contexts[sm] != 0) candidates_.push_back(sm);
    }
    if (candidates_.size() < ranks) return false;
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return state_.free_contexts[a] > state_.free_contexts[b]; });
    const std::uint16_t number = cluster_number_[gpc];
    cluster_number_[gpc] = static_cast<std::uint16_t>((number + 1) % GpcMessage::kClusters);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t sm = candidates_[rank];
        taken_[sm] = true;
        --state_.free_contexts[sm];
        CtaMessage message;
        message.cta = clustered_->cta_of(next_cluster_, rank);
        message.slot = take_slot(sm);
        message.cluster = number;
        message.rank = static_cast<std::uint8_t>(rank);
        message.ranks = static_cast<std::uint8_t>(ranks);
        GpcMessage place;
        place.kind = GpcMessage::Kind::place;
        place.cluster = number;
        place.rank = message.rank;
        place.ranks = static_cast<std::uint16_t>(ranks);
        place.sm = static_cast<std::uint8_t>(sm - first);
        place.slot = static_cast<std::uint8_t>(message.slot);
        to_sms_[sm]->can_send(now, 1);
        to_sms_[sm]->send(now, message);
        to_gpcs_[gpc]->can_send(now, 1);
        to_gpcs_[gpc]->send(now, place);
        if (placed_ != nullptr) placed_->place(message.cta, {first_sm_ + sm, all_sms_, message.slot, state_.contexts_per_sm, now});
        ++dispatched_all_;
    }
    ++next_cluster_;
    return true;
}

void Dispatcher::stats(StatFields& f, Cycle) const {
    f.group("dispatch");
    f.add("ctas_dispatched", dispatched_all_, "CTAs", "CTAs sent to an SM");
    f.add("ctas_completed", completed_all_, "CTAs", "completions received");
}

void Dispatcher::gauges(StatFields& f) const {
    f.group("dispatch");
    f.add("waiting", remaining(), "CTAs", "not dispatched yet");
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
