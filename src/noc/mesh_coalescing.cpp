// SPDX-License-Identifier: MIT
#include "noc/mesh_coalescing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

Mesh::Coalescing::Coalescing(const CoalescingSpec& a_spec, const NetworkSpec& network, const DramRows& a_rows, std::uint32_t buffer_flits,
                             std::uint32_t routers)
    : spec(a_spec),
      rows(a_rows),
      flit_bytes(network.flit_bytes),
      header_bytes(network.header_bytes),
      most(std::max(1u, a_spec.merge ? a_spec.requests_that_fit(buffer_flits, network.flit_bytes, network.header_bytes) : 1u)),
      stations(routers),
      holding(routers),
      unpacking(routers) {
    for (Station& station : stations) station.table.reserve(spec.table_entries != 0 ? spec.table_entries : 64);
}

Mesh::~Mesh() = default;

void Mesh::coalesce(const CoalescingSpec& spec, const NetworkSpec& network, const DramRows& rows) {
    coalescing_ = std::make_unique<Coalescing>(spec, network, rows, buffer_flits_, routers());
    credits_.reserve(2 * std::size_t{routers()} * kPorts * (credit_back_ + 1));  // a table and the switch may empty a buffer at once
}

/// A request comes into the mesh.
void Mesh::note_request(std::uint32_t index) {
    Coalescing& c = *coalescing_;
    if (c.requests.size() < travellers_.size()) c.requests.resize(std::max(travellers_.size(), 2 * c.requests.size()));
    const Traveller& traveller = travellers_[index];
    Coalescing::Request request;
    request.flits = traveller.flits;
    c.requests[index] = request;
    if (!is_read(index)) return;
    request.row = c.rows.row_of(traveller.packet.address) << 16 | traveller.router;
    request.hops = traveller.hops;
    request.last = request.least = index;
    c.requests[index] = request;
    ++c.seen;
    c.slack_cycles += c.spec.slack(request.hops);
}

// --- detector and merged table

/// A flit comes into a router. True: the table has it.
bool Mesh::take_for_table(const Event& event, Cycle now) {
    Coalescing& c = *coalescing_;
    const std::uint32_t index = event.flit >> kFlagBits;
    const std::uint32_t router = event.where / kStride;
    Coalescing::Request& request = c.requests[index];
    if ((event.flit & kHead) != 0) {
        if (!is_read(index) || !put_into_table(router, index, now)) {
            note_passing(index);
            return false;
        }
    } else if (request.into == kNone || request.at != router) {  // its head may be further on
        return false;
    }
    credits_.push(now + credit_back_, inputs_[event.where].back, 0);
    if ((event.flit & kTail) == 0) return true;
    for (Coalescing::Entry& entry : c.stations[router].table) {
        if (entry.first == request.into) --entry.coming;
    }
    request.into = kNone;
    return true;
}

/// The head of a packet of requests is there: is it to be held, and with whom?
bool Mesh::put_into_table(std::uint32_t router, std::uint32_t index, Cycle now) {
    Coalescing& c = *coalescing_;
    for (std::uint32_t member = index; member != kNone; member = c.requests[member].next) {
        ++c.requests[member].passed;
        c.requests[member].arrived = now;
    }
    Coalescing::Request& request = c.requests[index];
    const Coalescing::Request& least = c.requests[request.least];
    const std::uint32_t hold = std::min(c.spec.hold(least.hops, least.passed), c.slack_left(least));
    if (hold == 0 || request.flits > buffer_flits_) return false;
    ++c.looked_up;
    Coalescing::Station& station = c.stations[router];
    Coalescing::Entry* found = nullptr;
    for (Coalescing::Entry& entry : station.table) {
        if (entry.row == request.row && entry.count + request.count <= c.most) {
            found = &entry;
            break;
        }
    }
    if (found == nullptr) {
        if (c.spec.table_entries != 0 && station.table.size() == c.spec.table_entries) {
            ++c.table_full;
            return false;
        }
        station.table.push_back({request.row, now + hold, index, request.last, request.count, 1});
        found = &station.table.back();
        c.holding.set(router);
    } else {
        c.requests[found->last].next = index;
        found->last = request.last;
        found->count += request.count;
        found->expires = std::min(found->expires, now + hold);
        ++found->coming;
    }
    request.into = found->first;
    request.at = router;
    ++c.stored;
    station.next = std::min(station.next, found->expires);
    return true;
}

// --- scheduler

/// What has expired goes to the channels behind the table, one entry per cycle and router.
void Mesh::release_held(Cycle now) {
    Coalescing& c = *coalescing_;
    for (std::uint32_t w = 0; w < c.holding.words(); ++w) {
        for (std::uint64_t members = c.holding.word(w); members != 0; members &= members - 1) {
            const std::uint32_t router = w * 64 + lowest_bit(members);
            Coalescing::Station& station = c.stations[router];
            if (station.next <= now && !station.blocked) release_one(router, now);
        }
    }
    for (std::uint32_t w = 0; w < c.unpacking.words(); ++w) {
        for (std::uint64_t members = c.unpacking.word(w); members != 0; members &= members - 1)
            unpack_one(w * 64 + lowest_bit(members), now);
    }
}

