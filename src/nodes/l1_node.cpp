// SPDX-License-Identifier: MIT
#include "nodes/l1_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mergelane {

L1Node::L1Node(std::string name, const Shared& shared, std::uint32_t index)
    : Component(std::move(name)), shared_(shared), index_(index), cache_(shared.cache, shared.policies) {}

void L1Node::connect(std::vector<Links> lanes) {
    for (const Links& links : lanes) {
        Lane& lane = lanes_.emplace_back();
        static_cast<Links&>(lane) = links;
        lane.to_cores_queue.reset(shared_.spec.queue);
        lane.to_l2_queue.reset(shared_.spec.queue);
        lane.hits.reset(std::max(shared_.hit_cycles, 1u));
    }
}

// Each phase returns the next cycle in which it can do something, or whether it did something.

Cycle L1Node::step(Cycle now) {
    // 1. L2 replies answer the waiting requests, one per cycle, before hits: nothing else drains queue 4.
    for (Lane& lane : lanes_) lane.answered = false;
    for (Lane& lane : lanes_) take_reply(lane, now);
    Cycle next = kNever;
    for (std::uint32_t n = 0; n < lanes_.size(); ++n) {
        Lane& lane = lanes_[n];
        // 2. A hit leaves the cache's pipeline.
        next = std::min(next, finish_hit(lane, now));
        // 3. One reply per cycle to an SM.
        next = std::min(next, send_to_cores(lane, now));
        // 4. One lookup per cycle.
        if (look_up(lane, static_cast<std::uint8_t>(n), now)) next = now + 1;
        // 5. One request per cycle to the L2.
        next = std::min(next, send_to_l2(lane, now));
        // Packets that have arrived and were not accepted wait for one of the above, each of which ends in a step.
        for (const Link<Packet>* link : {lane.from_cores, lane.from_l2}) {
            if (const Cycle arrival = link->head_arrival(); arrival > now) next = std::min(next, arrival);
        }
    }
    const bool more = std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return can_answer(lane, now); });
    return more ? now + 1 : next;
}

/// Whether it can process the next L2 reply.
bool L1Node::can_answer(const Lane& lane, Cycle now) const {
    if (!lane.answering.empty()) return !lanes_[asked_[lane.answering.back()].lane].to_cores_queue.full();
    return lane.from_l2->has(now) && ((lane.from_l2->front().tag & kPassing) == 0 || !lane.to_cores_queue.full());
}

void L1Node::take_reply(Lane& lane, Cycle now) {
    if (lane.answering.empty() && lane.from_l2->has(now)) {
        const Packet& reply = lane.from_l2->front();
        if ((reply.tag & kPassing) != 0) {
            if (lane.to_cores_queue.full()) return;
            join_journeys(lane, now);
            const auto index = static_cast<std::uint16_t>(reply.tag & ~kPassing);
            Packet& answer = lane.to_cores_queue.claim();
            answer = answer_to(asked_[index], reply.kind, reply.address);
            note_entry(answer, now);
            if (reply.kind != PacketKind::read_reply) answer.bytes = reply.bytes;
            free_.push_back(index);
            lane.answered = true;
        } else {
            const auto targets = cache_.fill(reply.tag, now);
            // Answered from the end, so that the first comes first.
            for (auto target = targets.rbegin(); target != targets.rend(); ++target) lane.answering.push_back(target->load());
            join_journeys(lane, now);
            lane.answered_block = reply.address;
            cache_.release(reply.tag);
        }
        lane.from_l2->pop_and_release(now);
        ++counts_.network_replies;
    }
    if (!lane.answering.empty()) answer_next(lane, now);
}

/// Since they were merged, the reads that the reply answers have gone the way of the one that was sent.
void L1Node::join_journeys(Lane& lane, Cycle now) {
    Journey* const sent = journey_of(lane.from_l2->front());
    if (sent == nullptr) return;
    sent->wait(returned_, lane.from_l2->head_arrival(), now);
    for (const std::uint16_t index : lane.answering) {
        Journey* const merged = asked_[index].read.journey;
        if (merged != nullptr && merged != sent) merged->follow(*sent);
    }
}

void L1Node::answer_next(Lane& lane, Cycle now) {
    const std::uint16_t index = lane.answering.back();
    const Asked& asked = asked_[index];
    Lane& home = lanes_[asked.lane];
    if (home.to_cores_queue.full()) return;
    home.to_cores_queue.push(answer_to(asked, PacketKind::read_reply, lane.answered_block));
    if (asked.read.journey != nullptr) asked.read.journey->enter(now);
    home.answered = true;
    free_.push_back(index);
    lane.answering.pop_back();
}

