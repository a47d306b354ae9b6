// SPDX-License-Identifier: MIT
#include "cluster/port.hpp"

#include <algorithm>

namespace mergelane {

ClusterPort::ClusterPort(std::string name, const ClusterSpec& spec, const AddressMap& map, const PacketSizes& sizes, Units units,
                         std::uint32_t packets_per_cycle, std::uint32_t first_port)
    : Component(std::move(name)),
      map_(map),
      sizes_(sizes),
      width_(packets_per_cycle),
      injection_buffer_(spec.injection_buffer),
      first_port_(first_port),
      units_(std::move(units)) {}

void ClusterPort::connect(Links links) {
    links_ = std::move(links);
    networks_.clear();
    for (std::size_t n = 0; n < links_.to_networks.size(); ++n)
        networks_.push_back({links_.to_networks[n], links_.from_networks[n], Ring<Packet>(injection_buffer_)});
    port_width_ = width_ / static_cast<std::uint32_t>(networks_.size());
}

std::uint64_t ClusterPort::held() const {
    std::uint64_t sum = 0;
    for (const NetworkPort& port : networks_) sum += port.injection.size();
    return sum;
}

// Each phase returns the next cycle in which it can do something.

Cycle ClusterPort::inject(NetworkPort& port, Cycle now) {
    if (port.injection.empty()) return kNever;
    const std::uint32_t flits = sizes_.flits(port.injection.front());
    if (!port.to->can_send(now, flits)) return std::max(port.to->next_credit(), now + 1);
    note_exit(port.injection.front(), injecting_, now);
    port.to->send(now, port.injection.front(), flits);
    port.injection.pop();
    ++requests_out_;
    return port.injection.empty() ? kNever : now + 1;
}

template <bool kSeveral>
Cycle ClusterPort::take_from_bus(Cycle now) {
    const auto injection_of = [&](std::uint32_t sm) -> Ring<Packet>& { return networks_[kSeveral ? sm % networks_.size() : 0].injection; };
    if (!kSeveral && injection_of(0).full()) return kNever;  // until one is injected
    const auto sms = static_cast<std::uint32_t>(links_.from_sms.size());
    std::uint32_t chosen = next_sm_;
    Cycle next = kNever;
    for (std::uint32_t k = 0; k < sms; ++k, chosen = chosen + 1 == sms ? 0 : chosen + 1) {
        const Cycle arrival = links_.from_sms[chosen]->head_arrival();
        if (kSeveral && arrival <= now && injection_of(chosen).full()) continue;
        next = std::min(next, arrival);
        if (next <= now) break;
    }
    if (next > now) return next;
    if (!units_.empty() && bus_is_stopped()) return kNever;  // until a reply is delivered
    Link<Packet>& link = *links_.from_sms[chosen];
    if (journey_of(link.front()) != nullptr) [[unlikely]]
        note_crossing(link, now);
    Ring<Packet>& injection = injection_of(chosen);
    Packet& packet = injection.claim();
    packet = link.front();
    link.pop_and_release(now);
    ++requests_in_;
    next_sm_ = chosen + 1 == sms ? 0 : chosen + 1;
    packet.destination = static_cast<std::uint16_t>(map_.slice(packet.address));
    if (kSeveral) packet.source = static_cast<std::uint16_t>(first_port_ + chosen % networks_.size());
    if (!units_.empty() && !admit(packet, now)) injection.unclaim();
    return now + 1;  // to inject it, or to deliver a unit's answer
}

// These ask for the arrival again, so that the usual way need not keep it.
void ClusterPort::note_crossing(const Link<Packet>& link, Cycle now) {
    note_wait(link.front(), bus_, link.head_arrival(), now);
    note_entry(link.front(), now + 1);
}
void ClusterPort::note_response(const Link<Packet>& link, Cycle now) {
    note_wait(link.front(), response_, link.head_arrival(), now);
}

Cycle ClusterPort::deliver(NetworkPort& port, Cycle now) {
    const Cycle arrival = port.from->head_arrival();
    if (arrival > now) return arrival;
    const Packet& reply = port.from->front();
    Link<Packet>& to_sm = *links_.to_sms[reply.sm];
    if (!to_sm.can_send(now, 1)) return to_sm.next_credit();  // or when woken by the SM
    if (journey_of(reply) != nullptr) [[unlikely]]
        note_response(*port.from, now);
    to_sm.send(now, reply);
    port.from->pop_and_release(now);
    ++network_replies_;
    ++replies_;
    return std::max(port.from->head_arrival(), now + 1);
}

Cycle ClusterPort::step(Cycle now) {
    if (width_ != 1) return step_wide(now);
    // 1. One reply per cycle from the response FIFO to its SM, or to all SMs that wait for it.
    const Cycle reply = units_.empty() ? deliver(networks_.front(), now) : deliver_by_units(now);
    // 2. The oldest waiting request enters the network if there are credits.
    const Cycle injection = inject(networks_.front(), now);
    // 3. One request per cycle crosses the bus, round robin over the SMs.
    const Cycle bus = take_from_bus<false>(now);
    return std::min({reply, injection, bus});
}

/// A packet that crosses the bus leaves in the next cycle at the earliest, so the phases are repeated, not the step.
Cycle ClusterPort::step_wide(Cycle now) {
    // One that can do nothing until a later cycle can do nothing more in this one.
    const auto repeat = [now](std::uint32_t times, auto&& phase) {
        Cycle next = phase();
        for (std::uint32_t k = 1; k < times && next <= now + 1; ++k) next = std::min(next, phase());
        return next;
    };
    const auto at_each_port = [&](auto&& phase) {
        Cycle next = kNever;
        for (NetworkPort& port : networks_) next = std::min(next, repeat(port_width_, [&] { return phase(port); }));
        return next;
    };
    const Cycle reply = units_.empty() ? at_each_port([&](NetworkPort& port) { return deliver(port, now); })
                                       : repeat(width_, [&] { return deliver_by_units(now); });
    const Cycle injection = at_each_port([&](NetworkPort& port) { return inject(port, now); });
    const Cycle bus = networks_.size() == 1 ? repeat(width_, [&] { return take_from_bus<false>(now); })
                                            : repeat(width_, [&] { return take_from_bus<true>(now); });
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
    f.add("queued", held(), "requests", "requests waiting for injection into the network");
    for (const auto& unit : units_) unit->gauges(f);
}

void ClusterPort::explain(std::vector<Wait>& waits) const {
    for (const NetworkPort& port : networks_) {
        if (!port.injection.empty() && port.to->sender_waits())
            waits.push_back({this, port.to->receiver(), port.to->describe_wait(), true});
    }
    for (const Link<Packet>* to_sm : links_.to_sms) {
        if (to_sm->sender_waits()) waits.push_back({this, to_sm->receiver(), to_sm->describe_wait(), true});
    }
}

}  // namespace mergelane
