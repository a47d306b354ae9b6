// SPDX-License-Identifier: MIT
#include "noc/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/bits.hpp"
#include "noc/router_unit.hpp"

namespace mergelane {

namespace {

constexpr std::array<std::uint8_t, Mesh::kPorts> kOpposite = {Mesh::local, Mesh::west, Mesh::east, Mesh::south, Mesh::north};

}  // namespace

Mesh::Mesh(std::string name, const MeshSpec& spec, std::uint32_t width, std::uint32_t height, std::uint32_t classes)
    : Component(std::move(name)),
      width_(width),
      height_(height),
      channels_(spec.virtual_channels),
      buffer_flits_(spec.buffer_flits),
      buffer_shift_(index_bits(spec.buffer_flits)),
      classes_(classes),
      request_channels_(classes == 1 ? spec.virtual_channels : spec.virtual_channels / 2),
      column_first_(spec.routing == MeshSpec::Routing::yx),
      to_next_(spec.link_latency + spec.router_latency - 1),
      to_sink_(1 + spec.link_latency),
      credit_back_(spec.credit_latency - 1),
      entry_(spec.router_latency - 2),
      hop_(spec.hop_cycles()) {
    build_routers();
}

Mesh::~Mesh() = default;

void Mesh::build_routers() {
    const std::uint32_t count = routers();
    routers_.resize(count);
    inputs_.resize(std::size_t{count} * kStride);
    outputs_.resize(std::size_t{count} * kStride);
    flits_.resize(inputs_.size() << buffer_shift_);
    ahead_.assign(std::size_t{count} * kPorts, kNone);
    sinks_.resize(count);
    source_at_.assign(count, kNone);
    switching_ = allocating_ = full_sinks_ = BitSet(count);
    const auto channel_of = [](std::uint32_t router, std::uint32_t port) { return router * kStride + port * kChannels; };
    for (std::uint32_t r = 0; r < count; ++r) {
        Router& at = routers_[r];
        at.x = static_cast<Small>(r % width_);
        at.y = static_cast<Small>(r / width_);
        at.free.fill(static_cast<Small>(low_bits(channels_)));
        at.open = at.free;
        const auto connect_to = [&](bool exists, std::uint32_t port, std::uint32_t neighbour) {
            if (!exists) return;
            ahead_[r * kPorts + port] = channel_of(neighbour, kOpposite[port]);
            for (std::uint32_t c = 0; c < kChannels; ++c)
                inputs_[channel_of(neighbour, kOpposite[port]) + c].back = channel_of(r, port) + c;
        };
        connect_to(at.x + 1u < width_, east, r + 1);
        connect_to(at.x > 0, west, r - 1);
        connect_to(at.y > 0, north, r - width_);
        connect_to(at.y + 1u < height_, south, r + width_);
        for (std::uint32_t i = 0; i < kPorts * kChannels; ++i)
            outputs_[r * kStride + i].credits = i < kChannels ? 1 : static_cast<std::uint16_t>(buffer_flits_);
    }
    // A link carries one flit per cycle in each direction.
    const std::size_t wires = std::size_t{count} * kPorts;
    arriving_.reserve(wires * (to_next_ + 1));
    credits_.reserve(wires * (credit_back_ + 1));
    entering_.reserve(std::size_t{count} * (entry_ + 2));
    leaving_.reserve(std::size_t{count} * (to_sink_ + 1));
    // A packet has at least one flit, in a buffer or on a link, or waits at its source.
    travellers_.reserve(wires * channels_ * buffer_flits_ + wires * to_next_ + 2 * count);
}

void Mesh::connect(const std::string& statistics, const std::vector<Link<Packet>*>& sources,
                   const std::vector<std::uint16_t>& source_routers, const std::vector<Link<Packet>*>& sinks,
                   const std::vector<std::uint16_t>& sink_routers) {
    const auto number = static_cast<std::uint8_t>(networks_.size());
    if (number == classes_) throw std::logic_error(fmt::format("{}: more networks than classes of channels", name()));
    Network& network = networks_.emplace_back();
    network.statistics = statistics;
    network.router_statistics = statistics + ".routers";
    const auto all = static_cast<Small>(low_bits(channels_));
    const auto first = static_cast<Small>(low_bits(request_channels_));
    network.channels = number == 0 ? first : static_cast<Small>(all ^ first);
    for (std::size_t o = 0; o < sinks.size(); ++o) {
        const std::uint16_t router = sink_routers.at(o);
        if (sinks_[router].link != nullptr) throw std::logic_error(fmt::format("{}: router {} has two sinks", name(), router));
        sinks_[router].link = sinks[o];
        network.destinations.push_back(router);
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::uint16_t router = source_routers.at(i);
        if (source_at_[router] != kNone) throw std::logic_error(fmt::format("{}: router {} has two sources", name(), router));
        const auto index = static_cast<std::uint32_t>(sources_.size());
        source_at_[router] = index;
        for (std::uint32_t c = 0; c < kChannels; ++c) inputs_[router * kStride + c].back = kAtSource | (index * kChannels + c);
        Source& source = sources_.emplace_back();
        source.link = sources[i];
        source.router = router;
        source.network = number;
        source.with_credit = network.channels;
        source.credits.fill(static_cast<Small>(buffer_flits_));
        source.link->number_input(index);
        network.sources.push_back(index);
    }
    link_arrives_.assign(sources_.size(), kNever);
    expected_ = entering_now_ = BitSet(static_cast<std::uint32_t>(sources_.size()));
}

// --- stage by stage

/// Switch allocation: every input nominates one channel; every output grants one input.
inline void Mesh::allocate_switch(std::uint32_t router, Cycle now) {
    Router& at = routers_[router];
    const InputChannel* const channels = &inputs_[router * kStride];
    std::array<std::uint32_t, kInputs> offered;
    std::uint64_t asked = 0;  // a byte per output: inputs that request it
    for (std::uint64_t ready = has_units_ ? may_switch(router) : at.ready; ready != 0;) {
        const std::uint32_t input = lowest_bit(ready) / kChannels;
        const std::uint32_t shift = input * kChannels;
        const std::uint64_t mine = ready & std::uint64_t{0xFF} << shift;
        ready ^= mine;
        offered[input] = (mine & (mine - 1)) == 0 ? lowest_bit(mine) : shift + in_turn(mine >> shift, at.input_turn[input]);
        asked |= bit(channels[offered[input]].output * 8u + input);
    }
    while (asked != 0) {
        const std::uint32_t output = lowest_bit(asked) / 8;
        const std::uint64_t mine = asked & std::uint64_t{0xFF} << output * 8;
        asked ^= mine;
        const std::uint32_t input =
            (mine & (mine - 1)) == 0 ? lowest_bit(mine) - output * 8 : in_turn(mine >> output * 8, at.output_turn[output]);
        at.input_turn[input] = static_cast<Small>((offered[input] + 1) % kChannels);
        at.output_turn[output] = static_cast<Small>(input + 1 == kInputs ? 0 : input + 1);
        traverse(router, offered[input], now);
    }
    if (at.ready == 0) switching_.clear(router);
}

/// Switch traversal of the first flit of an input channel.
inline void Mesh::traverse(std::uint32_t router, std::uint32_t input, Cycle now) {
    InputChannel& in = inputs_[router * kStride + input];
    const std::uint32_t flit = front(router * kStride + input);
    ++in.first;
    bool goes_on = --in.count != 0;
    if (has_units_) note_switched(router, input, flit);
    if (in.back != kNone) credits_.push(now + credit_back_, in.back, 0);
    if (in.next != kNone) {
        arriving_.push(now + to_next_, in.next, flit);
        if (--outputs_[in.to].credits == 0) {
            goes_on = false;
            routers_[router].open[in.output] &= static_cast<Small>(~(1u << in.channel));
        }
    } else if ((flit & kTail) != 0) {
        leaving_.push(now + to_sink_, router, flit);
    }
    if ((flit & kTail) != 0) {
        goes_on = false;
        free_channel(router, in);
        if (in.count != 0) want_channel(router, input);
    }
    if (!goes_on) routers_[router].ready &= ~bit(input);
}

/// The tail of its packet has passed the switch.
inline void Mesh::free_channel(std::uint32_t router, InputChannel& in) {
    Router& at = routers_[router];
    at.free[in.output] |= static_cast<Small>(1u << in.channel);
    const std::uint32_t wanted = in.output * kClasses + class_of(in.channel);
    if (at.wanting[wanted] != 0) set_allocating(router, wanted);
    in.channel = kNoChannel;
}

/// Packets whose tail has reached their sink.
inline void Mesh::deliver(Cycle now) {
    while (leaving_.next() <= now) {
        const Event event = leaving_.pop();
        const std::uint32_t index = event.flit >> kFlagBits;
        if (has_units_) {
            separate(event.where, index, now);
            continue;
        }
        const Traveller& traveller = travellers_[index];
        networks_[traveller.network].switch_flits += std::uint64_t{traveller.flits} * traveller.hops;
        hand_over(event.where, index, traveller.flits, now);
    }
}

/// A packet leaves, after so many flits of its own.
void Mesh::hand_over(std::uint32_t router, std::uint32_t index, std::uint32_t flits, Cycle now) {
    Traveller& traveller = travellers_[index];
    Sink& sink = sinks_[router];
    Network& network = networks_[traveller.network];
    const Cycle latency = now - traveller.entered;
    const Cycle waited = latency - (traveller.hops * hop_ + traveller.flits - 1);
    if (Journey* const journey = journey_of(traveller.packet); journey != nullptr) [[unlikely]] {
        const Cycle unloaded = now - waited;
        const Cycle delayed = has_units_ ? std::min<Cycle>(rides_[index].delayed, waited) : 0;
        journey->wait(network.traversal, traveller.entered, unloaded);
        if (delayed != 0) journey->wait(network.delayed, unloaded, unloaded + delayed);
        if (delayed != waited) journey->wait(network.contention, unloaded + delayed, now);
    }
    sink.link->send(now, traveller.packet);
    --sink.promised;
    for (const auto& observer : network.observers) observer->left(traveller.packet.destination, traveller.packet, flits, now);
    ++network.packets[static_cast<std::size_t>(traveller.packet.kind)];
    ++network.packets_out;
    network.flits += flits;
    if (traveller.flits > 1) ++network.data_packets;
    network.latency += latency;
    network.wait += waited;
    traveller.next_free = free_traveller_;
    free_traveller_ = index;
}

inline void Mesh::return_credits(Cycle now) {
    while (credits_.next() <= now) {
        const std::uint32_t where = credits_.pop().where;
        if ((where & kAtSource) != 0) {
            const std::uint32_t number = (where & ~kAtSource) / kChannels;
            Source& source = sources_[number];
            ++source.credits[where % kChannels];
            source.with_credit |= static_cast<Small>(1u << where % kChannels);
            if (source.traveller != kNone ? source.channel == where % kChannels : source.link->has(now)) entering_now_.set(number);
            continue;
        }
        OutputChannel& out = outputs_[where];
        if (out.credits++ != 0 && !has_units_) continue;  // a unit may wait for more of them
        const std::uint32_t router = where / kStride;
        const std::uint32_t output = where % kStride / kChannels;
        routers_[router].open[output] |= static_cast<Small>(1u << where % kChannels);
        if ((routers_[router].free[output] >> where % kChannels & 1) != 0) continue;
        if (inputs_[router * kStride + out.owner].count != 0) set_ready(router, out.owner);
    }
}

/// Flits that have completed buffer write and route computation.
inline void Mesh::take_flits(Events& events, Cycle now) {
    while (events.next() <= now) {
        const Event event = events.pop();
        if (has_units_ && unit_takes(event, now)) continue;
        InputChannel& in = inputs_[event.where];
        flits_[place(event.where, in.first + in.count)] = event.flit;
        if (in.count++ != 0) continue;
        const std::uint32_t router = event.where / kStride;
        const std::uint32_t input = event.where % kStride;
        if ((event.flit & kHead) != 0)
            want_channel(router, input);
        else if (outputs_[in.to].credits != 0)
            set_ready(router, input);
    }
}

inline std::uint32_t Mesh::route(const Router& at, const Traveller& traveller) const {
    const std::uint32_t along_row = traveller.x > at.x ? east : traveller.x < at.x ? west : local;
    const std::uint32_t along_column = traveller.y > at.y ? south : traveller.y < at.y ? north : local;
    if (column_first_) return along_column != local ? along_column : along_row;
    return along_row != local ? along_row : along_column;
}

void Mesh::want_channel(std::uint32_t router, std::uint32_t input) {
    Router& at = routers_[router];
    const std::uint32_t channel = router * kStride + input;
    const std::uint32_t output = route(at, travellers_[front(channel) >> kFlagBits]);
    inputs_[channel].output = output;
    const std::uint32_t cls = class_of(input % kChannels);
    at.wanting[output * kClasses + cls] |= bit(input);
    if ((at.free[output] & networks_[cls].channels) != 0) set_allocating(router, output * kClasses + cls);
}

// --- sources

void Mesh::expect(std::uint32_t input, Cycle at) {
    if (sources_[input].traveller != kNone) return;  // its link is looked at when that packet is in
    if (!expected_.test(input) || at < link_arrives_[input]) link_arrives_[input] = at;
    expected_.set(input);
    next_link_arrival_ = std::min(next_link_arrival_, at);
    wake(at);
}

/// What a source does next, after a packet of it is in.
void Mesh::look_at_link(std::uint32_t number, Cycle now) {
    const Cycle arrival = sources_[number].link->head_arrival();
    if (arrival <= now + 1) return;  // stays in entering_now_
    entering_now_.clear(number);
    if (arrival == kNever) return;
    expected_.set(number);
    link_arrives_[number] = arrival;
    next_link_arrival_ = std::min(next_link_arrival_, arrival);
}

std::uint32_t Mesh::enter(const Packet& packet, std::uint32_t flits, const Source& source, Cycle arrived) {
    std::uint32_t index = free_traveller_;
    if (index == kNone) {
        index = static_cast<std::uint32_t>(travellers_.size());
        travellers_.emplace_back();
    } else {
        free_traveller_ = travellers_[index].next_free;
    }
    Traveller& traveller = travellers_[index];
    Network& network = networks_[source.network];
    const std::uint16_t router = network.destinations[packet.destination];
    const Router& from = routers_[source.router];
    const Router& to = routers_[router];
    const auto distance = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
    const auto hops = static_cast<std::uint16_t>(1 + distance(from.x, to.x) + distance(from.y, to.y));
    traveller = {packet, arrived, flits, kNone, router, to.x, to.y, source.network, hops};
    ++network.packets_in;
    network.shortest_hops += hops;
    if (has_units_) begin_ride(index);
    return index;
}

/// Accepts the packet at the head of the link if a channel has a credit for its head.
inline bool Mesh::begin_packet(Source& source, Cycle now) {
    const std::uint32_t channels = source.with_credit;
    if (channels == 0 || !source.link->has(now)) return false;
    source.channel = static_cast<Small>(in_turn(channels, source.turn));
    source.turn = static_cast<Small>((source.channel + 1u) % kChannels);
    source.left = source.link->front_cost();
    const Cycle arrived = source.link->head_arrival();
    source.traveller = enter(source.link->front(), source.left, source, arrived);
    const Network& network = networks_[source.network];
    for (const auto& observer : network.observers) {
        const auto number = static_cast<std::uint32_t>(&source - sources_.data()) - network.sources.front();
        observer->entered(number, source.link->front(), source.left, now);
    }
    source.link->pop();
    return true;
}

/// Writes one flit of the packet into the buffer of its router.
inline void Mesh::send_flit(Source& source, Cycle now) {
    const Traveller& traveller = travellers_[source.traveller];
    const std::uint32_t flags = (source.left == traveller.flits ? kHead : 0) | (source.left == 1 ? kTail : 0);
    entering_.push(now + entry_, source.router * kStride + source.channel, source.traveller << kFlagBits | flags);
    if (--source.credits[source.channel] == 0) source.with_credit &= static_cast<Small>(~(1u << source.channel));
    if (--source.left != 0) return;
    source.link->release(now, traveller.flits);
    source.traveller = kNone;
}

inline void Mesh::inject(Cycle now) {
    if (next_link_arrival_ <= now) {
        next_link_arrival_ = kNever;
        for_each(expected_, [&](std::uint32_t number) {
            if (link_arrives_[number] > now) {
                next_link_arrival_ = std::min(next_link_arrival_, link_arrives_[number]);
                return;
            }
            expected_.clear(number);
            if (sources_[number].traveller == kNone) entering_now_.set(number);  // else the link is looked at when that packet is in
        });
    }
    for_each(entering_now_, [&](std::uint32_t number) {
        Source& source = sources_[number];
        if (source.traveller == kNone && !begin_packet(source, now)) return entering_now_.clear(number);
        send_flit(source, now);
        if (source.traveller == kNone)
            look_at_link(number, now);
        else if (source.credits[source.channel] == 0)
            entering_now_.clear(number);
    });
}

// --- virtual channels of the outputs

inline bool Mesh::sink_has_room(std::uint32_t router, Cycle now) {
    Sink& sink = sinks_[router];
    return sink.waiting == kNone && sink.link->can_send(now, sink.promised + 1);
}

/// Sinks that had no credits for a waiting head.
inline void Mesh::look_at_sinks(Cycle now) {
    for_each(full_sinks_, [&](std::uint32_t router) {
        if (!sink_has_room(router, now)) return;
        full_sinks_.clear(router);
        const Router& at = routers_[router];
        for (std::uint32_t cls = 0; cls < classes_; ++cls) {
            if (at.wanting[local * kClasses + cls] != 0 && (at.free[local] & networks_[cls].channels) != 0)
                set_allocating(router, local * kClasses + cls);
        }
    });
}

inline void Mesh::grant(std::uint32_t router, std::uint32_t input, std::uint32_t wanted, std::uint32_t channel) {
    Router& at = routers_[router];
    const std::uint32_t output = wanted / kClasses;
    InputChannel& in = inputs_[router * kStride + input];
    in.channel = channel;
    in.to = router * kStride + output * kChannels + channel;
    in.next = output == local ? kNone : ahead_[router * kPorts + output] + channel;
    in.turn = (channel + 1) % kChannels;
    OutputChannel& out = outputs_[in.to];
    ++networks_[wanted % kClasses].hops;
    out.owner = static_cast<Small>(input);
    out.turn = static_cast<Small>(input + 1);
    at.free[output] &= static_cast<Small>(~(1u << channel));
    at.wanting[wanted] &= ~bit(input);
    if (output == local) ++sinks_[router].promised;
    if (out.credits != 0) set_ready(router, input);
}

/// A free channel that has a credit, or else any that is free.
inline std::uint32_t Mesh::channel_for(const Router& at, std::uint32_t output, std::uint32_t free, std::uint32_t turn) const {
    const std::uint32_t open = free & at.open[output];
    return in_turn(open != 0 ? open : free, turn);
}

/// VC allocation: every head requests one free channel; every channel grants one request.
inline void Mesh::allocate_output(std::uint32_t router, std::uint32_t wanted, Cycle now) {
    Router& at = routers_[router];
    const std::uint32_t output = wanted / kClasses;
    const std::uint32_t base = router * kStride;
    const std::uint32_t free = at.free[output] & networks_[wanted % kClasses].channels;
    const auto allowed = [&] {
        if (output != local || sink_has_room(router, now)) return true;
        full_sinks_.set(router);
        return false;
    };
    std::uint64_t heads = at.wanting[wanted];
    bool room = true;
    if ((heads & (heads - 1)) == 0) {
        const std::uint32_t input = lowest_bit(heads);
        if ((room = allowed())) grant(router, input, wanted, channel_for(at, output, free, inputs_[base + input].turn));
    } else {
        std::array<std::uint64_t, kChannels> asked{};
        std::uint32_t channels = 0;
        for (; heads != 0; heads &= heads - 1) {
            const std::uint32_t input = lowest_bit(heads);
            const std::uint32_t channel = channel_for(at, output, free, inputs_[base + input].turn);
            asked[channel] |= bit(input);
            channels |= 1u << channel;
        }
        for (; channels != 0 && (room = allowed()); channels &= channels - 1) {
            const std::uint32_t channel = lowest_bit(channels);
            grant(router, in_turn(asked[channel], outputs_[base + output * kChannels + channel].turn), wanted, channel);
        }
    }
    if (!room || at.wanting[wanted] == 0 || (at.free[output] & networks_[wanted % kClasses].channels) == 0) at.allocate &= ~(1u << wanted);
}

inline void Mesh::allocate_channels(std::uint32_t router, Cycle now) {
    for (std::uint32_t left = routers_[router].allocate; left != 0; left &= left - 1) allocate_output(router, lowest_bit(left), now);
    if (routers_[router].allocate == 0) allocating_.clear(router);
}

Cycle Mesh::step(Cycle now) {
    // 1. Switch allocation and link traversal; tails that have left their link are at their sinks.
    for_each(switching_, [&](std::uint32_t router) { allocate_switch(router, now); });
    deliver(now);
    // 2. Every source writes one flit into the buffer of its router.
    inject(now);
    // 3. Credits return, and flits whose route is computed become visible.
    return_credits(now);
    take_flits(arriving_, now);
    take_flits(entering_, now);
    if (has_units_) step_units(now);
    // 4. VC allocation.
    look_at_sinks(now);
    for_each(allocating_, [&](std::uint32_t router) { allocate_channels(router, now); });
    return next_time(now);
}

Cycle Mesh::next_time(Cycle now) const {
    if (switching_.any() || allocating_.any() || entering_now_.any()) return now + 1;
    Cycle next = has_units_ ? std::min(next_link_arrival_, next_of_units(now)) : next_link_arrival_;
    for (const Events* events : {&arriving_, &entering_, &credits_, &leaving_}) next = std::min(next, events->next());
    for_each(full_sinks_, [&](std::uint32_t router) { next = std::min(next, sinks_[router].link->next_credit()); });
    return std::max(next, now + 1);
}

}  // namespace mergelane