Cycle L1Node::finish_hit(Lane& lane, Cycle now) {
    if (lane.hits.empty()) return kNever;
    if (lane.hits.front().ready > now) return lane.hits.front().ready;
    if (lane.to_cores_queue.full()) return kNever;  // until a reply is sent
    if (!lane.answered) {
        lane.to_cores_queue.push(lane.hits.front().reply);
        note_entry(lane.hits.front().reply, lane.hits.front().ready);
        lane.hits.pop();
        if (lane.hits.empty()) return kNever;
    }
    return std::max(lane.hits.front().ready, now + 1);
}

Cycle L1Node::send_to_cores(Lane& lane, Cycle now) {
    if (lane.to_cores_queue.empty()) return kNever;
    const Packet& reply = lane.to_cores_queue.front();
    const std::uint32_t flits = shared_.direct ? 1 : reply_flits(reply);
    if (!lane.to_cores->can_send(now, flits)) return std::max(lane.to_cores->next_credit(), now + 1);
    note_exit(reply, replying_, now);
    lane.to_cores->send(now, reply, flits);
    lane.to_cores_queue.pop();
    ++counts_.replies;
    return lane.to_cores_queue.empty() && lane.hits.empty() ? kNever : now + 1;
}

Cycle L1Node::send_to_l2(Lane& lane, Cycle now) {
    if (lane.to_l2_queue.empty()) return kNever;
    const Packet& request = lane.to_l2_queue.front();
    const std::uint32_t flits = shared_.to_l2.flits(request);
    if (!lane.to_l2->can_send(now, flits)) return std::max(lane.to_l2->next_credit(), now + 1);
    note_exit(request, sending_, now);
    lane.to_l2->send(now, request, flits);
    lane.to_l2_queue.pop();
    ++counts_.requests_out;
    return now + 1;
}

/// Whether the head of queue 1 made progress.
bool L1Node::look_up(Lane& lane, std::uint8_t number, Cycle now) {
    if (!lane.from_cores->has(now)) return false;
    const Packet& packet = lane.from_cores->front();
    const bool cached = shared_.spec.caching && packet.kind == PacketKind::read && (packet.read.flags & ReadFields::kBypassesL1) == 0;
    if (!(cached ? read(lane, number, packet, now) : pass(lane, number, packet, now))) {
        lane.blocked_since = std::min(lane.blocked_since, now);
        return false;
    }
    note_wait(packet, lookup_, lane.from_cores->head_arrival(), now);
    if (lane.blocked_since != kNever) {
        counts_.blocked += now - lane.blocked_since;
        lane.blocked_since = kNever;
    }
    if (shared_.homes.slice(packet.address) != index_) ++counts_.misrouted;
    lane.from_cores->pop_and_release(now);
    ++counts_.requests;
    return true;
}

bool L1Node::read(Lane& lane, std::uint8_t number, const Packet& packet, Cycle now) {
    if (lane.hits.full() || full()) return false;
    using Outcome = L1Cache::Outcome;
    // A hit is answered from here. A waiting request is recorded under the next number.
    const std::uint16_t index = free_.empty() ? static_cast<std::uint16_t>(asked_.size()) : free_.back();
    const L1Cache::Lookup lookup = cache_.read(packet.address, index, !lane.to_l2_queue.full(), now);
    if (lookup.outcome >= Outcome::no_mshr) return false;
    if (lookup.outcome == Outcome::hit) {
        const Asked asked{packet.read, packet.source, packet.tag, packet.sm, number};
        if (packet.read.journey != nullptr) packet.read.journey->reach(Journey::Level::node);
        lane.hits.push({answer_to(asked, PacketKind::read_reply, packet.address), now + shared_.hit_cycles});
        return true;
    }
    remember(packet, number, now);
    if (lookup.outcome == Outcome::miss) forward(lane, packet, static_cast<std::uint16_t>(lookup.mshr), now);
    return true;
}

/// Stores, atomics and loads that bypass the L1 go to the L2; a store invalidates its line.
bool L1Node::pass(Lane& lane, std::uint8_t number, Packet packet, Cycle now) {
    if (lane.to_l2_queue.full() || full()) return false;
    if (!shared_.spec.caching) {
        ++counts_.beside;
    } else if (packet.kind == PacketKind::write) {
        const bool whole = shared_.spec.write_hit == DcL1Spec::WriteHit::line && cache_.holds(packet.address);
        if (!cache_.write(packet.address, packet.bytes, now)) return false;
        if (whole) packet.bytes = {~std::uint64_t{0}, ~std::uint64_t{0}};
    } else {
        ++counts_.beside;
    }
    const std::uint16_t index = remember(packet, number, now);
    forward(lane, packet, index | kPassing, now);
    return true;
}

