// SPDX-License-Identifier: MIT
#include "noc/packet_coalescing.hpp"

#include <algorithm>

namespace mergelane {

PacketCoalescing::PacketCoalescing(const PacketCoalescingSpec& spec, const RouterContext& context)
    : RouterUnit(context),
      spec_(spec),
      rows_(*context.rows),
      flit_bytes_(context.network.flit_bytes),
      header_bytes_(context.network.header_bytes),
      most_(std::max(1u, spec.merge ? spec.requests_that_fit(buffer_flits(), flit_bytes_, header_bytes_) : 1u)),
      states_(routers()),
      holding_(routers()) {
    for (RouterState& state : states_) state.table.reserve(spec.table_entries != 0 ? spec.table_entries : 64);
}

void PacketCoalescing::enter(PacketId id) {
    if (requests_.size() <= id) requests_.resize(std::max<std::size_t>(id + 1, 2 * requests_.size()));
    Request request;
    if (is_read(id)) {
        request.row = rows_.row_of(packet(id).address) << 16 | destination(id);
        request.hops = static_cast<std::uint16_t>(hops(id));
        request.least = id;
        ++seen_;
        slack_cycles_ += spec_.slack(request.hops);
    }
    requests_[id] = request;
}

std::uint32_t PacketCoalescing::flits_of(std::uint32_t requests) const {
    return static_cast<std::uint32_t>(divide_up(header_bytes_ + requests * spec_.request_bytes, flit_bytes_));
}

// --- detector and coalescing table

/// Is the packet to be held here, and with whom?
bool PacketCoalescing::arrive(Router router, PacketId id, Cycle now) {
    if (!is_read(id)) return false;
    for (PacketId member = id; member != kNoPacket; member = next_within(member)) {
        ++requests_[member].passed;
        requests_[member].arrived = now;
    }
    const Request& request = requests_[id];
    const Request& least = requests_[request.least];
    const std::uint32_t hold = std::min(spec_.hold(least.hops, least.passed), slack_left(least));
    if (hold == 0 || flits(id) > buffer_flits()) return false;
    ++looked_up_;
    RouterState& state = states_[router];
    const auto found = std::find_if(state.table.begin(), state.table.end(), [&](const Entry& entry) {
        return entry.row == request.row && packets_held(entry.packet) + packets(id) <= most_;
    });
    if (found != state.table.end()) {
        join(found->packet, id);
        found->expires = std::min(found->expires, now + hold);
        state.next = std::min(state.next, found->expires);
    } else {
        if (spec_.table_entries != 0 && state.table.size() == spec_.table_entries) {
            ++table_full_;
            return false;
        }
        state.table.push_back({request.row, now + hold, id});
        state.next = std::min(state.next, now + hold);
        holding_.set(router);
    }
    ++stored_;
    return true;
}

// --- scheduler

/// Expired entries go to the channels behind the table, one per cycle and router.
void PacketCoalescing::step(Cycle now) {
    for_each(holding_, [&](Router router) {
        const RouterState& state = states_[router];
        if (state.next <= now && !state.blocked) release_one(router, now);
    });
}

Cycle PacketCoalescing::next(Cycle) const {
    Cycle next = kNever;
    for_each(holding_, [&](Router router) {
        if (!states_[router].blocked) next = std::min(next, states_[router].next);
    });
    return next;
}

void PacketCoalescing::release_one(Router router, Cycle now) {
    RouterState& state = states_[router];
    const auto ready = [&](const Entry& entry) { return entry.expires <= now && whole(entry.packet); };
    const auto oldest = std::find_if(state.table.begin(), state.table.end(), ready);
    if (oldest != state.table.end()) {
        const PacketId id = oldest->packet;
        state.blocked = !send(router, id, packets_held(id) > 1 ? flits_of(packets_held(id)) : flits(id));
        if (state.blocked) return;
        leave_table(*oldest);
        state.table.erase(oldest);
        if (state.table.empty()) holding_.clear(router);
    }
    state.next = kNever;
    for (const Entry& entry : state.table) state.next = std::min(state.next, std::max(entry.expires, now + 1));
}

/// The requests of an entry are one packet from now on.
void PacketCoalescing::leave_table(const Entry& entry) {
    Request& first = requests_[entry.packet];
    first.least = entry.packet;
    for (PacketId member = entry.packet; member != kNoPacket; member = next_within(member)) {
        Request& request = requests_[member];
        const Cycle held = entry.expires > request.arrived ? entry.expires - request.arrived : 0;  // it may have joined what had expired
        held_cycles_ += held;
        delayed(member, static_cast<std::uint32_t>(held));
        request.held = static_cast<std::uint16_t>(request.held + held);
        if (request.held > spec_.slack(request.hops)) {
            ++overdrawn_;
            request.held = static_cast<std::uint16_t>(spec_.slack(request.hops));
        }
        if (slack_left(request) < slack_left(requests_[first.least])) first.least = member;
    }
}

// --- grant holder

/// A Big Packet that has begun keeps its output and its input to the end, and begins when the whole of it fits into the next buffer. So it
/// never stalls in the middle, with others behind it.
std::uint64_t PacketCoalescing::may_switch(Router router, std::uint64_t ready) {
    std::uint64_t allowed = ready;
    for (std::uint64_t left = ready; left != 0; left &= left - 1) {
        const std::uint32_t input = lowest_bit(left);
        const Flit flit = front(router, input);
        if (!flit.head() || !is_long(flit.packet()) || output(router, input) == Mesh::local) continue;
        if (credits(router, input) >= flits(flit.packet())) continue;
        wait_for_credit(router, input);
        allowed &= ~bit(input);
    }
    const RouterState& state = states_[router];
    for (std::uint32_t outputs = state.held_outputs; outputs != 0; outputs &= outputs - 1) {
        const std::uint32_t held = lowest_bit(outputs);
        const std::uint32_t holder = state.holder[held];
        for (std::uint64_t left = allowed; left != 0; left &= left - 1) {
            const std::uint32_t input = lowest_bit(left);
            if (input != holder && (output(router, input) == held || input / Mesh::kChannels == holder / Mesh::kChannels))
                allowed &= ~bit(input);
        }
    }
    return allowed;
}

void PacketCoalescing::switched(Router router, std::uint32_t input, Flit flit) {
    RouterState& state = states_[router];
    if (input / Mesh::kChannels == Mesh::kUnitPort) state.blocked = false;
    const std::uint32_t port = output(router, input);
    PacketId& on_wire = state.on_wire[port];
    if (on_wire != kNoPacket && on_wire != flit.packet()) ++interleaved_;
    if (!is_long(flit.packet())) return;
    on_wire = flit.tail() ? kNoPacket : flit.packet();
    state.holder[port] = flit.tail() ? kNone : input;
    state.held_outputs = flit.tail() ? state.held_outputs & ~(1u << port) : state.held_outputs | 1u << port;
}

// --- at the memory

void PacketCoalescing::leave(Router, PacketId id) {
    if (packets(id) > 1) {
        ++big_packets_;
        merged_ += packets(id);
    } else if (is_read(id)) {
        ++alone_;
    }
}

void PacketCoalescing::stats(StatFields& f, Cycle) const {
    f.group("noc.coalescing");
    f.add("requests", seen_, "requests", "read requests injected into the mesh");
    f.add("merged", merged_, "requests", "read requests that reached the memory in a Big Packet with others");
    f.add("alone", alone_, "requests", "read requests that reached the memory alone");
    f.add("big_packets", big_packets_, "packets", "Big Packets of at least two requests that reached the memory");
    f.add("looked_up", looked_up_, "packets", "lookups in a coalescing table, by packets to be delayed");
    f.add("stored", stored_, "packets", "packets stored in a coalescing table, in a new entry or merged");
    f.add("table_full", table_full_, "packets", "packets forwarded because the coalescing table was full");
    f.add("held_cycles", held_cycles_, "network cycles", "cycles delayed while the output was free, summed over read requests");
    f.add("slack_cycles", slack_cycles_, "network cycles", "delay budget, summed over read requests");
    f.add("overdrawn", overdrawn_, "requests", "read requests delayed beyond their slack; always 0");
    f.add("interleaved", interleaved_, "flits", "flits that passed a switch between those of a Big Packet; always 0");
}

}  // namespace mergelane
