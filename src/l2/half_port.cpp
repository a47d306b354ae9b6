// SPDX-License-Identifier: MIT
#include "l2/half_port.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mergelane {

HalfPort::HalfPort(std::string name, const HalvesSpec& spec, const AddressMap& map, const PacketSizes& sizes, std::uint32_t slice)
    : Component(std::move(name)), spec_(spec), map_(map), sizes_(sizes), slice_(slice), queue_(spec.queue) {}

// The phases lower `next` to the next cycle in which they can do something.

Cycle HalfPort::step(Cycle now) {
    Cycle next = kNever;
    // 1. One reply, of the slice or of the peer, enters the network; the slice's replies to the peer go there.
    deliver(now, next);
    // 2. One request, of the network or of the peer, goes to the slice; a request for the other half joins the queue to the peer.
    accept(now, next);
    // 3. One request leaves for the peer.
    send_to_peer(now, next);
    return next;
}

Cycle HalfPort::link_cycles(const Packet& packet) const {
    return divide_up(std::max(1u, sizes_.bytes(packet)), spec_.bytes_per_cycle);
}

void HalfPort::deliver(Cycle now, Cycle& next) {
    const bool peer_first = peer_replies_next_;
    if (peer_first ? deliver_from_peer(now, next) : deliver_from_slice(now, next)) {
        peer_replies_next_ = !peer_first;
        next = std::min(next, std::max(now + 1, (peer_first ? links_.from_slice : links_.replies_from_peer)->head_arrival()));
    } else if (peer_first ? deliver_from_slice(now, next) : deliver_from_peer(now, next)) {
        peer_replies_next_ = peer_first;
    }
}

/// Each returns whether it has used the network's port.
bool HalfPort::deliver_from_slice(Cycle now, Cycle& next) {
    Link<Packet>& link = *links_.from_slice;
    const Cycle arrival = link.head_arrival();
    if (arrival > now) {
        next = std::min(next, arrival);
        return false;
    }
    Packet packet = link.front();
    bool to_network = false;
    if ((packet.source & kOfPeer) != 0) {
        if (now < replies_free_at_ || !links_.replies_to_peer->can_send(now, 1)) {
            next = std::min(next, std::max(now + 1, now < replies_free_at_ ? replies_free_at_ : links_.replies_to_peer->next_credit()));
            return false;
        }
        note_wait(packet, linking_, arrival, now);
        links_.replies_to_peer->send(now, packet);
        const Cycle cycles = link_cycles(packet);
        replies_free_at_ = now + cycles;
        stats_.reply_cycles += cycles;
        ++stats_.served_replies;
    } else if ((packet.address & kCopyMark) != 0 && packet.kind != PacketKind::read_reply) {
        packet.address &= ~kCopyMark;
        note_entry(packet, now);
        queue_.push(packet);
        ++stats_.copy_misses;
    } else {
        const bool copy = (packet.address & kCopyMark) != 0;
        packet.address &= ~kCopyMark;
        if (!send_to_network(packet, arrival, now, next)) return false;
        if (copy) ++stats_.copy_hits;
        to_network = true;
    }
    link.pop_and_release(now);
    ++stats_.replies_in;
    next = std::min(next, std::max(link.head_arrival(), now + 1));
    return to_network;
}

bool HalfPort::deliver_from_peer(Cycle now, Cycle& next) {
    Link<Packet>& link = *links_.replies_from_peer;
    const Cycle arrival = link.head_arrival();
    if (arrival > now) {
        next = std::min(next, arrival);
        return false;
    }
    Packet packet = link.front();
    packet.destination = packet.source &= static_cast<std::uint16_t>(~kOfPeer);
    if (!send_to_network(packet, arrival, now, next)) return false;
    link.pop_and_release(now);
    ++stats_.answered;
    if (spec_.copies() && packet.kind == PacketKind::read_reply) {
        if (links_.to_slice->can_send(now, 1)) {
            packet.address |= kCopyMark;
            packet.read.journey = nullptr;
            to_slice(packet, now);
            ++stats_.copy_fills;
        } else {
            ++stats_.copies_dropped;
        }
    }
    next = std::min(next, std::max(link.head_arrival(), now + 1));
    return true;
}

bool HalfPort::send_to_network(const Packet& packet, Cycle since, Cycle now, Cycle& next) {
    // A shorter packet must not pass: the link would forget that the longer one waits for credits.
    if (network_full_at_ == now) return false;
    const std::uint32_t flits = sizes_.flits(packet);
    if (!links_.to_network->can_send(now, flits)) {
        network_full_at_ = now;
        next = std::min(next, std::max(links_.to_network->next_credit(), now + 1));
        return false;
    }
    note_wait(packet, replying_, since, now);
    links_.to_network->send(now, packet, flits);
    ++stats_.replies_out;
    return true;
}

void HalfPort::to_slice(const Packet& packet, Cycle now) {
    links_.to_slice->send(now, packet);
    ++stats_.to_slice;
}

void HalfPort::accept(Cycle now, Cycle& next) {
    const bool peer_first = peer_requests_next_;
    const bool used = peer_first && accept_from_peer(now, next);
    const bool used_too = accept_from_network(now, next, !used);
    if (!peer_first && !used_too) accept_from_peer(now, next);
    if (!peer_first && used_too) next = std::min(next, std::max(now + 1, links_.requests_from_peer->head_arrival()));
    if (used || used_too) peer_requests_next_ = used_too;
}