void L1Node::forward(Lane& lane, Packet packet, std::uint16_t tag, Cycle now) {
    packet.destination = static_cast<std::uint16_t>(shared_.far.slice(packet.address));
    packet.source = lane.source;
    packet.tag = tag;
    packet.sm = 0;
    lane.to_l2_queue.push(packet);
    note_entry(packet, now);
}

std::uint16_t L1Node::remember(const Packet& packet, std::uint8_t lane, Cycle now) {
    auto index = static_cast<std::uint16_t>(asked_.size());
    if (free_.empty()) {
        asked_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    asked_[index] = {packet.kind == PacketKind::read ? packet.read : ReadFields{}, packet.source, packet.tag, packet.sm, lane};
    if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
        journey->merge(lookup_, now);
    return index;
}

Packet L1Node::answer_to(const Asked& asked, PacketKind kind, Addr block) const {
    Packet reply;
    reply.address = block;
    if (kind == PacketKind::read_reply) reply.read = asked.read;
    reply.destination = static_cast<std::uint16_t>(asked.port % shared_.cores_per_cluster);
    reply.source = asked.port;
    reply.tag = asked.tag;
    reply.sm = asked.sm & Packet::kSmMask;
    reply.kind = kind;
    return reply;
}

/// An SM receives the words that its lanes requested, not the line.
std::uint32_t L1Node::reply_flits(const Packet& reply) const {
    const PacketSizes& sizes = shared_.to_cores;
    const std::uint32_t words = reply.kind == PacketKind::read_reply ? reply.read.wanted : 0;
    if (words == 0 || shared_.spec.reply == DcL1Spec::Reply::line || !shared_.spec.caching) return sizes.flits(reply);
    std::uint32_t bytes = 4 * static_cast<std::uint32_t>(std::popcount(words));
    if (shared_.spec.reply == DcL1Spec::Reply::sectors) {
        bytes = 0;
        for (std::uint32_t sector = 0; sector < 4; ++sector) bytes += (words >> 8 * sector & 0xFF) != 0 ? kSectorBytes : 0;
    }
    return std::max(1u, (sizes.header_bytes + bytes + sizes.flit_bytes - 1) / sizes.flit_bytes);
}

std::uint64_t L1Node::waiting() const {
    std::uint64_t sum = asked_.size() - free_.size();
    for (const Lane& lane : lanes_) sum += lane.to_cores_queue.size() + lane.hits.size();
    return sum;
}

void L1Node::stages(Stages& out) {
    out.group("nodes");
    out.add(lookup_, "lookup", "at the node, until its L1 accepts the request");
    out.add(sending_, "to_l2", "in the node's queue to the L2");
    out.add(returned_, "from_l2", "the L2's reply waits for the node");
    out.add(replying_, "reply", "in the node's queue to the SMs, after the L1's latency if it was a hit");
}

void L1Node::stats(StatFields& f, Cycle now) const {
    if (shared_.spec.caching) cache_.stats().fields(f);
    f.group("dcl1");
    f.add("requests", counts_.requests, "requests", "SM requests accepted by a node");
    f.add("beside", counts_.beside, "requests",
          "of these, requests without a lookup: atomics and loads that bypass the L1; all, if nodes have no caches");
    f.add("replies", counts_.replies, "packets", "replies and acknowledgements sent to SMs");
    f.add("requests_out", counts_.requests_out, "packets", "requests sent to the L2");
    f.add("network_replies", counts_.network_replies, "packets", "L2 replies accepted by nodes");
    std::uint64_t blocked = counts_.blocked;
    for (const Lane& lane : lanes_) blocked += now - std::min(lane.blocked_since, now);
    f.add("blocked", blocked, "cycles", "cycles in which the next request was stalled, summed over nodes");
    f.add("misrouted", counts_.misrouted, "requests", "requests that reached a node other than the home of their line");
}

void L1Node::gauges(StatFields& f) const {
    f.group("dcl1");
    f.add("waiting", waiting(), "requests", "requests that have not been answered");
    std::uint64_t queued = 0;
    for (const Lane& lane : lanes_) queued += lane.to_l2_queue.size();
    f.add("queued", queued, "requests", "requests waiting for the L2");
    f.group("l1");
    f.add("mshrs", cache_.mshrs_in_use(), "entries", "lines in flight");
}

void L1Node::explain(std::vector<Wait>& waits) const {
    for (const Lane& lane : lanes_) {
        for (const Link<Packet>* link : {lane.to_cores, lane.to_l2}) {
            if (link->sender_waits()) return waits.push_back({this, link->receiver(), link->describe_wait(), true});
        }
    }
    if (const std::uint64_t unanswered = asked_.size() - free_.size(); unanswered != 0)
        waits.push_back({this, lanes_.front().from_l2->sender(), fmt::format("{} requests wait for the L2", unanswered), false});
}

}  // namespace mergelane
