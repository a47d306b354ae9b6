// SPDX-License-Identifier: MIT
#include "noc/crossbar.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/meter.hpp"

namespace mergelane {

Crossbar::Crossbar(std::string name, const NetworkSpec& spec, CrossbarStage stage)
    : Component(std::move(name)),
      group_(spec.name),
      stage_group_(fmt::format("{}.stage{}", spec.name, stage.number)),
      stage_(stage),
      leaves_network_(stage.last()),
      virtual_output_queues_(spec.queueing == NetworkShape::Queueing::voq),
      islip_(spec.arbiter == NetworkShape::Arbiter::islip),
      islip_iterations_(spec.islip_iterations),
      input_buffer_flits_(spec.input_buffer_flits) {}

void Crossbar::connect(std::vector<Link<Packet>*> inputs, std::vector<Link<Packet>*> outputs, Routes routes) {
    for (Link<Packet>* link : inputs) {
        link->number_input(static_cast<std::uint32_t>(inputs_.size()));
        inputs_.push_back({link});
    }
    for (Link<Packet>* link : outputs) {
        if (leaves_network_) link->sends_ahead();
        outputs_.push_back({link});
    }
    routes_ = std::move(routes);
    const auto n = static_cast<std::uint32_t>(inputs_.size());
    const auto m = output_count_ = static_cast<std::uint32_t>(outputs_.size());
    arrives_.assign(n, kNever);
    expected_ = busy_inputs_ = offered_ = BitSet(n);
    requests_ = BitSets(m, n);
    active_outputs_ = BitSet(m);
    if (!virtual_output_queues_) return;
    queues_.assign(std::size_t{n} * m, {});
    // A packet has at least one flit, so the input buffers bound the number of packets.
    nodes_.reserve(std::size_t{n} * input_buffer_flits_);
}

void Crossbar::observe(const Sections& sections) {
    const auto sources = static_cast<std::uint32_t>(stage_.first() ? inputs_.size() : 0);
    observers_ = observers(sections, &MeterSection::at_network, NetworkPlace{sources, stage_.last() ? output_count_ : 0});
    observed_ = !observers_.empty();
}

void Crossbar::tell(std::uint32_t input, std::uint32_t output, const Packet& packet, std::uint32_t flits, Cycle now) {
    for (const auto& observer : observers_) {
        if (stage_.first()) observer->entered(input, packet, flits, now);
        if (stage_.last()) observer->left(output, packet, flits, now);
    }
}

inline void Crossbar::request(std::uint32_t input, std::uint32_t output) {
    requests_.set(output, input);
    if (outputs_[output].requests++ == 0) active_outputs_.set(output);
}

/// This input has no more packets for this output.
inline void Crossbar::answered(std::uint32_t input, std::uint32_t output) {
    requests_.clear(output, input);
    if (--outputs_[output].requests == 0) active_outputs_.clear(output);
}

void Crossbar::enqueue(std::uint32_t input) {
    Link<Packet>& link = *inputs_[input].link;
    std::uint32_t index = free_node_;
    if (index == kNone) {
        index = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
    } else {
        free_node_ = nodes_[index].next;
        if (free_node_ != kNone) prefetch(&nodes_[free_node_]);
    }
    Node& node = nodes_[index];
    node.arrived = link.head_arrival();
    node.flits = link.front_cost();
    node.next = kNone;
    node.packet = link.pop();
    const std::uint32_t output = routes_[node.packet.destination];
    Queue& q = queue(input, output);
    if (q.head == kNone) {
        q.head = index;
        request(input, output);
    } else {
        nodes_[q.tail].next = index;
    }
    q.tail = index;
}

/// Makes arrived packets visible to the arbiter: all of them with virtual output queues, otherwise only the head.
void Crossbar::look_at_head(std::uint32_t input, Cycle now) {
    const Link<Packet>& link = *inputs_[input].link;
    Cycle arrival = link.head_arrival();
    if (virtual_output_queues_) {
        for (; arrival <= now; arrival = link.head_arrival()) enqueue(input);
    } else if (arrival <= now) {
        const std::uint32_t output = routes_[link.front().destination];
        inputs_[input].head_output = output;
        expected_.clear(input);
        return request(input, output);
    }
    if (arrival == kNever) return expected_.clear(input);
    expected_.set(input);
    arrives_[input] = arrival;
    next_arrival_ = std::min(next_arrival_, arrival);
}

void Crossbar::expect(std::uint32_t input, Cycle at) {
    if (inputs_[input].head_output != kNone) return;  // behind a packet that is already waiting
    if (!expected_.test(input) || at < arrives_[input]) arrives_[input] = at;
    expected_.set(input);
    next_arrival_ = std::min(next_arrival_, at);
    wake(at);
}

void Crossbar::accept_arrivals(Cycle now) {
    for (std::uint32_t w = 0; w < busy_inputs_.words(); ++w) {
        std::uint64_t& busy = busy_inputs_.word(w);
        if (now >= all_free_at_) {
            busy = 0;
            continue;
        }
        for (std::uint64_t left = busy; left != 0; left &= left - 1) {
            if (inputs_[w * 64 + lowest_bit(left)].free_at <= now) busy &= ~(left & -left);
        }
    }
    if (next_arrival_ > now) return;
    next_arrival_ = kNever;
    for_each(expected_, [&](std::uint32_t input) {
        if (arrives_[input] <= now) inputs_[input].link->fetch_head();
    });
    for (std::uint32_t w = 0; w < expected_.words(); ++w) {
        for (std::uint64_t inputs = expected_.word(w); inputs != 0; inputs &= inputs - 1) {
            const std::uint32_t input = w * 64 + lowest_bit(inputs);
            if (arrives_[input] <= now)
                look_at_head(input, now);
            else
                next_arrival_ = std::min(next_arrival_, arrives_[input]);
        }
    }
}

/// Sinks accept whole packets; a further stage has a flit buffer.
inline bool Crossbar::has_room(std::uint32_t input, std::uint32_t output, Cycle now) {
    const auto flits = [&] { return virtual_output_queues_ ? nodes_[queue(input, output).head].flits : inputs_[input].link->front_cost(); };
    return outputs_[output].link->can_send(now, leaves_network_ ? 1 : flits());
}

/// The input whose packet this output would accept now; kNobody if there is none.
inline std::uint32_t Crossbar::choose(std::uint32_t o, Cycle now) {
    const Output& output = outputs_[o];
    if (output.free_at > now) return kNobody;
    if (leaves_network_ && output.link->sender_waits() && output.link->next_credit() > now) return kNobody;
    const std::uint32_t input = first_allowed_from(requests_[o], busy_inputs_.data(), requests_.words(), output.grant_pointer);
    return input != kNobody && has_room(input, o, now) ? input : kNobody;
}

/// Sends the packet that has waited longest at this input for this output.
void Crossbar::transfer(std::uint32_t input, std::uint32_t output, Cycle now) {
    if (!virtual_output_queues_) {
        Link<Packet>& link = *inputs_[input].link;
        const std::uint32_t flits = link.front_cost();
        wait_cycles_ += now - link.head_arrival();
        note_wait(link.front(), contention_, link.head_arrival(), now);
        answered(input, output);
        inputs_[input].head_output = kNone;
        leave(input, output, link.front(), flits, now);
        link.pop_and_release(now + flits - 1);
        return look_at_head(input, now);
    }
    Queue& q = queue(input, output);
    const std::uint32_t index = q.head;
    Node& node = nodes_[index];
    q.head = node.next;
    if (q.head == kNone) answered(input, output);
    wait_cycles_ += now - node.arrived;
    note_wait(node.packet, contention_, node.arrived, now);
    leave(input, output, node.packet, node.flits, now);
    inputs_[input].link->release(now + node.flits - 1, node.flits);
    node.next = free_node_;
    free_node_ = index;
}

inline void Crossbar::leave(std::uint32_t input, std::uint32_t output, const Packet& packet, std::uint32_t flits, Cycle now) {
    Output& out = outputs_[output];
    if (leaves_network_)
        out.link->send(now + flits - 1, packet);
    else
        out.link->send(now, packet, flits);
    Input& in = inputs_[input];
    in.free_at = out.free_at = now + flits;
    out.flits += flits;
    all_free_at_ = std::max(all_free_at_, now + flits);
    busy_inputs_.set(input);

    ++packets_out_[static_cast<std::size_t>(packet.kind)];
    if (flits > 1) ++data_packets_;
    if (observed_) tell(input, output, packet, flits, now);
}

/// Returns true if something moved.
bool Crossbar::match_round_robin(Cycle now) {
    // Every free output picks the next requesting input after the one it served last. The output that picks first rotates, so that none is
    // favoured when two want the same input.
    const std::uint32_t start = first_output_;
    bool moved = false;
    for (const bool before_start : {false, true}) {
        for (std::uint32_t w = 0; w < active_outputs_.words(); ++w) {
            const std::uint64_t below = start <= w * 64 ? 0 : low_bits(std::min(start - w * 64, 64u));
            for (std::uint64_t outputs = active_outputs_.word(w) & (before_start ? below : ~below); outputs != 0; outputs &= outputs - 1) {
                const std::uint32_t output = w * 64 + lowest_bit(outputs);
                const std::uint32_t input = choose(output, now);
                if (input == kNobody) continue;
                transfer(input, output, now);
                moved = true;
                outputs_[output].grant_pointer = input + 1 == inputs_.size() ? 0 : input + 1;
                first_output_ = output + 1 == output_count_ ? 0 : output + 1;
            }
        }
    }
    return moved;
}

bool Crossbar::match_islip(Cycle now) {
    const std::uint32_t m = output_count_;
    bool moved = false;
    for (std::uint32_t iteration = 0; iteration < islip_iterations_; ++iteration) {
        // Grant: every free output offers itself to one input.
        bool any = false;
        for (std::uint32_t w = 0; w < active_outputs_.words(); ++w) {
            for (std::uint64_t outputs = active_outputs_.word(w); outputs != 0; outputs &= outputs - 1) {
                const std::uint32_t o = w * 64 + lowest_bit(outputs);
                const std::uint32_t chosen = choose(o, now);
                if (chosen == kNobody) continue;
                // Accept: the input keeps the offer closest after its pointer.
                Input& input = inputs_[chosen];
                const auto distance = [&](std::uint32_t output) {
                    const std::uint32_t pointer = input.accept_pointer;
                    return output >= pointer ? output - pointer : output + m - pointer;
                };
                if (!offered_.test(chosen) || distance(o) < distance(input.granted)) input.granted = static_cast<std::uint16_t>(o);
                offered_.set(chosen);
                any = true;
            }
        }
        if (!any) break;
        fetch_offered();
        accept_offers(iteration == 0, now);
        moved = true;
    }
    return moved;
}

/// The packets that will leave, and the slots of links that this changes.
void Crossbar::fetch_offered() {
    for_each(offered_, [&](std::uint32_t i) {
        const std::uint32_t o = inputs_[i].granted;
        if (virtual_output_queues_) prefetch(&nodes_[queue(i, o).head]);
        inputs_[i].link->fetch_credit();
        outputs_[o].link->fetch_free();
    });
}

void Crossbar::accept_offers(bool first_round, Cycle now) {
    for (std::uint32_t w = 0; w < offered_.words(); ++w) {
        for (std::uint64_t inputs = offered_.word(w); inputs != 0; inputs &= inputs - 1) {
            const std::uint32_t i = w * 64 + lowest_bit(inputs);
            const std::uint32_t o = inputs_[i].granted;
            transfer(i, o, now);
            if (!first_round) continue;  // pointers advance only on first-round matches, which desynchronises them
            outputs_[o].grant_pointer = i + 1 == inputs_.size() ? 0 : i + 1;
            inputs_[i].accept_pointer = static_cast<std::uint16_t>(o + 1 == output_count_ ? 0 : o + 1);
        }
        offered_.word(w) = 0;
    }
}

Cycle Crossbar::step(Cycle now) {
    // 1. Packets that have reached an input become visible to the arbiter.
    accept_arrivals(now);
    if (!active_outputs_.any()) return next_arrival_;
    // 2. Inputs and outputs are matched and packets leave.
    const bool moved = islip_ ? match_islip(now) : match_round_robin(now);
    // 3. Next step. After a move usually the next cycle: trying in vain is cheaper than finding out.
    if (!active_outputs_.any()) return next_arrival_;
    return moved ? now + 1 : next_time(now);
}

Cycle Crossbar::next_time(Cycle now) const {
    Cycle next = next_arrival_;
    for_each(active_outputs_, [&](std::uint32_t output) { next = std::min(next, next_time_of(output, now)); });
    return next;
}

/// An output without credits waits for them; others wait for a free input. If credits are counted in flits, too few for one packet may
/// suffice for that of another input.
Cycle Crossbar::next_time_of(std::uint32_t o, Cycle now) const {
    const Output& output = outputs_[o];
    const bool waits = output.link->sender_waits();
    Cycle at = kNever;
    if (waits)
        at = output.link->next_credit();
    else if (first_allowed_from(requests_[o], busy_inputs_.data(), requests_.words(), 0) != kNobody)
        at = now;
    if (at > now && !(waits && leaves_network_)) {
        for (std::uint32_t w = 0; w < requests_.words(); ++w) {
            for (std::uint64_t busy = requests_[o][w] & busy_inputs_.word(w); busy != 0; busy &= busy - 1) {
                at = std::min(at, inputs_[w * 64 + lowest_bit(busy)].free_at);
            }
        }
    }
    return std::max({at, output.free_at, now + 1});
}

std::uint64_t Crossbar::packets_in() const {
    std::uint64_t sum = 0;
    for (const Input& input : inputs_) sum += input.link->received();
    return sum;
}

std::uint64_t Crossbar::flits_out() const {
    std::uint64_t sum = 0;
    for (const Output& output : outputs_) sum += output.flits;
    return sum;
}

void Crossbar::stats(StatFields& f, Cycle) const {
    const auto of_kind = [&](PacketKind kind) { return packets_out_[static_cast<std::size_t>(kind)]; };
    f.group(group_);
    if (stage_.first()) f.add("packets_in", packets_in(), "packets", "packets that reached a crossbar input");
    if (stage_.last()) {
        f.add("packets", packets_out(), "packets", "packets that crossed");
        f.add("flits", flits_out(), "flits", "flits that crossed");
        f.add("read_packets", of_kind(PacketKind::read) + of_kind(PacketKind::read_reply), "packets",
              "read requests or read replies among the packets");
        f.add("multi_flit_packets", data_packets_, "packets", "packets longer than one flit");
    }
    f.add("wait", wait_cycles_, "network cycles", "cycles between arrival at the input and leaving it, summed over packets");
    for (const auto& observer : observers_) observer->stats(f);
    if (stage_.last()) return;
    f.group(stage_group_);
    f.add("packets", packets_out(), "packets", "packets that crossed this stage to the next");
    f.add("flits", flits_out(), "flits", "flits that crossed this stage to the next");
}

std::uint64_t Crossbar::held() const {
    std::uint64_t sum = packets_in() - packets_out();
    if (leaves_network_) return sum;
    for (const Output& output : outputs_) sum += output.link->in_flight();
    return sum;
}

void Crossbar::stages(Stages& out) {
    out.group(group_);
    out.add(contention_, "contention", "waiting for an output port, or behind other packets at the input port");
}

void Crossbar::gauges(StatFields& f) const {
    f.group(group_);
    f.add("held", held(), "packets", "packets inside the network");
}

void Crossbar::explain(std::vector<Wait>& waits) const {
    for (std::uint32_t o = 0; o < outputs_.size(); ++o) {
        const Link<Packet>& link = *outputs_[o].link;
        if (active_outputs_.test(o) && link.sender_waits()) waits.push_back({this, link.receiver(), link.describe_wait(), true});
    }
}

}  // namespace mergelane
