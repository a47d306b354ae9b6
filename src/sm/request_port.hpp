// SPDX-License-Identifier: MIT
// The SM's output: sends and counts requests, and tracks those still unanswered.
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/journey.hpp"
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
        observed_ = true;
        describes_reads_ |= observer.wants_words();
    }
    const std::vector<SmObserver*>& observers() const { return observers_; }
    bool observed() const { return observed_; }
    void describe_reads() { describes_reads_ = true; }
    /// Record which words reads request. Has a small cost, so only for observers.
    bool describes_reads() const { return describes_reads_; }

    bool room(Cycle now) { return link_->can_send(now, 1); }
    const LinkBase& link() const { return *link_; }
    /// Requires credits. `cta`: the requester. `may_follow`: false if it is known that the line is not followed.
    void send(Packet& packet, std::uint64_t cta, Cycle now, bool may_follow = true) {
        packet.source = cluster_;
        packet.sm = index_ & Packet::kSmMask;
        if (may_follow && packet.kind == PacketKind::read && followed_.contains(packet.address, now)) [[unlikely]]
            begin_journey(packet, now);
        if (observed()) tell_sent(packet, cta, now);
        link_->send(now, packet);
        ++sent_;
        latency_ -= now;
        ++outstanding_;
    }
    /// For observers: a load request waits before the L1, and accesses it.
    void queued(std::uint32_t warp, Addr block, Cycle now) const {
        if (observed()) tell_queued(warp, block, now);
    }
    void accessed(std::uint32_t warp, Addr block, Cycle now) const {
        if (observed()) tell_accessed(warp, block, now);
    }
    void answered(PacketKind kind, Cycle now) {
        if (observed()) tell_answered(kind, now);
        ++received_;
        latency_ += now;
        --outstanding_;
    }
    /// Nobody waits for this reply any more.
    void forget(const Packet& reply) {
        if (Journey* const journey = journey_of(reply); journey != nullptr) [[unlikely]]
            journeys_.give_back(*journey);
    }
    void set_clock(Clock clock) { period_ = clock.period; }
    void follow(FollowedLines lines) { followed_ = lines; }
    const FollowedLines& followed() const { return followed_; }
    std::uint64_t outstanding() const { return outstanding_; }
    std::uint64_t sent() const { return sent_; }
    void stats(StatFields& f, Cycle now) const {
        f.add("requests_sent", sent_, "requests", "requests that left the SM");
        f.add("replies_received", received_, "requests", "replies and acknowledgements received");
        f.add("fetch_latency", latency_ + outstanding_ * now, "cycles",
              "cycles from leaving the SM to the reply, summed over requests (loads, stores and atomics)");
        for (const SmObserver* observer : observers_) observer->request_stats(f, now);
    }

private:
    // Not inlined: few lines are followed.
    [[gnu::noinline, gnu::cold]] void begin_journey(Packet& packet, Cycle now) {
        packet.read.journey = &journeys_.take();
        packet.read.journey->begin(now * period_, (sent_ + 1) << 24 | std::uint64_t{cluster_} << 8 | index_);
    }
    // Not inlined: most SMs have no observers.
    [[gnu::noinline, gnu::cold]] void tell_sent(const Packet& packet, std::uint64_t cta, Cycle now) {
        for (SmObserver* observer : observers_) observer->sent(packet, cta, now);
    }
    [[gnu::noinline, gnu::cold]] void tell_queued(std::uint32_t warp, Addr block, Cycle now) const {
        for (SmObserver* observer : observers_) observer->queued(warp, block, now);
    }
    [[gnu::noinline, gnu::cold]] void tell_accessed(std::uint32_t warp, Addr block, Cycle now) const {
        for (SmObserver* observer : observers_) observer->accessed(warp, block, now);
    }
    [[gnu::noinline, gnu::cold]] void tell_answered(PacketKind kind, Cycle now) {
        for (SmObserver* observer : observers_) observer->answered(kind, now);
    }

    Link<Packet>* link_ = nullptr;
    std::vector<SmObserver*> observers_;
    bool observed_ = false;  ///< there are some: looked at in every cycle
    bool describes_reads_ = false;
    JourneyPool journeys_;
    FollowedLines followed_;
    std::uint32_t period_ = 1;
    const std::uint16_t cluster_;
    const std::uint8_t index_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t latency_ = 0;  ///< minus the time of every request sent, plus that of every reply
    std::uint64_t outstanding_ = 0;
};

}  // namespace mergelane
