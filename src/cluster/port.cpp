// SPDX-License-Identifier: MIT
#include "cluster/port.hpp"

#include <algorithm>

namespace mergelane {

ClusterPort::ClusterPort(std::string name, const ClusterSpec& spec, const AddressMap& map, const PacketSizes& sizes, Units units,
                         std::uint32_t packets_per_cycle)
    : Component(std::move(name)),
      map_(map),
      sizes_(sizes),
      width_(packets_per_cycle),
      injection_(spec.injection_buffer),
      units_(std::move(units)) {}

// Each phase returns the next cycle in which it can do something.

Cycle ClusterPort::inject(Cycle now) {
    if (injection_.empty()) return kNever;
    const std::uint32_t flits = sizes_.flits(injection_.front());
    if (!links_.to_network->can_send(now, flits)) return std::max(links_.to_network->next_credit(), now + 1);
    note_exit(injection_.front(), injecting_, now);
    links_.to_network->send(now, injection_.front(), flits);
    injection_.pop();
    ++requests_out_;
    return injection_.empty() ? kNever : now + 1;
}

Cycle ClusterPort::take_from_bus(Cycle now) {
    if (injection_.full()) return kNever;  // until one is injected
    const auto sms = static_cast<std::uint32_t>(links_.from_sms.size());
    std::uint32_t chosen = next_sm_;
    Cycle next = kNever;
    for (std::uint32_t k = 0; k < sms; ++k, chosen = chosen + 1 == sms ? 0 : chosen + 1) {
        next = std::min(next, links_.from_sms[chosen]->head_arrival());
        if (next <= now) break;
    }
    if (next > now) return next;
    if (!units_.empty() && bus_is_stopped()) return kNever;  // until a reply is delivered
    Link<Packet>& link = *links_.from_sms[chosen];
    if (journey_of(link.front()) != nullptr) [[unlikely]]
        note_crossing(link, now);
    Packet& packet = injection_.claim();
    packet = link.front();
    link.pop_and_release(now);
    ++requests_in_;
    next_sm_ = chosen + 1 == sms ? 0 : chosen + 1;
    packet.destination = static_cast<std::uint16_t>(map_.slice(packet.address));
    if (!units_.empty() && !admit(packet, now)) injection_.unclaim();
    return now + 1;  // to inject it, or to deliver a unit's answer
}

// These ask for the arrival again, so that the usual way need not keep it.
void ClusterPort::note_crossing(const Link<Packet>& link, Cycle now) {
    note_wait(link.front(), bus_, link.head_arrival(), now);
    note_entry(link.front(), now + 1);
}
void ClusterPort::note_response(Cycle now) {
    note_wait(links_.from_network->front(), response_, links_.from_network->head_arrival(), now);
}

Cycle ClusterPort::deliver(Cycle now) {
    const Cycle arrival = links_.from_network->head_arrival();
    if (arrival > now) return arrival;
    const Packet& reply = links_.from_network->front();
    Link<Packet>& to_sm = *links_.to_sms[reply.sm];
    if (!to_sm.can_send(now, 1)) return to_sm.next_credit();  // or when woken by the SM
    if (journey_of(reply) != nullptr) [[unlikely]]
        note_response(now);
    to_sm.send(now, reply);
    links_.from_network->pop_and_release(now);
    ++network_replies_;
    ++replies_;
    return std::max(links_.from_network->head_arrival(), now + 1);
}

Cycle ClusterPort::step(Cycle now) {
    // A packet that crosses the bus leaves in the next cycle at the earliest, so the phases are repeated, not the step.
    const auto repeat = [this](auto&& phase) {
        Cycle next = phase();
        for (std::uint32_t k = 1; k < width_; ++k) next = std::min(next, phase());
        return next;
    };
    // 1. One reply per cycle from the response FIFO to its SM, or to all SMs that wait for it.
    const Cycle reply = repeat([&] { return units_.empty() ? deliver(now) : deliver_by_units(now); });
    // 2. The oldest waiting request enters the network if there are credits.
    const Cycle injection = repeat([&] { return inject(now); });
    // 3. One request per cycle crosses the bus, round robin over the SMs.
    const Cycle bus = repeat([&] { return take_from_bus(now); });
    return std::min({reply, injection, bus});
}

void ClusterPort::stats(StatFields& f, Cycle now) const {
    f.group("cluster");
    f.add("requests_in", requests_in_, "requests", "requests that crossed the cluster bus");
    f.add("requests_out", requests_out_, "packets", "request packets injected into the network");
    f.add("kept", kept_, "requests", "requests answered by a cluster unit, not sent");
    f.add("network_replies", network_replies_, "packets", "network replies delivered");
    f.add("replies", replies_, "packets", "replies delivered to an SM");
    for (const auto& unit : units_) unit->stats(f, now);
}

void ClusterPort::stages(Stages& out) {
    out.group("cluster");
    out.add(bus_, "bus", "waiting for the bus of the SM cluster, or for space in its injection buffer");
    out.add(injecting_, "injection", "in the injection buffer, behind other requests or waiting for network credits");
    out.add(response_, "response", "in the response FIFO, behind other replies or until the SM accepts it");
    for (const auto& unit : units_) unit->stages(out);
}

void ClusterPort::gauges(StatFields& f) const {
    f.group("cluster");
    f.add("queued", injection_.size(), "requests", "requests waiting for injection into the network");
    for (const auto& unit : units_) unit->gauges(f);
}

void ClusterPort::explain(std::vector<Wait>& waits) const {
    if (!injection_.empty() && links_.to_network->sender_waits()) {
        waits.push_back({this, links_.to_network->receiver(), links_.to_network->describe_wait(), true});
    }
    for (const Link<Packet>* to_sm : links_.to_sms) {
        if (to_sm->sender_waits()) waits.push_back({this, to_sm->receiver(), to_sm->describe_wait(), true});
    }
}

}  // namespace mergelane
