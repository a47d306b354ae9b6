// SPDX-License-Identifier: MIT
// The SM's output: sends and counts requests, and tracks those still unanswered.
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/read_observer.hpp"

namespace mergelane {

class RequestPort {
public:
    RequestPort(std::uint32_t cluster, std::uint32_t index_in_cluster)
        : cluster_(static_cast<std::uint16_t>(cluster)), index_(static_cast<std::uint8_t>(index_in_cluster)) {}

    void connect(Link<Packet>& link) { link_ = &link; }
    void observe(ReadObserver& observer) {
        observers_.push_back(&observer);
        describe_reads();
    }
    /// Count reads separately.
    void count_reads() { counts_reads_ = true; }
    void describe_reads() { describes_reads_ = true; }
    /// Record which words reads request. Has a small cost, so only for observers.
    bool describes_reads() const { return describes_reads_; }

    bool room(Cycle now) { return link_->can_send(now, 1); }
    const LinkBase& link() const { return *link_; }
    /// Requires credits. `cta`: the requester.
    void send(Packet& packet, std::uint64_t cta, Cycle now) {
        packet.source = cluster_;
        packet.sm = index_;
        if (packet.kind == PacketKind::read) {
            for (ReadObserver* observer : observers_) observer->read_sent(packet, cta);
            read_latency_ -= now;
            ++reads_outstanding_;
        }
        link_->send(now, packet);
        ++sent_;
        latency_ -= now;
        ++outstanding_;
    }
    void answered(PacketKind kind, Cycle now) {
        if (kind == PacketKind::read_reply) {
            ++reads_received_;
            read_latency_ += now;
            --reads_outstanding_;
        }
        ++received_;
        latency_ += now;
        --outstanding_;
    }
    std::uint64_t outstanding() const { return outstanding_; }
    void stats(StatFields& f, Cycle now) const {
        f.add("requests_sent", sent_, "requests", "requests that left the SM");
        f.add("replies_received", received_, "requests", "replies and acknowledgements received");
        f.add("fetch_latency", latency_ + outstanding_ * now, "cycles",
              "cycles from leaving the SM to the reply, summed over requests (loads, stores and atomics)");
        if (!counts_reads_) return;
        f.add("reads_answered", reads_received_, "requests", "reads answered (dram.meter)");
        f.add("read_latency", read_latency_ + reads_outstanding_ * now, "cycles",
              "cycles from leaving the SM to the data, summed over reads (dram.meter)");
    }

private:
    Link<Packet>* link_ = nullptr;
    std::vector<ReadObserver*> observers_;
    bool describes_reads_ = false;
    bool counts_reads_ = false;
    const std::uint16_t cluster_;
    const std::uint8_t index_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t latency_ = 0;  ///< minus the time of every request sent, plus that of every reply
    std::uint64_t outstanding_ = 0;
    std::uint64_t reads_received_ = 0, read_latency_ = 0, reads_outstanding_ = 0;  ///< the same for reads
};

}  // namespace mergelane