void Mesh::release_one(std::uint32_t router, Cycle now) {
    Coalescing& c = *coalescing_;
    Coalescing::Station& station = c.stations[router];
    const auto ready = [&](const Coalescing::Entry& entry) { return entry.expires <= now && entry.coming == 0; };
    const auto oldest = std::find_if(station.table.begin(), station.table.end(), ready);
    if (oldest != station.table.end()) {
        const std::uint32_t flits = oldest->count > 1 ? c.flits_of(oldest->count) : c.requests[oldest->first].flits;
        std::uint32_t channel = kNone;
        for (std::uint32_t left = networks_[0].channels; left != 0; left &= left - 1) {
            const std::uint32_t candidate = router * kStride + kTable * kChannels + lowest_bit(left);
            if (inputs_[candidate].count + flits > buffer_flits_) continue;
            if (channel == kNone || inputs_[candidate].count < inputs_[channel].count) channel = candidate;
        }
        station.blocked = channel == kNone;
        if (station.blocked) return;
        const Coalescing::Entry entry = *oldest;
        station.table.erase(oldest);
        if (station.table.empty()) c.holding.clear(router);
        leave_table(entry.first, entry.last, entry.count, entry.expires);
        InputChannel& in = inputs_[channel];
        for (std::uint32_t n = 0; n < flits; ++n) {
            const std::uint32_t flags = (n == 0 ? kHead : 0) | (n + 1 == flits ? kTail : 0);
            flits_[place(channel, in.first + in.count + n)] = entry.first << kFlagBits | flags;
        }
        in.count += flits;
        if (in.count == flits) want_channel(router, channel % kStride);
    }
    station.next = kNever;
    for (const Coalescing::Entry& entry : station.table) station.next = std::min(station.next, std::max(entry.expires, now + 1));
}

/// The requests of an entry are one packet from now on.
void Mesh::leave_table(std::uint32_t index, std::uint32_t last, std::uint32_t count, Cycle expired) {
    Coalescing& c = *coalescing_;
    Coalescing::Request& first = c.requests[index];
    first.last = last;
    first.count = count;
    if (count > 1) first.flits = c.flits_of(count);
    first.least = index;
    for (std::uint32_t member = index; member != kNone; member = c.requests[member].next) {
        Coalescing::Request& request = c.requests[member];
        if (member != index) request.flits = 0;                                        // its packet's
        const Cycle held = expired > request.arrived ? expired - request.arrived : 0;  // it may have joined what had expired
        c.held_cycles += held;
        request.held = static_cast<std::uint16_t>(request.held + held);
        if (request.held > c.spec.slack(request.hops)) {
            ++c.overdrawn;
            request.held = static_cast<std::uint16_t>(c.spec.slack(request.hops));
        }
        if (c.slack_left(request) < c.slack_left(c.requests[first.least])) first.least = member;
    }
    note_passing(index);
}

/// A packet will go through the switch of a router; all its requests pass with it.
void Mesh::note_passing(std::uint32_t index) {
    const Coalescing::Request& request = coalescing_->requests[index];
    Network& network = networks_[travellers_[index].network];
    network.switch_flits += request.flits;
    network.hops += request.count - 1;
}

bool Mesh::is_read(std::uint32_t index) const {
    return travellers_[index].packet.kind == PacketKind::read && travellers_[index].network == 0;
}

// --- grant holder

/// Input channels that may go through the switch: a Big Packet that has begun keeps its output and its input to the end, and begins when
/// the whole of it fits into the next buffer. So it never waits in the middle, with others behind it.
std::uint64_t Mesh::may_switch(std::uint32_t router) {
    Coalescing& c = *coalescing_;
    Router& at = routers_[router];
    const Coalescing::Station& station = c.stations[router];
    const InputChannel* const channels = &inputs_[router * kStride];
    std::uint64_t allowed = at.ready;
    for (std::uint64_t left = at.ready; left != 0; left &= left - 1) {
        const std::uint32_t input = lowest_bit(left);
        const std::uint32_t flit = front(router * kStride + input);
        if ((flit & kHead) == 0 || !c.is_long(flit >> kFlagBits) || channels[input].next == kNone) continue;
        if (outputs_[channels[input].to].credits >= c.requests[flit >> kFlagBits].flits) continue;
        at.ready &= ~bit(input);  // until a credit comes back
        allowed &= ~bit(input);
    }
    for (std::uint32_t output = 0; output < kPorts; ++output) {
        const std::uint32_t holder = station.holder[output];
        if (holder == kNone) continue;
        for (std::uint64_t left = allowed; left != 0; left &= left - 1) {
            const std::uint32_t input = lowest_bit(left);
            if (input != holder && (channels[input].output == output || input / kChannels == holder / kChannels)) allowed &= ~bit(input);
        }
    }
    return allowed;
}

