// SPDX-License-Identifier: MIT
// The part of a mesh that is only used if its routers have units.

#include <algorithm>
#include <stdexcept>

#include "core/bits.hpp"
#include "noc/router_unit.hpp"

namespace mergelane {

void Mesh::add_unit(std::unique_ptr<RouterUnit> unit) {
    has_units_ = true;
    units_.push_back(std::move(unit));
    separating_ = BitSet(routers());
    credits_.reserve(2 * std::size_t{routers()} * kPorts * (credit_back_ + 1));  // a unit and the switch may empty a buffer at once
}

void Mesh::begin_ride(std::uint32_t index) {
    if (rides_.size() < travellers_.size()) rides_.resize(std::max(travellers_.size(), 2 * rides_.size()));
    Ride ride;
    ride.flits = travellers_[index].flits;
    ride.last = ride.within = index;
    rides_[index] = ride;
    for (const auto& unit : units_) unit->enter(index);
}

/// A flit has arrived at a router. True: a unit holds its packet.
bool Mesh::unit_takes(const Event& event, Cycle now) {
    const std::uint32_t index = event.flit >> kFlagBits;
    const std::uint32_t router = event.where / kStride;
    if ((event.flit & kHead) != 0) {
        if (!offer_to_units(router, index, now)) {
            note_passing(index);
            return false;
        }
    } else if (rides_[index].held_at != router) {  // its head may be held further on
        return false;
    }
    credits_.push(now + credit_back_, inputs_[event.where].back, 0);
    if ((event.flit & kTail) != 0) {
        --rides_[rides_[index].within].arriving;
        rides_[index].held_at = kNone;
    }
    return true;
}

bool Mesh::offer_to_units(std::uint32_t router, std::uint32_t index, Cycle now) {
    Ride& ride = rides_[index];
    ride.within = index;
    ride.arriving = 1;
    const std::uint32_t flits = ride.flits;
    for (const auto& unit : units_) {
        if (!unit->arrive(router, index, now)) continue;
        if (flits > buffer_flits_) throw std::logic_error(name() + ": a router unit holds a packet that is longer than a buffer");
        ride.held_at = router;
        return true;
    }
    ride.arriving = 0;
    return false;
}

void Mesh::join(std::uint32_t leader, std::uint32_t index) {
    Ride& first = rides_[leader];
    Ride& ride = rides_[index];
    rides_[first.last].next = index;
    first.last = ride.last;
    first.joined += ride.packets + ride.joined;  // not before it is sent: its own flits may still pass the switch of the router before
    first.arriving += ride.arriving;
    ride.within = leader;
}

/// Into the emptiest virtual channel of the units' port.
bool Mesh::send_from_unit(std::uint32_t router, std::uint32_t index, std::uint32_t flits) {
    Ride& ride = rides_[index];
    if (ride.arriving != 0) throw std::logic_error(name() + ": a router unit sends a packet before its tail has arrived");
    std::uint32_t channel = kNone;
    for (std::uint32_t left = networks_[travellers_[index].network].channels; left != 0; left &= left - 1) {
        const std::uint32_t candidate = router * kStride + kUnitPort * kChannels + lowest_bit(left);
        if (inputs_[candidate].count + flits > buffer_flits_) continue;
        if (channel == kNone || inputs_[candidate].count < inputs_[channel].count) channel = candidate;
    }
    if (channel == kNone) return false;
    ride.flits = flits;
    ride.packets += ride.joined;
    ride.joined = 0;
    note_passing(index);
    InputChannel& in = inputs_[channel];
    for (std::uint32_t n = 0; n < flits; ++n) {
        const std::uint32_t flags = (n == 0 ? kHead : 0) | (n + 1 == flits ? kTail : 0);
        flits_[place(channel, in.first + in.count + n)] = index << kFlagBits | flags;
    }
    in.count += flits;
    if (in.count == flits) want_channel(router, channel % kStride);
    return true;
}

/// A packet will pass the switch of a router, with all packets merged into it.
void Mesh::note_passing(std::uint32_t index) {
    Network& network = networks_[travellers_[index].network];
    network.switch_flits += rides_[index].flits;
    network.hops += rides_[index].packets - 1;
}

std::uint64_t Mesh::may_switch(std::uint32_t router) {
    std::uint64_t allowed = routers_[router].ready;
    for (const auto& unit : units_) allowed &= unit->may_switch(router, allowed);
    return allowed;
}

void Mesh::note_switched(std::uint32_t router, std::uint32_t input, std::uint32_t flit) {
    for (const auto& unit : units_) unit->switched(router, input, Flit{flit});
}

// --- at the sinks

/// Packets merged into another are delivered after it, in order, one per cycle. Later arrivals wait behind them.
void Mesh::separate(std::uint32_t router, std::uint32_t index, Cycle now) {
    for (const auto& unit : units_) unit->leave(router, index);
    Sink& sink = sinks_[router];
    const Ride ride = rides_[index];
    if (sink.waiting != kNone) {
        --sink.promised;
        rides_[sink.last_waiting].next = index;
    } else {
        hand_over(router, index, ride.flits, now);
        if (ride.next == kNone) return;
        sink.waiting = ride.next;
        sink.next_from = now + 1;
        separating_.set(router);
    }
    sink.last_waiting = ride.last;
}

void Mesh::hand_over_waiting(std::uint32_t router, Cycle now) {
    Sink& sink = sinks_[router];
    if (sink.next_from > now || !sink.link->can_send(now, sink.promised + 1)) return;
    const std::uint32_t index = sink.waiting;
    const Ride& ride = rides_[index];
    sink.waiting = ride.next;
    sink.next_from = now + 1;
    ++sink.promised;
    hand_over(router, index, ride.within == index ? ride.flits : 0, now);  // the flits of others were those of their leader
    if (sink.waiting == kNone) separating_.clear(router);
}

void Mesh::step_units(Cycle now) {
    for (const auto& unit : units_) unit->step(now);
    for_each(separating_, [&](std::uint32_t router) { hand_over_waiting(router, now); });
}

Cycle Mesh::next_of_units(Cycle now) const {
    Cycle next = kNever;
    for (const auto& unit : units_) next = std::min(next, unit->next(now));
    for_each(separating_, [&](std::uint32_t router) {
        const Sink& sink = sinks_[router];
        next = std::min(next, sink.link->can_send(now, sink.promised + 1) ? sink.next_from : sink.link->next_credit());
    });
    return next;
}

}  // namespace mergelane
