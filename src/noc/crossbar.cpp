// SPDX-License-Identifier: MIT
#include "noc/crossbar.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mergelane {

Crossbar::Crossbar(std::string name, const NetworkSpec& spec, CrossbarStage stage)
    : Component(std::move(name)),
      group_(spec.name),
      stage_group_(fmt::format("{}.stage{}", spec.name, stage.number)),
      stage_(stage),
      leaves_network_(stage.last()),
      virtual_output_queues_(spec.queueing == "voq"),
      islip_(spec.arbiter == "islip"),
      islip_iterations_(spec.islip_iterations),
      input_buffer_flits_(spec.input_buffer_flits) {}

void Crossbar::connect(std::vector<Link<Packet>*> inputs, std::vector<Link<Packet>*> outputs, Routes routes) {
    inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
    routes_ = std::move(routes);
    const auto n = static_cast<std::uint32_t>(inputs_.size());
    const auto m = static_cast<std::uint32_t>(outputs_.size());
    fifo_destination_.assign(n, kNone);
    expected_ = BitSet(n);
    inputs_cut_ = std::all_of(inputs_.begin(), inputs_.end(), [](const Link<Packet>* link) { return link->cut(); });
    requests_.assign(m, BitSet(n));
    active_outputs_ = BitSet(m);
    free_inputs_ = BitSet(n);
    for (std::uint32_t i = 0; i < n; ++i) free_inputs_.set(i);
    input_free_at_.assign(n, 0);
    output_free_at_.assign(m, 0);
    grant_pointer_.assign(m, 0);
    accept_pointer_.assign(n, 0);
    granted_.assign(n, kNone);
    if (!virtual_output_queues_) return;
    queues_.assign(std::size_t{n} * m, {});
    // A packet has at least one flit, so the input buffers bound the number of packets.
    nodes_.resize(std::size_t{n} * input_buffer_flits_);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) nodes_[i].next = i + 1 < nodes_.size() ? i + 1 : kNone;
    free_node_ = 0;
}

void Crossbar::enqueue(std::uint32_t input) {
    Link<Packet>& link = *inputs_[input];
    const std::uint32_t index = free_node_;
    Node& node = nodes_[index];
    free_node_ = node.next;
    node.arrived = link.head_arrival();
    node.flits = link.front_cost();
    node.next = kNone;
    node.packet = link.pop();
    const std::uint32_t output = routes_[node.packet.destination];
    Queue& q = queue(input, output);
    (q.head == kNone ? q.head : nodes_[q.tail].next) = index;
    q.tail = index;
    requests_[output].set(input);
    active_outputs_.set(output);
    ++packets_in_;
    ++held_;
}

/// Makes what has arrived at an input visible to the arbiter: everything with virtual output queues, the head otherwise.
void Crossbar::look_at_head(std::uint32_t input, Cycle now) {
    const Link<Packet>& link = *inputs_[input];
    Cycle arrival = link.head_arrival();
    expected_.clear(input);
    if (virtual_output_queues_) {
        for (; arrival <= now; arrival = link.head_arrival()) enqueue(input);
    } else if (arrival <= now) {
        const std::uint32_t output = routes_[link.front().destination];
        fifo_destination_[input] = output;
        requests_[output].set(input);
        active_outputs_.set(output);
        return;
    }
    if (arrival == kNever) return;
    expected_.set(input);
    next_arrival_ = std::min(next_arrival_, arrival);
}

void Crossbar::accept_arrivals(Cycle now) {
    const auto n = static_cast<std::uint32_t>(inputs_.size());
    for (std::uint32_t w = 0; w < free_inputs_.words(); ++w) {
        for (std::uint64_t busy = ~free_inputs_.word(w) & low_bits(std::min(n - w * 64, 64u)); busy != 0; busy &= busy - 1) {
            const std::uint32_t i = w * 64 + lowest_bit(busy);
            if (input_free_at_[i] <= now) free_inputs_.set(i);
        }
    }
    // Within a window no input can surprise us: all are looked at once, afterwards those with something on its way.
    const bool all = !inputs_cut_ || now >= looked_until_;
    if (!all && next_arrival_ > now) return;
    next_arrival_ = kNever;
    if (all) {
        looked_until_ = domain().window_end();
        for (std::uint32_t i = 0; i < n; ++i) {
            if (virtual_output_queues_ || fifo_destination_[i] == kNone) look_at_head(i, now);
        }
        return;
    }
    for (std::uint32_t w = 0; w < expected_.words(); ++w) {
        for (std::uint64_t inputs = expected_.word(w); inputs != 0; inputs &= inputs - 1) look_at_head(w * 64 + lowest_bit(inputs), now);
    }
}

