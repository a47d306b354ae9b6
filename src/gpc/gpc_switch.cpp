// SPDX-License-Identifier: MIT
#include "gpc/gpc_switch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/bits.hpp"

namespace mergelane {

void GpcSwitch::connect(Link<GpcMessage>& placements, std::vector<Link<GpcMessage>*> from_sms, std::vector<Link<GpcMessage>*> to_sms) {
    placements_ = &placements;
    from_sms_ = std::move(from_sms);
    to_sms_ = std::move(to_sms);
    free_at_.assign(to_sms_.size(), 0);
}

Cycle GpcSwitch::step(Cycle now) {
    retry_ = kNever;
    // 1. The dispatcher has placed CTAs.
    while (placements_->has(now)) place(placements_->pop_and_release(now));
    Cycle next = placements_->head_arrival();
    // 2. Barriers that are over.
    while (!releases_.empty() && releases_.front().at <= now) {
        GpcMessage release;
        release.kind = GpcMessage::Kind::release;
        release.cluster = releases_.front().cluster;
        if (!deliver(release, releases_.front().ranks, now)) break;
        releases_.erase(releases_.begin());
    }
    if (!releases_.empty()) retry_at(std::max(releases_.front().at, now + 1));
    // 3. Messages in round robin over the SMs; each SM's in order.
    const auto inputs = static_cast<std::uint32_t>(from_sms_.size());
    const std::uint32_t first = first_;
    for (std::uint32_t k = 0; k < inputs; ++k) {
        const std::uint32_t input = (first + k) % inputs;
        while (from_sms_[input]->has(now) && pass(from_sms_[input]->front(), now)) {
            from_sms_[input]->pop_and_release(now);
            ++received_;
            first_ = (input + 1) % inputs;
        }
        if (const Cycle arrival = from_sms_[input]->head_arrival(); arrival > now) next = std::min(next, arrival);
    }
    if (!releases_.empty()) retry_at(std::max(releases_.front().at, now + 1));
    return std::min(next, retry_);
}

void GpcSwitch::place(const GpcMessage& message) {
    Cluster& cluster = clusters_[message.cluster];
    if (message.rank == 0) {
        cluster.ranks = static_cast<std::uint32_t>(low_bits(message.ranks));
        cluster.arrived = cluster.left = 0;
    }
    cluster.place[message.rank] = {message.sm, message.slot};
}

/// False if it has to wait.
bool GpcSwitch::pass(const GpcMessage& message, Cycle now) {
    switch (message.kind) {
        case GpcMessage::Kind::arrive:
        case GpcMessage::Kind::leave: count_barrier(message, now); return true;
        case GpcMessage::Kind::reply:
            if (!may_send(message.sm, now)) return false;
            send(message.sm, message, now);
            return true;
        default: return deliver(message, message.ranks & clusters_[message.cluster].ranks, now);
    }
}

/// To CTAs of a cluster, to all at the same time.
bool GpcSwitch::deliver(const GpcMessage& message, std::uint32_t ranks, Cycle now) {
    const Cluster& cluster = clusters_[message.cluster];
    bool may = true;
    for (std::uint32_t left = ranks; left != 0; left &= left - 1) may = may_send(cluster.place[lowest_bit(left)].sm, now) && may;
    if (!may) return false;
    for (std::uint32_t left = ranks; left != 0; left &= left - 1) {
        const std::uint32_t rank = lowest_bit(left);
        GpcMessage own = message;
        own.slot = cluster.place[rank].slot;
        own.rank = static_cast<std::uint8_t>(rank);
        send(cluster.place[rank].sm, own, now);
    }
    return true;
}

bool GpcSwitch::may_send(std::uint32_t sm, Cycle now) {
    if (free_at_[sm] > now) {
        retry_at(free_at_[sm]);
        return false;
    }
    if (to_sms_[sm]->can_send(now, 1)) return true;
    const Cycle credit = to_sms_[sm]->next_credit();
    retry_at(credit == kNever ? now + 1 : std::max(credit, now + 1));
    return false;
}

void GpcSwitch::send(std::uint32_t sm, const GpcMessage& message, Cycle now) {
    const bool multicast = message.kind == GpcMessage::Kind::multicast;
    const std::uint64_t cycles = divide_up(message.bytes, multicast ? spec_.multicast_bytes_per_cycle : spec_.bytes_per_cycle);
    free_at_[sm] = now + std::max<std::uint64_t>(cycles, 1);
    to_sms_[sm]->send(now, message);
    ++sent_;
    bytes_ += message.bytes;
}

/// A phase is over when every CTA has arrived or ended. Those that have ended need not know.
void GpcSwitch::count_barrier(const GpcMessage& message, Cycle now) {
    Cluster& cluster = clusters_[message.cluster];
    (message.kind == GpcMessage::Kind::leave ? cluster.left : cluster.arrived) |= 1u << message.rank;
    if (cluster.arrived == 0 || (cluster.arrived | cluster.left) != cluster.ranks) return;
    releases_.push_back({now + spec_.barrier_latency, message.cluster, static_cast<std::uint16_t>(cluster.ranks & ~cluster.left)});
    cluster.arrived = 0;
    ++barriers_;
}

void GpcSwitch::stats(StatFields& f, Cycle) const {
    f.group("gpc");
    f.add("received", received_, "messages", "messages that SMs sent to others of their GPC");
    f.add("sent", sent_, "messages", "messages delivered to SMs, each copy counted");
    f.add("bytes", bytes_, "bytes", "data in them");
    f.add("barriers", barriers_, "phases", "phases of barriers of clusters of CTAs that were completed");
}

void GpcSwitch::explain(std::vector<Wait>& waits) const {
    for (std::uint32_t c = 0; c < clusters_.size(); ++c) {
        const Cluster& cluster = clusters_[c];
        if (cluster.arrived == 0) continue;
        const std::uint32_t missing = lowest_bit(cluster.ranks & ~(cluster.arrived | cluster.left));
        waits.push_back({this, to_sms_[cluster.place[missing].sm]->receiver(),
                         fmt::format("{} of {} CTAs of a cluster have arrived at its barrier; rank {} has not",
                                     std::popcount(cluster.arrived), std::popcount(cluster.ranks), missing),
                         false});
    }
}

}  // namespace mergelane
