// SPDX-License-Identifier: MIT
// The SM's way out: requests to what lies below, counted, and the number of those still unanswered.
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"

namespace mergelane {

class RequestPort {
public:
    RequestPort(std::uint32_t cluster, std::uint32_t index_in_cluster)
        : cluster_(static_cast<std::uint16_t>(cluster)), index_(static_cast<std::uint8_t>(index_in_cluster)) {}

    void connect(Link<Packet>& link) { link_ = &link; }
    void observe(SmObserver& observer) {
        observers_.push_back(&observer);
        describes_reads_ |= observer.wants_words();
    }
    const std::vector<SmObserver*>& observers() const { return observers_; }
    void describe_reads() { describes_reads_ = true; }
    /// Reads shall say which words they want: costs a little, so only when somebody looks.
    bool describes_reads() const { return describes_reads_; }

    bool room(Cycle now) { return link_->can_send(now, 1); }
    const LinkBase& link() const { return *link_; }
    /// Needs room. `cta`: who asks.
    void send(Packet& packet, std::uint64_t cta, Cycle now) {
        packet.source = cluster_;
        packet.sm = index_;
        for (SmObserver* observer : observers_) observer->sent(packet, cta, now);
        link_->send(now, packet);
        ++sent_;
        latency_ -= now;
        ++outstanding_;
    }
    void answered(PacketKind kind, Cycle now) {
        for (SmObserver* observer : observers_) observer->answered(kind, now);
        ++received_;
        latency_ += now;
        --outstanding_;
    }
    std::uint64_t outstanding() const { return outstanding_; }
    void stats(StatFields& f, Cycle now) const {
        f.add("requests_sent", sent_, "requests", "requests that left the SM");
        f.add("replies_received", received_, "requests", "replies and acknowledgements that came back");
        f.add("fetch_latency", latency_ + outstanding_ * now, "cycles",
              "sum over requests of the cycles from leaving the SM to the reply's return (loads, stores and atomics)");
        for (const SmObserver* observer : observers_) observer->request_stats(f, now);
    }

private:
    Link<Packet>* link_ = nullptr;
    std::vector<SmObserver*> observers_;
    bool describes_reads_ = false;
    const std::uint16_t cluster_;
    const std::uint8_t index_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t latency_ = 0;  ///< minus the moment of every request sent, plus that of every reply
    std::uint64_t outstanding_ = 0;
};

}  // namespace mergelane