inline std::uint32_t Crossbar::head_flits(std::uint32_t input, std::uint32_t output) const {
    return virtual_output_queues_ ? nodes_[queue(input, output).head].flits : inputs_[input]->front_cost();
}

inline Cycle Crossbar::head_arrival(std::uint32_t input, std::uint32_t output) const {
    return virtual_output_queues_ ? nodes_[queue(input, output).head].arrived : inputs_[input]->head_arrival();
}

/// Sinks take whole packets; a further stage has a buffer for flits.
inline bool Crossbar::has_room(std::uint32_t input, std::uint32_t output, Cycle now) {
    return outputs_[output]->can_send(now, leaves_network_ ? 1 : head_flits(input, output));
}

/// Takes the packet that has waited longest at this input for this output.
inline Packet Crossbar::take(std::uint32_t input, std::uint32_t output) {
    if (!virtual_output_queues_) {
        fifo_destination_[input] = kNone;
        requests_[output].clear(input);
        ++packets_in_;
        return inputs_[input]->pop();
    }
    Queue& q = queue(input, output);
    const std::uint32_t index = q.head;
    Node& node = nodes_[index];
    q.head = node.next;
    node.next = free_node_;
    free_node_ = index;
    if (q.head == kNone) requests_[output].clear(input);
    --held_;
    return node.packet;
}

void Crossbar::transfer(std::uint32_t input, std::uint32_t output, Cycle now) {
    const std::uint32_t flits = head_flits(input, output);
    wait_cycles_ += now - head_arrival(input, output);
    const Packet packet = take(input, output);
    inputs_[input]->release(now + flits - 1, flits);
    if (leaves_network_)
        outputs_[output]->send(now + flits - 1, packet);
    else
        outputs_[output]->send(now, packet, flits);
    input_free_at_[input] = output_free_at_[output] = now + flits;
    free_inputs_.clear(input);
    if (!requests_[output].any()) active_outputs_.clear(output);
    if (!virtual_output_queues_) look_at_head(input, now);

    ++packets_out_;
    flits_out_ += flits;
    if (packet.kind == PacketKind::read || packet.kind == PacketKind::read_reply) ++read_packets_;
    if (flits > 1) ++data_packets_;
}

void Crossbar::match_round_robin(Cycle now) {
    // Every free output takes the next requesting input after the one it served last. Which output chooses first
    // rotates, so that no output is favoured when two want the same input.
    const std::uint32_t start = first_output_;
    for (const bool before_start : {false, true}) {
        for (std::uint32_t w = 0; w < active_outputs_.words(); ++w) {
            const std::uint64_t below = start <= w * 64 ? 0 : low_bits(std::min(start - w * 64, 64u));
            for (std::uint64_t outputs = active_outputs_.word(w) & (before_start ? below : ~below); outputs != 0; outputs &= outputs - 1) {
                const std::uint32_t output = w * 64 + lowest_bit(outputs);
                if (output_free_at_[output] > now) continue;
                const std::uint32_t input = first_common_from(requests_[output], free_inputs_, grant_pointer_[output]);
                if (input == kNobody || !has_room(input, output, now)) continue;
                transfer(input, output, now);
                grant_pointer_[output] = input + 1 == inputs_.size() ? 0 : input + 1;
                first_output_ = output + 1 == outputs_.size() ? 0 : output + 1;
            }
        }
    }
}

