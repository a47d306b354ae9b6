// SPDX-License-Identifier: MIT
#include "noc/output_queues.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/meter.hpp"

namespace mergelane {

OutputQueues::OutputQueues(std::string name, const NetworkSpec& spec) : Component(std::move(name)), group_(spec.name) {}

void OutputQueues::connect(std::vector<Link<Packet>*> sources, std::vector<Link<Packet>*> sinks, Cycle forward, Cycle credit) {
    sources_ = std::move(sources);
    forward_ = forward;
    credit_ = credit;
    boxes_.resize(sources_.size() * sinks.size());
    for (std::uint32_t o = 0; o < sinks.size(); ++o) {
        Queue& queue = *queues_.emplace_back(std::make_unique<Queue>());
        queue.network = this;
        queue.link = sinks[o];
        queue.number = o;
        queue.end.empty();
        queue.first = &queue.end;
        queue.link->end_route(*this, o, &queue.end);
    }
    for (std::uint32_t i = 0; i < sources_.size(); ++i) {
        sources_[i]->begin_route(*this, i, static_cast<std::uint32_t>(forward));
        source_domains_.push_back(&sources_[i]->sender()->domain());
    }
    for (std::uint32_t o = 0; o < queues_.size(); ++o) {
        Domain& domain = queues_[o]->link->receiver()->domain();
        for (std::uint32_t i = 0; i < sources_.size(); ++i) box(i, o).flag = domain.add_cut_input(*queues_[o], i);
    }
}

void OutputQueues::observe(const Sections& sections) {
    observers_ = observers(sections, &MeterSection::at_network,
                           NetworkPlace{static_cast<std::uint32_t>(sources_.size()), static_cast<std::uint32_t>(queues_.size())});
}

void OutputQueues::sent(std::uint32_t source, Slot& slot) {
    const Domain& domain = *source_domains_[source];
    Box& to = box(source, slot.as<Packet>().destination);
    slot.credit_cost = source;  // the owner of the slot; its credit is the cost of the packet
    Slot*& chain = to.sent[domain.turn()];
    slot.next = chain;
    chain = &slot;
    domain.raise(to.flag);
    for (const auto& observer : observers_) observer->entered(source, slot.as<Packet>(), slot.cost, slot.arrives_at - forward_);
}

void OutputQueues::Queue::look(std::uint32_t source, std::uint32_t turn, Cycle begin) {
    if (looked_at != begin) {
        looked_at = begin;
        older = tail;
    }
    Slot*& chain = network->box(source, number).sent[turn];
    const Slot* const head = first;
    for (Slot* slot = chain; slot != nullptr;) {
        Slot& packet = *slot;
        slot = slot->next;
        insert(packet);
    }
    chain = nullptr;
    if (first == head) return;
    first->arrives_at = std::max(first->arrives_at, last_available + first->cost);
    link->set_head(first);
    link->receiver()->wake(std::max(first->arrives_at, begin));
}

/// Which of two packets goes first. While they wait, free_at holds their arrival time.
bool OutputQueues::before(const Slot& a, const Slot& b) const {
    if (a.free_at != b.free_at) return a.free_at < b.free_at;
    const auto turn = [&](const Slot& slot) { return (slot.credit_cost + slot.free_at) % sources_.size(); };
    return turn(a) < turn(b);
}

void OutputQueues::Queue::insert(Slot& slot) {
    // Most packets come after all others, and nearly all after those of earlier windows.
    Slot* previous = tail;
    if (previous != nullptr && network->before(slot, *previous)) {
        previous = older != nullptr && !network->before(slot, *older) ? older : nullptr;
        Slot* next = previous == nullptr ? first : previous->next;
        for (; network->before(*next, slot); next = next->next) previous = next;
    }
    Slot*& place = previous == nullptr ? first : previous->next;
    slot.next = place;
    place = &slot;
    if (slot.next == &end) tail = &slot;
}

Slot* OutputQueues::taken(std::uint32_t sink, Slot& slot, Cycle now) {
    Queue& queue = *queues_[sink];
    const PacketKind kind = slot.as<Packet>().kind;
    ++queue.packets;
    queue.flits += slot.cost;
    if (kind == PacketKind::read || kind == PacketKind::read_reply) ++queue.read_packets;
    if (slot.cost > 1) ++queue.data_packets;
    queue.wait_cycles += now - slot.free_at;
    note_wait(slot.as<Packet>(), contention_, slot.free_at, slot.arrives_at);
    for (const auto& observer : observers_) observer->left(sink, slot.as<Packet>(), slot.cost, now);

    queue.last_available = slot.arrives_at;
    Slot* const next = slot.next;
    queue.first = next;
    if (next == &queue.end)
        queue.tail = nullptr;
    else
        next->arrives_at = std::max(next->arrives_at, queue.last_available + next->cost);
    slot.free_at = now + credit_;
    sources_[slot.credit_cost]->give_back(slot);
    return next;
}

void OutputQueues::stages(Stages& out) {
    out.group(group_);
    out.add(contention_, "contention", "behind packets of other sources at the sink");
}

std::uint64_t OutputQueues::held() const {
    std::uint64_t sum = 0;
    for (const Link<Packet>* link : sources_) sum += link->sent();
    for (const auto& queue : queues_) sum -= queue->packets;
    return sum;
}

void OutputQueues::stats(StatFields& f, Cycle) const {
    Queue sum;
    for (const auto& queue : queues_) {
        sum.packets += queue->packets;
        sum.flits += queue->flits;
        sum.read_packets += queue->read_packets;
        sum.data_packets += queue->data_packets;
        sum.wait_cycles += queue->wait_cycles;
    }
    f.group(group_);
    f.add("packets_in", sum.packets + held(), "packets", "packets injected into the network");
    f.add("packets", sum.packets, "packets", "packets delivered");
    f.add("flits", sum.flits, "flits", "flits delivered");
    f.add("read_packets", sum.read_packets, "packets", "read requests or read replies among the packets");
    f.add("multi_flit_packets", sum.data_packets, "packets", "packets longer than one flit");
    f.add("wait", sum.wait_cycles, "network cycles", "cycles from arrival at the sink to acceptance, summed over packets");
    for (const auto& observer : observers_) observer->stats(f);
}

void OutputQueues::gauges(StatFields& f) const {
    f.group(group_);
    f.add("held", held(), "packets", "packets inside the network");
}

void OutputQueues::explain(std::vector<Wait>& waits) const {
    for (const auto& queue : queues_) {
        if (queue->tail == nullptr) continue;
        const Component* const sink = queue->link->receiver();
        waits.push_back({this, sink, fmt::format("packets wait to be accepted by {}", sink->name()), false});
    }
}

NetworkPorts output_queues(const NetworkBuild& build, const Sections& sections) {
    const Clock clock = build.spec.clock;
    for (const NetworkSide* side : {&build.sources, &build.sinks}) {
        for (const Component* component : side->components) {
            if (&component->domain() == &build.domain)
                throw InputError(
                    "noc.kind = \"output_queues\" cannot be benchmarked alone, because it exchanges packets between windows; use another "
                    "kind");
            if (component->domain().clock().period == clock.period) continue;
            throw InputError(
                fmt::format("noc.kind = \"output_queues\" requires one clock domain, but {} has a different clock than the network; make "
                            "gpu.core_mhz, gpu.noc_mhz and gpu.l2_mhz equal, or use noc.kind = \"crossbar\"",
                            component->name()));
        }
    }
    OutputQueues& network = build.add<OutputQueues>("network", build.spec);
    // A source's buffer holds waiting packets. Packets in flight from the network to a sink come on top, as if they had left a buffer.
    NetworkBuild with_wire = build;
    with_wire.sources.room += static_cast<std::uint32_t>(clock.first_at(build.sinks.forward));
    NetworkPorts ports;
    for (std::size_t i = 0; i < build.sources.components.size(); ++i) ports.from_sources.push_back(&with_wire.from_source(i, network));
    for (std::size_t o = 0; o < build.sinks.components.size(); ++o) ports.to_sinks.push_back(&build.to_sink(network, o));
    network.connect(ports.from_sources, ports.to_sinks, clock.first_at(build.sources.forward + build.sinks.forward),
                    clock.first_at(build.sources.credit));
    network.observe(sections);
    return ports;
}

}  // namespace mergelane
