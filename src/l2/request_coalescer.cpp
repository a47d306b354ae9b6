// SPDX-License-Identifier: MIT
#include "l2/request_coalescer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mergelane {

RequestCoalescer::RequestCoalescer(std::string name, const RequestCoalescerSpec& spec, const PacketSizes& sizes, std::uint32_t line_bytes)
    : Component(std::move(name)), spec_(spec), sizes_(sizes), line_bytes_(line_bytes), table_(spec.entries, spec.max_merged) {}

Cycle RequestCoalescer::step(Cycle now) {
    // 1. The oldest reply answers all reads of its entry, as long as the network accepts replies.
    const Cycle reply = answer(now);
    // 2. The oldest request merges or goes on to the slice, one per cycle.
    const Cycle request = take(now);
    return std::min(reply, request);
}

// Both phases return the next cycle in which they can do something.

Cycle RequestCoalescer::answer(Cycle now) {
    const Cycle arrival = links_.from_slice->head_arrival();
    if (arrival > now) return arrival;
    const Packet& reply = links_.from_slice->front();
    if (reply.kind == PacketKind::read_reply) {
        if (!answer_entry(reply.tag, now)) return std::max(links_.to_network->next_credit(), now + 1);
    } else {
        const std::uint32_t flits = sizes_.flits(reply);
        if (!links_.to_network->can_send(now, flits)) return std::max(links_.to_network->next_credit(), now + 1);
        links_.to_network->send(now, reply, flits);
        ++stats_.replies_out;
    }
    links_.from_slice->pop_and_release(now);
    ++stats_.replies_in;
    return std::max(links_.from_slice->head_arrival(), now + 1);
}

/// Returns false if some of its reads must wait for the network. Reads that arrive meanwhile still join.
bool RequestCoalescer::answer_entry(std::uint32_t entry, Cycle now) {
    if (delivering_ != entry) {
        delivering_ = entry;
        delivered_ = 0;
        // The first read's requester may end its journey before the last reply has left.
        const Journey* const journey = links_.from_slice->front().read.journey;
        has_journey_ = journey != nullptr;
        if (has_journey_) first_ = *journey;
    }
    for (; delivered_ < table_.targets(entry).size(); ++delivered_) {
        Packet packet = table_.targets(entry)[delivered_];
        packet.kind = PacketKind::read_reply;
        packet.destination = packet.source;
        const std::uint32_t flits = sizes_.flits(packet);
        if (!links_.to_network->can_send(now, flits)) return false;
        note_reply(packet, now);
        links_.to_network->send(now, packet, flits);
        ++stats_.answered;
        ++stats_.replies_out;
    }
    delivering_ = kNoSlot;
    table_.release(entry);
    stats_.entry_cycles += now;
    ++stats_.completed;
    return true;
}

/// Since it was merged, a read has gone the way of the first.
void RequestCoalescer::note_reply(const Packet& packet, Cycle now) {
    Journey* const journey = packet.read.journey;
    if (journey == nullptr) return;
    Cycle since = links_.from_slice->head_arrival();
    if (delivered_ != 0) {
        since = std::max(since, journey->entered() / queue_.period);
        if (has_journey_)
            journey->follow(first_);
        else
            journey->reach(Journey::Level::merged);
    }
    journey->wait(replying_, since, now);
}

Cycle RequestCoalescer::take(Cycle now) {
    const Cycle arrival = links_.from_network->head_arrival();
    if (arrival > now) return arrival;
    if (!links_.to_slice->can_send(now, 1)) return std::max(links_.to_slice->next_credit(), now + 1);
    if (table_.full()) {
        if (full_since_ == kNotFull) {
            full_since_ = now;
            ++stats_.stalls;
        }
        return kNever;  // until an entry is released
    }
    if (full_since_ != kNotFull) {
        stats_.full_cycles += now - full_since_;
        full_since_ = kNotFull;
    }
    const Packet& packet = links_.from_network->front();
    note_wait(packet, queue_, arrival, now);
    if (packet.kind == PacketKind::read) {
        read(packet, now);
    } else {
        if (spec_.on_store == RequestCoalescerSpec::OnStore::close) close(packet);
        links_.to_slice->send(now, packet);
        ++stats_.passed;
        ++stats_.requests_out;
    }
    links_.from_network->pop_and_release(now);
    ++stats_.requests_in;
    return std::max(links_.from_network->head_arrival(), now + 1);
}