void Crossbar::match_islip(Cycle now) {
    const auto m = static_cast<std::uint32_t>(outputs_.size());
    for (std::uint32_t iteration = 0; iteration < islip_iterations_; ++iteration) {
        // Grant: every free output offers itself to one input.
        BitSet offered(static_cast<std::uint32_t>(inputs_.size()));
        for (std::uint32_t w = 0; w < active_outputs_.words(); ++w) {
            for (std::uint64_t outputs = active_outputs_.word(w); outputs != 0; outputs &= outputs - 1) {
                const std::uint32_t o = w * 64 + lowest_bit(outputs);
                if (output_free_at_[o] > now) continue;
                const std::uint32_t input = first_common_from(requests_[o], free_inputs_, grant_pointer_[o]);
                if (input == kNobody || !has_room(input, o, now)) continue;
                // Accept: the input keeps the offer closest after its pointer.
                const std::uint32_t pointer = accept_pointer_[input];
                const auto distance = [&](std::uint32_t output) { return output >= pointer ? output - pointer : output + m - pointer; };
                if (!offered.test(input) || distance(o) < distance(granted_[input])) granted_[input] = o;
                offered.set(input);
            }
        }
        bool any = false;
        for (std::uint32_t w = 0; w < offered.words(); ++w) {
            for (std::uint64_t inputs = offered.word(w); inputs != 0; inputs &= inputs - 1) {
                const std::uint32_t i = w * 64 + lowest_bit(inputs);
                const std::uint32_t o = granted_[i];
                transfer(i, o, now);
                any = true;
                if (iteration != 0) continue;  // pointers move on first-round matches only, which is what desynchronises them
                grant_pointer_[o] = i + 1 == inputs_.size() ? 0 : i + 1;
                accept_pointer_[i] = o + 1 == m ? 0 : o + 1;
            }
        }
        if (!any) return;
    }
}

Cycle Crossbar::step(Cycle now) {
    // 1. Packets that have reached an input become visible to the arbiter.
    accept_arrivals(now);
    // 2. Inputs and outputs are matched and packets leave.
    if (active_outputs_.any()) islip_ ? match_islip(now) : match_round_robin(now);
    // 3. When can the next one?
    return next_time(now);
}

Cycle Crossbar::next_time(Cycle now) const {
    Cycle next = next_arrival_;
    for (std::uint32_t w = 0; w < active_outputs_.words(); ++w) {
        for (std::uint64_t outputs = active_outputs_.word(w); outputs != 0; outputs &= outputs - 1) {
            const std::uint32_t o = w * 64 + lowest_bit(outputs);
            // An output that lacks room waits for it; another waits for an input that is free. Where room is counted in flits, what
            // is too little for one packet may do for that of another input.
            const bool waits = outputs_[o]->sender_waits();
            Cycle at = waits ? outputs_[o]->next_credit() : first_common_from(requests_[o], free_inputs_, 0) != kNobody ? now : kNever;
            if (at > now && !(waits && leaves_network_)) {
                for (std::uint32_t v = 0; v < requests_[o].words(); ++v) {
                    for (std::uint64_t busy = requests_[o].word(v) & ~free_inputs_.word(v); busy != 0; busy &= busy - 1) {
                        at = std::min(at, input_free_at_[v * 64 + lowest_bit(busy)]);
                    }
                }
            }
            at = std::max({at, output_free_at_[o], now + 1});
            next = std::min(next, at);
        }
    }
    return next;
}

void Crossbar::stats(StatFields& f, Cycle) const {
    f.group(group_);
    if (stage_.first()) f.add("packets_in", packets_in_, "packets", "packets that reached a crossbar input");
    if (stage_.last()) {
        f.add("packets", packets_out_, "packets", "packets that crossed");
        f.add("flits", flits_out_, "flits", "flits that crossed");
        f.add("read_packets", read_packets_, "packets", "read requests or read replies among the packets");
        f.add("multi_flit_packets", data_packets_, "packets", "packets longer than one flit");
    }
    f.add("wait", wait_cycles_, "network cycles", "sum over packets of the cycles between arrival at the input and leaving it");
    if (stage_.last()) return;
    f.group(stage_group_);
    f.add("packets", packets_out_, "packets", "packets that crossed this stage to the next");
    f.add("flits", flits_out_, "flits", "flits that crossed this stage to the next");
}

std::uint64_t Crossbar::held() const {
    std::uint64_t sum = held_;
    if (leaves_network_) return sum;
    for (const Link<Packet>* link : outputs_) sum += link->in_flight();
    return sum;
}

void Crossbar::gauges(StatFields& f) const {
    f.group(group_);
    f.add("held", held(), "packets", "packets inside the network");
}

void Crossbar::explain(std::vector<Wait>& waits) const {
    for (std::uint32_t o = 0; o < outputs_.size(); ++o) {
        if (active_outputs_.test(o) && outputs_[o]->sender_waits()) {
            waits.push_back({this, outputs_[o]->receiver(), outputs_[o]->describe_wait(), true});
        }
    }
}

}  // namespace mergelane