/// A flit goes through the switch.
void Mesh::note_switched(std::uint32_t router, std::uint32_t input, std::uint32_t flit) {
    Coalescing& c = *coalescing_;
    Coalescing::Station& station = c.stations[router];
    if (input / kChannels == kTable) station.blocked = false;
    const std::uint32_t index = flit >> kFlagBits;
    const std::uint32_t output = inputs_[router * kStride + input].output;
    std::uint32_t& on_wire = station.on_wire[output];
    if (on_wire != kNone && on_wire != index) ++c.interleaved;
    if (!c.is_long(index)) return;
    const bool tail = (flit & kTail) != 0;
    on_wire = tail ? kNone : index;
    station.holder[output] = tail ? kNone : input;
}

// --- at the memory

/// A packet is at its sink. The requests of a Big Packet are handed over in order, one per cycle; who comes meanwhile waits behind them.
void Mesh::unpack(std::uint32_t router, std::uint32_t index, Cycle now) {
    Coalescing& c = *coalescing_;
    const Coalescing::Request first = c.requests[index];
    if (first.count > 1) {
        ++c.big_packets;
        c.merged += first.count;
    } else if (is_read(index)) {
        ++c.alone;
    }
    Coalescing::Station& station = c.stations[router];
    const bool waits = station.unpacking != kNone;
    if (!waits) hand_over(router, index, first.flits, now);
    const std::uint32_t rest = waits ? index : first.next;
    if (rest == kNone) return;
    if (waits) {
        --sinks_[router].promised;
        c.requests[station.unpacking_last].next = rest;
    } else {
        station.unpacking = rest;
        station.unpacks_at = now + 1;
        c.unpacking.set(router);
    }
    station.unpacking_last = first.count > 1 ? first.last : index;
}

void Mesh::unpack_one(std::uint32_t router, Cycle now) {
    Coalescing& c = *coalescing_;
    Coalescing::Station& station = c.stations[router];
    Sink& sink = sinks_[router];
    if (station.unpacks_at > now || !sink.link->can_send(now, sink.promised + 1)) return;
    const std::uint32_t index = station.unpacking;
    station.unpacking = c.requests[index].next;
    station.unpacks_at = now + 1;
    ++sink.promised;
    hand_over(router, index, c.requests[index].flits, now);
    if (station.unpacking == kNone) c.unpacking.clear(router);
}

bool Mesh::unpacks(std::uint32_t router) const {
    return coalescing_->unpacking.test(router);
}

Cycle Mesh::next_release(Cycle now) const {
    const Coalescing& c = *coalescing_;
    Cycle next = kNever;
    for (std::uint32_t w = 0; w < c.holding.words(); ++w) {
        for (std::uint64_t some = c.holding.word(w) | c.unpacking.word(w); some != 0; some &= some - 1) {
            const std::uint32_t router = w * 64 + lowest_bit(some);
            const Coalescing::Station& station = c.stations[router];
            if (c.holding.test(router) && !station.blocked) next = std::min(next, station.next);
            if (!c.unpacking.test(router)) continue;
            const Sink& sink = sinks_[router];
            next = std::min(next, sink.link->can_send(now, sink.promised + 1) ? station.unpacks_at : sink.link->next_credit());
        }
    }
    return next;
}

void Mesh::coalescing_stats(StatFields& f) const {
    const Coalescing& c = *coalescing_;
    f.group("noc.coalescing");
    f.add("requests", c.seen, "requests", "read requests that came into the mesh");
    f.add("merged", c.merged, "requests", "read requests that came to the memory in a Big Packet with others");
    f.add("alone", c.alone, "requests", "read requests that came to the memory alone");
    f.add("big_packets", c.big_packets, "packets", "Big Packets of at least two requests that came to the memory");
    f.add("looked_up", c.looked_up, "packets", "packets that a router was to hold, and looked for in its merged table");
    f.add("stored", c.stored, "packets", "packets that a merged table took, into an entry of their own or with others");
    f.add("table_full", c.table_full, "packets", "packets that went on because the merged table was full");
    f.add("held_cycles", c.held_cycles, "network cycles", "sum over read requests of the cycles they were held while their way was free");
    f.add("slack_cycles", c.slack_cycles, "network cycles", "sum over read requests of the cycles they might have been held");
    f.add("overdrawn", c.overdrawn, "requests", "read requests that were held for longer than their slack; none ever");
    f.add("interleaved", c.interleaved, "flits", "flits that passed a switch between those of a Big Packet; none ever");
}

}  // namespace mergelane