void RequestCoalescer::read(const Packet& packet, Cycle now) {
    ++stats_.reads;
    if (const std::uint32_t entry = table_.find(packet.address); entry != kNoSlot) {
        table_.merge(entry, packet);
        if (packet.read.journey != nullptr) packet.read.journey->merge(queue_, now);
        if (!table_.can_merge(entry)) table_.hide(entry);
        ++stats_.merged;
        return;
    }
    // The slice copies the tag of a request into its reply.
    Packet first = packet;
    const std::uint32_t entry = table_.allocate(packet.address, packet, kNoSlot, now);
    if (!table_.can_merge(entry)) table_.hide(entry);
    first.tag = static_cast<std::uint16_t>(entry);
    links_.to_slice->send(now, first);
    stats_.entry_cycles -= now;
    ++stats_.allocated;
    ++stats_.requests_out;
}

/// A write may touch any sectors of its line.
void RequestCoalescer::close(const Packet& write) {
    const Addr line = write.address & ~Addr{line_bytes_ - 1};
    const std::uint32_t sectors = write.bytes.touched_sectors();
    const std::uint32_t of_block = static_cast<std::uint32_t>(low_bits(sizes_.block_bytes / kSectorBytes));
    for (std::uint32_t offset = 0; offset < line_bytes_; offset += sizes_.block_bytes) {
        if ((sectors >> offset / kSectorBytes & of_block) == 0) continue;
        const std::uint32_t entry = table_.find(line + offset);
        if (entry == kNoSlot) continue;
        table_.hide(entry);
        ++stats_.closed;
    }
}

void RequestCoalescer::stats(StatFields& f, Cycle now) const {
    const std::uint64_t sectors = sizes_.block_bytes / kSectorBytes;
    f.group("lrc");
    f.add("requests_in", stats_.requests_in, "requests", "requests taken from the network");
    f.add("reads", stats_.reads, "requests", "reads among them");
    f.add("passed", stats_.passed, "requests", "writes and atomics, which are not merged");
    f.add("merged", stats_.merged, "requests", "reads merged into an entry and not sent to the slice");
    f.add("allocated", stats_.allocated, "requests", "reads sent to the slice, each with a new entry");
    f.add("sectors_in", stats_.reads * sectors, "sectors", "32-byte sectors requested by reads");
    f.add("sectors_out", stats_.allocated * sectors, "sectors", "32-byte sectors requested from the slice");
    f.add("requests_out", stats_.requests_out, "requests", "requests sent to the slice");
    f.add("closed", stats_.closed, "entries", "entries closed to further merges by a write or atomic");
    f.add("replies_in", stats_.replies_in, "packets", "replies of the slice");
    f.add("completed", stats_.completed, "entries", "entries whose reads have all been answered");
    f.add("answered", stats_.answered, "requests", "reads answered");
    f.add("replies_out", stats_.replies_out, "packets", "replies sent to the network");
    f.add("stalls", stats_.stalls, "requests", "requests that stalled because all entries were in use");
    f.add("full_cycles", stats_.full_cycles + (full_since_ == kNotFull ? 0 : now - full_since_), "L2 cycles",
          "cycles in which a request stalled because all entries were in use");
    f.add("entry_cycles", stats_.entry_cycles + table_.in_use() * now, "entry cycles",
          "L2 cycles from allocation to the last reply, summed over entries; divided by cycles and slices: entries in use");
}

void RequestCoalescer::gauges(StatFields& f) const {
    f.group("lrc");
    f.add("waiting", held(), "requests", "reads that wait for the reply of an entry");
    f.add("entries", table_.in_use(), "entries", "entries in use");
}

void RequestCoalescer::stages(Stages& out) {
    out.group("lrc");
    out.add(queue_, "queue", "before the request coalescer, behind other requests, or because it or the slice has no space");
    out.add(replying_, "reply", "the reply waits for other replies of its entry or for network credits");
}

void RequestCoalescer::explain(std::vector<Wait>& waits) const {
    if (links_.to_network->sender_waits()) waits.push_back({this, links_.to_network->receiver(), links_.to_network->describe_wait(), true});
    if (links_.to_slice->sender_waits()) waits.push_back({this, links_.to_slice->receiver(), links_.to_slice->describe_wait(), true});
    if (table_.in_use() != 0) {
        waits.push_back({this, links_.from_slice->sender(),
                         fmt::format("{} reads wait for the replies of {} entries", held(), table_.in_use()), false});
    }
}

}  // namespace mergelane