/// Both return whether they have sent something to the slice. A request for the other half needs no access to the slice without copies.
bool HalfPort::accept_from_network(Cycle now, Cycle& next, bool slice_is_free) {
    Link<Packet>& link = *links_.from_network;
    const Cycle arrival = link.head_arrival();
    if (arrival > now) {
        next = std::min(next, arrival);
        return false;
    }
    Packet packet = link.front();
    const bool far = map_.slice(packet.address) != slice_;
    const bool by_slice = !far || spec_.copies();
    if (by_slice && !slice_is_free) {
        next = std::min(next, now + 1);
        return false;
    }
    if (by_slice && !links_.to_slice->can_send(now, 1)) {
        next = std::min(next, std::max(links_.to_slice->next_credit(), now + 1));
        return false;
    }
    if (far && far_queued() == queue_.capacity()) return false;  // until one has left
    note_wait(packet, waiting_, arrival, now);
    if (far && !by_slice) {
        note_entry(packet, now);
        queue_.push(packet);
    } else {
        if (far) packet.address |= kCopyMark;
        if (far) ++stats_.lookups;
        to_slice(packet, now);
    }
    ++(far ? stats_.far : stats_.near);
    if (far && packet.kind == PacketKind::read) ++stats_.far_reads;
    link.pop_and_release(now);
    ++stats_.requests_in;
    next = std::min(next, std::max(link.head_arrival(), now + 1));
    return by_slice;
}

bool HalfPort::accept_from_peer(Cycle now, Cycle& next) {
    Link<Packet>& link = *links_.requests_from_peer;
    const Cycle arrival = link.head_arrival();
    if (arrival > now) {
        next = std::min(next, arrival);
        return false;
    }
    if (!links_.to_slice->can_send(now, 1)) {
        next = std::min(next, std::max(links_.to_slice->next_credit(), now + 1));
        return false;
    }
    Packet packet = link.front();
    note_wait(packet, waiting_, arrival, now);
    packet.source |= kOfPeer;
    to_slice(packet, now);
    link.pop_and_release(now);
    ++stats_.served;
    next = std::min(next, std::max(link.head_arrival(), now + 1));
    return true;
}

void HalfPort::send_to_peer(Cycle now, Cycle& next) {
    if (queue_.empty()) return;
    if (now < requests_free_at_) {
        next = std::min(next, requests_free_at_);
        return;
    }
    if (!links_.requests_to_peer->can_send(now, 1)) {
        next = std::min(next, std::max(links_.requests_to_peer->next_credit(), now + 1));
        return;
    }
    const Packet& packet = queue_.front();
    note_exit(packet, linking_, now);
    links_.requests_to_peer->send(now, packet);
    const Cycle cycles = link_cycles(packet);
    requests_free_at_ = now + cycles;
    stats_.request_cycles += cycles;
    ++stats_.sent;
    queue_.pop();
    next = std::min(next, now + 1);  // for the next one, or for a request that waited for its place
}

void HalfPort::stats(StatFields& f, Cycle) const {
    f.group("halves");
    f.add("requests_in", stats_.requests_in, "requests", "requests of the SM clusters of a slice's half");
    f.add("near", stats_.near, "requests", "requests for memory of the own half");
    f.add("far", stats_.far, "requests", "requests for memory of the other half");
    f.add("far_reads", stats_.far_reads, "requests", "reads among them");
    f.add("lookups", stats_.lookups, "requests", "requests for the other half looked up in the own half's slice");
    f.add("copy_hits", stats_.copy_hits, "requests", "reads of the other half answered by a copy");
    f.add("copy_misses", stats_.copy_misses, "requests", "requests for the other half that no copy answered");
    f.add("copy_fills", stats_.copy_fills, "packets", "replies of the other half sent to the slice as a copy");
    f.add("copies_dropped", stats_.copies_dropped, "packets", "replies not copied because the slice's input queue was full");
    f.add("sent", stats_.sent, "requests", "requests sent to the other half");
    f.add("served", stats_.served, "requests", "requests of the other half sent to the slice");
    f.add("to_slice", stats_.to_slice, "packets", "requests and copies sent to the slice");
    f.add("replies_in", stats_.replies_in, "packets", "replies of the slice, and requests that it returned because it has no copy");
    f.add("served_replies", stats_.served_replies, "packets", "replies sent to the other half");
    f.add("answered", stats_.answered, "packets", "replies from the other half");
    f.add("replies_out", stats_.replies_out, "packets", "replies sent to the network");
    f.add("request_cycles", stats_.request_cycles, "L2 cycles", "cycles in which requests occupied the link to the other half");
    f.add("reply_cycles", stats_.reply_cycles, "L2 cycles", "cycles in which replies occupied the link to the other half");
}

void HalfPort::gauges(StatFields& f) const {
    f.group("halves");
    f.add("far_queued", far_queued(), "requests", "requests for the other half that have not left");
    f.add("far_waiting", stats_.far - stats_.copy_hits - stats_.answered, "requests", "requests for the other half without a reply");
}

void HalfPort::stages(Stages& out) {
    out.group("halves");
    out.add(waiting_, "queue", "before a slice of an L2 in two halves, behind other requests or because the slice's queue is full");
    out.add(linking_, "link", "waiting for the link between the halves of the L2");
    out.add(replying_, "reply", "the reply waits behind others or for network credits");
}

void HalfPort::explain(std::vector<Wait>& waits) const {
    for (const Link<Packet>* link : {links_.to_network, links_.to_slice, links_.requests_to_peer, links_.replies_to_peer}) {
        if (link->sender_waits()) waits.push_back({this, link->receiver(), link->describe_wait(), true});
    }
    if (stats_.far != stats_.copy_hits + stats_.answered) {
        waits.push_back({this, links_.replies_from_peer->sender(),
                         fmt::format("{} requests wait for the other half", stats_.far - stats_.copy_hits - stats_.answered), false});
    }
}

}  // namespace mergelane
