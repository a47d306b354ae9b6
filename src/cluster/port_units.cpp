// SPDX-License-Identifier: MIT
// What the port does only if its cluster has units.
#include <algorithm>

#include "cluster/port.hpp"
#include "core/bits.hpp"

namespace mergelane {

void ClusterPort::begin_kernel() {
    for (const auto& unit : units_) unit->begin_kernel();
}

bool ClusterPort::bus_is_stopped() const {
    return std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->stops_bus(); });
}

/// Returns false if a unit keeps the request.
bool ClusterPort::admit(Packet& packet, Cycle now) {
    for (const auto& unit : units_) {
        if (unit->request(packet, now)) continue;
        ++kept_;
        return false;
    }
    return true;
}

ClusterUnit* ClusterPort::unit_with_reply() const {
    for (const auto& unit : units_) {
        if (unit->own_reply() != nullptr) return unit.get();
    }
    return nullptr;
}

/// The next network port, round robin, with a reply; nullptr if there is none.
ClusterPort::NetworkPort* ClusterPort::port_with_reply(Cycle now) {
    for (std::size_t k = 0, n = next_network_; k < networks_.size(); ++k, n = n + 1 == networks_.size() ? 0 : n + 1) {
        if (!networks_[n].from->has(now)) continue;
        next_network_ = n;
        return &networks_[n];
    }
    return nullptr;
}

/// When the next reply arrives.
Cycle ClusterPort::next_reply() const {
    Cycle next = kNever;
    for (const NetworkPort& port : networks_) next = std::min(next, port.from->head_arrival());
    return next;
}

/// Selects the next reply: those of units alternate with those of the network. Returns false if there is none.
bool ClusterPort::begin_delivery(Cycle now) {
    NetworkPort* const replying = port_with_reply(now);
    ClusterUnit* const own = unit_with_reply();
    if (replying == nullptr && own == nullptr) return false;
    own_reply_ = own != nullptr && (replying == nullptr || !own_reply_);
    deliverer_ = nullptr;
    if (own_reply_) {
        deliverer_ = own;
        delivering_ = *own->own_reply();
        delivered_since_ = now;
        if (Journey* const journey = journey_of(delivering_); journey != nullptr) [[unlikely]]
            journey->reach(Journey::Level::cluster);
    } else {
        delivering_port_ = replying;
        delivering_ = replying->from->front();
        delivered_since_ = replying->from->head_arrival();
        // On the return path, the unit nearest to the network comes first.
        for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
            const std::uint64_t sms = (*unit)->begin_delivery(delivering_);
            if (sms == 0 || deliverer_ != nullptr) continue;
            deliverer_ = unit->get();
            deliver_to_ = sms;
        }
        if (deliverer_ != nullptr) return true;
    }
    deliver_to_ = bit(delivering_.sm);
    return true;
}

void ClusterPort::end_delivery(Cycle now) {
    if (own_reply_) return deliverer_->own_reply_sent();
    delivering_port_->from->pop_and_release(now);
    next_network_ = next_network_ + 1 == networks_.size() ? 0 : next_network_ + 1;
    ++network_replies_;
    for (const auto& unit : units_) unit->end_delivery(delivering_, now);
}

/// Like deliver, but a reply may go to several SMs, and units have replies of their own. An SM that cannot accept its copy delays the next
/// reply, but not the copies of other SMs.
Cycle ClusterPort::deliver_by_units(Cycle now) {
    if (deliver_to_ == 0 && !begin_delivery(now)) return next_reply();
    Cycle credit = kNever;  // or when woken by the SM
    for (std::uint64_t sms = deliver_to_; sms != 0; sms &= sms - 1) {
        const std::uint32_t sm = lowest_bit(sms);
        Link<Packet>& to_sm = *links_.to_sms[sm];
        if (!to_sm.can_send(now, 1)) {
            credit = std::min(credit, to_sm.next_credit());
            continue;
        }
        const Packet copy = own_reply_ || deliverer_ == nullptr ? delivering_ : deliverer_->copy_for(delivering_, sm);
        note_wait(copy, response_, delivered_since_, now);
        to_sm.send(now, copy);
        deliver_to_ &= ~bit(sm);
        ++replies_;
    }
    if (deliver_to_ != 0) return credit;
    end_delivery(now);
    return unit_with_reply() != nullptr ? now + 1 : std::max(next_reply(), now + 1);
}

}  // namespace mergelane
