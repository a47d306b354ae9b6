// SPDX-License-Identifier: MIT
#include "l2/slice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "l2/half_port.hpp"

namespace mergelane {

namespace {
/// Number of sectors in a line's mask, without relying on a popcount instruction.
std::uint32_t count_sectors(std::uint32_t mask) {
    return static_cast<std::uint32_t>(0x4332322132212110u >> (mask & 15) * 4 & 7);
}
}  // namespace

L2Slice::L2Slice(std::string name, const L2Spec& spec, const AddressMap& map, const PacketSizes& sizes, std::uint32_t index_in_channel,
                 const Policies& policies)
    : Component(std::move(name)),
      spec_(spec),
      map_(map),
      sizes_(sizes),
      index_(static_cast<std::uint8_t>(index_in_channel)),
      line_shift_(index_bits(spec.line_bytes)),
      tags_({spec.sets(), spec.ways, spec.set_hash, spec.replacement}, policies),
      mshrs_(spec.mshrs, spec.mshr_merges, false),
      output_(spec.output_queue) {
    Packet packet;
    packet.kind = PacketKind::read_reply;
    read_reply_flits_ = sizes.flits(packet);
    packet.kind = PacketKind::write_ack;
    write_ack_flits_ = sizes.flits(packet);
}

void L2Slice::connect(const Links& links) {
    links_ = links;
    // Without a cache, only the return path bounds the requests in flight.
    if (!spec_.enabled) mshrs_ = MshrFile<Packet>(links.from_dram->capacity(), 1, false);
}

std::uint8_t L2Slice::sectors_of(Addr local, std::uint32_t bytes) const {
    const Addr offset = local & (spec_.line_bytes - 1) & ~Addr{bytes - 1};
    return static_cast<std::uint8_t>(low_bits(bytes / kSectorBytes) << (offset / kSectorBytes));
}

void L2Slice::reply(const Packet& request, Cycle now) {
    Packet& packet = output_.claim();
    packet = request;
    packet.destination = request.source;
    if (request.kind == PacketKind::read) {
        packet.kind = PacketKind::read_reply;
        if (request.read.journey != nullptr) [[unlikely]]
            request.read.journey->enter(now);
    } else {
        packet.kind = request.kind == PacketKind::write ? PacketKind::write_ack : PacketKind::atomic_reply;
    }
}

inline void L2Slice::place(Addr address) {
    placed_ = address;
    local_ = map_.slice_local(address);
    set_ = tags_.set_of(local_ >> line_shift_);
}

/// Of a line of this half, or of an L2 that has none.
inline L2Slice::Blocked L2Slice::look_up_home(const Packet& packet, Cycle now) {
    // No line changes its tag while the head is stalled, so it is looked up only once.
    if (blocked_ == Blocked::no || blocked_ == Blocked::no_output) {
        if (packet.address != placed_) place(packet.address);
        line_ = tags_.find(set_, local_ >> line_shift_);
    }
    const Addr local = local_;
    const std::uint32_t set = set_;
    const std::uint32_t line = line_;
    if (packet.kind == PacketKind::write) return write(packet, local, set, line, now);
    // Reads need their whole block, atomics the sectors they touch.
    const std::uint8_t sectors = packet.kind == PacketKind::atomic ? static_cast<std::uint8_t>(packet.bytes.touched_sectors())
                                                                   : sectors_of(local, sizes_.block_bytes);
    return read_or_atomic(packet, local, set, line, sectors, now);
}

L2Slice::Blocked L2Slice::lookup(const Packet& packet, Cycle now) {
    if (output_.full()) return Blocked::no_output;
    if (!spec_.enabled) return pass_on(packet, now);
    if (special_) [[unlikely]]
        return residency_ != nullptr ? look_up_by_priority(packet, now) : look_up(packet, now);
    return look_up_home(packet, now);
}

L2Slice::Blocked L2Slice::look_up(const Packet& packet, Cycle now) {
    return copies_ && (packet.address & kCopyMark) != 0 ? look_for_copy(packet, now) : look_up_home(packet, now);
}

L2Slice::Blocked L2Slice::read_or_atomic(const Packet& packet, Addr local, std::uint32_t set, std::uint32_t line, std::uint8_t sectors,
                                         Cycle now) {
    const std::uint32_t sector_count = count_sectors(sectors);
    const bool atomic = packet.kind == PacketKind::atomic;
    if (line != kNoSlot && (tags_.valid(line) & sectors) == sectors) {
        tags_.touch(line);
        if (atomic) tags_.dirty(line) = static_cast<std::uint8_t>(tags_.dirty(line) | sectors);
        stats_.sector_hits += sector_count;
        reply(packet, now);
    } else {
        const Addr block = local & ~Addr{spec_.sector_bytes - 1};
        const std::uint8_t wanted = sectors_of(local, spec_.sector_bytes);
        const bool on_its_way = line != kNoSlot && (tags_.pending(line) & wanted) != 0;
        const std::uint32_t entry = on_its_way ? mshrs_.in_chain(tags_.fetch(line), block) : kNoSlot;
        if (entry != kNoSlot) {
            if (!mshrs_.can_merge(entry)) return Blocked::no_merge_slot;
            mshrs_.merge(entry, packet);
            if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
                journey->merge(filling_, now);
            stats_.sector_pending_hits += sector_count;
            ++stats_.merges;
        } else {
            if (mshrs_.full()) return Blocked::no_mshr;
            if (line == kNoSlot) {
                if (const Blocked blocked = take_line(local, set, 1, line, now); blocked != Blocked::no) return blocked;
            } else if (!links_.to_dram->can_send(now, 1)) {
                dram_slots_ = 1;
                return Blocked::no_dram_room;
            } else {
                tags_.touch(line);
            }
            if (Journey* const journey = journey_of(packet); journey != nullptr) [[unlikely]]
                journey->reach(Journey::Level::dram);
            const std::uint32_t taken = mshrs_.allocate(block, packet, line, now);
            std::uint8_t& pending = tags_.pending(line);
            mshrs_.chain(taken, tags_.fetch(line), pending == 0);
            pending = static_cast<std::uint8_t>(pending | wanted);
            links_.to_dram->send(now, {map_.channel_local_of(packet.address & ~Addr{spec_.line_bytes - 1}, index_), wanted,
                                       static_cast<std::uint16_t>(taken), index_, false, journey_of(packet)});
            stats_.sector_misses += sector_count;
            ++stats_.fetches;
        }
        ++waiting_;
    }
    ++(atomic ? stats_.atomics : stats_.reads);
    stats_.sector_accesses += sector_count;
    return Blocked::no;
}

/// Of a line of the other half: a reply is inserted, a read is answered by a copy, everything else is returned to the half port. A write or
/// atomic invalidates the copy. The mark in the address keeps such lines apart from those of this half.
L2Slice::Blocked L2Slice::look_for_copy(const Packet& packet, Cycle now) {
    const Addr local = map_.slice_local(packet.address);
    const std::uint32_t set = tags_.set_of(local >> line_shift_);
    std::uint32_t line = tags_.find(set, local >> line_shift_);
    const std::uint8_t sectors = sectors_of(local, sizes_.block_bytes);
    if (packet.kind == PacketKind::read_reply) {
        if (line == kNoSlot) {
            if (const Blocked blocked = take_line(local, set, 0, line, now); blocked != Blocked::no) return blocked;
        }
        tags_.fill(line, sectors);
        ++stats_.copies_filled;
        return Blocked::no;
    }
    if (packet.kind == PacketKind::read && line != kNoSlot && (tags_.valid(line) & sectors) == sectors) {
        const std::uint32_t sector_count = count_sectors(sectors);
        tags_.touch(line);
        stats_.sector_accesses += sector_count;
        stats_.sector_hits += sector_count;
        ++stats_.reads;
        reply(packet, now);
        return Blocked::no;
    }
    if (packet.kind != PacketKind::read && line != kNoSlot) {
        tags_.invalidate(line);
        ++stats_.copies_invalidated;
    }
    output_.push(packet);
    note_entry(packet, now);
    ++stats_.copies_missed;
    return Blocked::no;
}

/// Without a cache: DRAM reads and writes the requested sectors. An atomic does both, and the read answers it.
L2Slice::Blocked L2Slice::pass_on(const Packet& packet, Cycle now) {
    const bool reads = packet.kind != PacketKind::write;
    const bool writes = packet.kind != PacketKind::read;
    if (reads && mshrs_.full()) return Blocked::no_mshr;
    dram_slots_ = reads && writes ? 2 : 1;
    if (!links_.to_dram->can_send(now, dram_slots_)) return Blocked::no_dram_room;
    const std::uint32_t touched = writes ? packet.bytes.touched_sectors() : sectors_of(packet.address, sizes_.block_bytes);
    const Addr line = map_.channel_local_of(packet.address & ~Addr{spec_.line_bytes - 1}, index_);
    if (reads) {
        const std::uint32_t entry = mshrs_.allocate(line, packet, kNoSlot, now);
        links_.to_dram->send(now, {line, touched, static_cast<std::uint16_t>(entry), index_, false, journey_of(packet)});
        ++(writes ? stats_.atomics : stats_.reads);
        ++stats_.fetches;
        ++waiting_;
    } else {
        reply(packet, now);
        ++stats_.writes;
    }
    if (writes) {
        links_.to_dram->send(now, {line, touched, 0, index_, true});
        ++stats_.writebacks;
        stats_.sectors_written_back += count_sectors(touched);
    }
    return Blocked::no;
}

L2Slice::Blocked L2Slice::write(const Packet& packet, Addr local, std::uint32_t set, std::uint32_t line, Cycle now) {
    const std::uint32_t touched = packet.bytes.touched_sectors();
    const std::uint32_t sector_count = count_sectors(touched);
    const bool present = line != kNoSlot && (tags_.held(line) & touched) == touched;
    if (line == kNoSlot) {
        if (const Blocked blocked = take_line(local, set, 0, line, now); blocked != Blocked::no) return blocked;
    } else {
        tags_.touch(line);
    }
    tags_.write_bytes(line, packet.bytes);
    tags_.dirty(line) = static_cast<std::uint8_t>(tags_.dirty(line) | touched);
    reply(packet, now);
    ++stats_.writes;
    stats_.sector_accesses += sector_count;
    if (present) {
        stats_.sector_hits += sector_count;
    } else {
        stats_.sector_misses += sector_count;
        stats_.sector_write_misses += sector_count;
        ++stats_.write_misses;
    }
    return Blocked::no;
}

/// Allocates a line for a new tag and writes back its dirty sectors; `dram_slots` more requests must fit after that.
L2Slice::Blocked L2Slice::take_line(Addr local, std::uint32_t set, std::uint32_t dram_slots, std::uint32_t& line, Cycle now) {
    const std::uint64_t line_number = local >> line_shift_;
    const std::uint32_t victim = tags_.candidate(set);
    if (victim == kNoSlot) return Blocked::no_way;
    const std::uint32_t dirty = tags_.in_use(victim) ? tags_.dirty(victim) : 0;
    if (dirty != 0) ++dram_slots;
    if (dram_slots != 0 && !links_.to_dram->can_send(now, dram_slots)) {
        dram_slots_ = dram_slots;
        return Blocked::no_dram_room;
    }
    if (dirty != 0) {
        const Addr victim_address = tags_.tag(victim) << line_shift_;
        links_.to_dram->send(now, {map_.channel_local(victim_address, index_), dirty, 0, index_, true});
        ++stats_.writebacks;
        stats_.sectors_written_back += count_sectors(dirty);
    }
    tags_.install(victim, line_number);
    line = victim;
    return Blocked::no;
}

inline void L2Slice::fill(std::uint32_t entry, std::span<const Packet> targets, Cycle now) {
    const std::uint32_t line = mshrs_.line(entry);
    mshrs_.unchain(entry, tags_.fetch(line));
    tags_.fill(line, sectors_of(mshrs_.block(entry), spec_.sector_bytes));
    for (const Packet& packet : targets) {
        if (packet.kind == PacketKind::atomic)
            tags_.dirty(line) = static_cast<std::uint8_t>(tags_.dirty(line) | packet.bytes.touched_sectors());
        reply(packet, now);
    }
}

/// Returns false if a sector has arrived but there is no space for its replies.
bool L2Slice::finish_fetch(Cycle now) {
    const std::uint32_t entry = links_.from_dram->front().tag;
    const auto targets = mshrs_.targets(entry);
    if (output_.size() + targets.size() > output_.capacity()) return false;
    if (const Cycle arrived = links_.from_dram->head_arrival(); arrived != now || targets.size() != 1) join_journeys(targets, arrived, now);
    links_.from_dram->pop_and_release(now);
    if (spec_.enabled)
        fill(entry, targets, now);
    else
        reply(targets.front(), now);
    waiting_ -= targets.size();
    ++stats_.fills;
    stats_.fetch_latency += now - mshrs_.since(entry);
    mshrs_.release(entry);
    return true;
}

/// Since they were merged, the reads of an entry have gone the way of the first.
void L2Slice::join_journeys(std::span<const Packet> targets, Cycle arrived, Cycle now) {
    Journey* const first = journey_of(targets.front());
    if (first != nullptr) first->wait(filling_, arrived, now);
    for (const Packet& target : targets.subspan(1)) {
        Journey* const merged = journey_of(target);
        if (merged == nullptr) continue;
        if (first != nullptr)
            merged->follow(*first);
        else
            merged->reach(Journey::Level::merged);
    }
}

/// A stalled head is looked up again only after the event it waits for.
bool L2Slice::may_succeed(bool fetch_finished, Cycle now) {
    // An arriving sector may have made another line the victim, one that needs no write-back.
    if (fetch_finished) dram_slots_ = 1;
    switch (blocked_) {
        case Blocked::no_output: return !output_.full();
        case Blocked::no_dram_room: return links_.to_dram->can_send(now, dram_slots_);
        default: return fetch_finished;
    }
}

void L2Slice::send_reply(Cycle now) {
    const Packet& packet = output_.front();
    const std::uint32_t flits = packet.kind == PacketKind::read_reply  ? read_reply_flits_
                                : packet.kind == PacketKind::write_ack ? write_ack_flits_
                                                                       : sizes_.flits(packet);
    if (!links_.replies->can_send(now, flits)) return;
    note_exit(packet, replying_, now);
    links_.replies->send(now, packet, flits);
    output_.pop();
    ++stats_.replies;
}

/// The head goes on, or stalls for another reason than before.
void L2Slice::end_stall(const Packet& packet, Cycle now) {
    if (stalled_ != Blocked::no) {
        const Stage& why = stalled_by_[static_cast<std::size_t>(stalled_)];
        stalls_.add(why, stalled_since_, now);
        note_wait(packet, why, stalled_since_, now);
    }
    stalled_ = blocked_;
    stalled_since_ = now;
}

inline void L2Slice::look_at_head(Cycle now) {
    const Packet& packet = links_.requests->front();
    if (Journey* const journey = journey_of(packet); journey != nullptr && blocked_ == Blocked::no) [[unlikely]]
        stalls_.note(*journey, stalled_by_[0], links_.requests->head_arrival(), now);
    blocked_ = lookup(packet, now);
    if (blocked_ != stalled_) end_stall(packet, now);
    if (blocked_ != Blocked::no) return;
    links_.requests->pop_and_release(now);
    ++stats_.requests;
    // The next one is on its way for a while: what its lookup reads is fetched meanwhile.
    if (!spec_.enabled || links_.requests->head_arrival() == kNever) return;
    place(links_.requests->front().address);
    tags_.fetch_set(set_);
}

Cycle L2Slice::step(Cycle now) {
    // 1. A sector from DRAM answers all requests that wait for it.
    const std::uint32_t fetches = mshrs_.in_use();
    const bool fill_done = !links_.from_dram->has(now) || finish_fetch(now);
    // 2. The oldest request is looked up, or stalls. Hits must not take the space that a waiting fill needs.
    if (fill_done && links_.requests->has(now) && (blocked_ == Blocked::no || may_succeed(fetches != mshrs_.in_use(), now))) {
        look_at_head(now);
    }
    // 3. One reply enters the network.
    if (!output_.empty()) send_reply(now);

    // What cannot proceed waits for the event that unblocks it: replies leaving, DRAM queue space, a sector arriving.
    Cycle next = kNever;
    if (fill_done) {
        const Cycle arrival = links_.from_dram->head_arrival();
        if (arrival != kNever) mshrs_.fetch(links_.from_dram->front().tag);
        next = std::max(arrival, now + 1);
    }
    if (blocked_ == Blocked::no) next = std::min(next, std::max(links_.requests->head_arrival(), now + 1));
    if (links_.to_dram->sender_waits()) next = std::min(next, std::max(links_.to_dram->next_credit(), now + 1));
    // Replies that left in phase 3 may have freed the space that phases 1 and 2 lacked.
    if ((!fill_done || blocked_ == Blocked::no_output) && !output_.full()) next = now + 1;
    if (!output_.empty())
        next = std::min(next, links_.replies->sender_waits() ? std::max(links_.replies->next_credit(), now + 1) : now + 1);
    return next;
}

void L2Slice::stats(StatFields& f, Cycle) const {
    f.group("l2");
    f.add("requests", stats_.requests, "requests", "requests looked up");
    f.add("reads", stats_.reads, "requests", "read requests");
    f.add("writes", stats_.writes, "requests", "write requests");
    f.add("atomics", stats_.atomics, "requests", "atomic requests, executed at the slice");
    f.add("replies", stats_.replies, "packets", "replies and acknowledgements sent");
    f.add("sector_accesses", stats_.sector_accesses, "sectors", "32-byte sectors read, written or updated");
    f.add("sector_hits", stats_.sector_hits, "sectors", "sectors found valid");
    f.add("sector_misses", stats_.sector_misses, "sectors", "sectors not present (writes allocate without fetching)");
    f.add("sector_pending_hits", stats_.sector_pending_hits, "sectors", "hits on misses: sectors with a pending fill");
    f.add("sector_write_misses", stats_.sector_write_misses, "sectors", "written sectors not present (part of sector_misses)");
    f.add("merges", stats_.merges, "requests", "reads and atomics merged into a pending fill");
    f.add("write_misses", stats_.write_misses, "requests", "writes of which some sector was not present");
    f.add("fetches", stats_.fetches, "requests", "read requests sent to DRAM");
    f.add("fills", stats_.fills, "requests", "DRAM reads that arrived");
    f.add("fetch_latency", stats_.fetch_latency, "L2 cycles", "cycles from miss to fill, summed over DRAM reads");
    f.add("writebacks", stats_.writebacks, "requests", "dirty lines written back");
    f.add("sectors_written_back", stats_.sectors_written_back, "sectors", "dirty sectors written back");
    if (residency_ != nullptr) residency_stats(f);
    if (!copies_) return;
    f.group("l2");
    f.add("copies_missed", stats_.copies_missed, "requests", "requests for the other half returned because no copy could answer them");
    f.add("copies_filled", stats_.copies_filled, "packets", "replies of the other half inserted as a copy");
    f.add("copies_invalidated", stats_.copies_invalidated, "lines", "copies invalidated by a write or atomic of the own half");
}

void L2Slice::stages(Stages& out) {
    const auto stalled_by = [&](Blocked why, std::string_view name, std::string_view meaning) {
        out.add(stalled_by_[static_cast<std::size_t>(why)], name, meaning);
    };
    out.group("l2");
    stalled_by(Blocked::no, "queue", "in the input queue, behind requests that are served one per cycle");
    stalled_by(Blocked::no_mshr, "mshrs_full", "the head of the input queue has no free MSHR entry");
    stalled_by(Blocked::no_merge_slot, "merge_limit", "the head of the input queue has no free merge slot in its MSHR entry");
    stalled_by(Blocked::no_way, "no_way", "the head of the input queue cannot allocate a line: every way of its set has a pending fill");
    stalled_by(Blocked::no_dram_room, "dram_queue_full", "the head of the input queue has no space in the queue to DRAM");
    stalled_by(Blocked::no_output, "output_full", "the head of the input queue has no space for its reply");
    out.add(filling_, "fill", "data has arrived from DRAM, but there is no space for the replies");
    out.add(replying_, "reply", "in the output queue, behind other replies or waiting for network credits");
}

void L2Slice::gauges(StatFields& f) const {
    f.group("l2");
    f.add("held", held(), "requests", "waiting for a fill, or as a reply for the network");
}

void L2Slice::explain(std::vector<Wait>& waits) const {
    if (!output_.empty() && links_.replies->sender_waits()) {
        waits.push_back({this, links_.replies->receiver(), links_.replies->describe_wait(), true});
    } else if (blocked_ == Blocked::no_dram_room) {
        waits.push_back({this, links_.to_dram->receiver(), links_.to_dram->describe_wait(), true});
    } else if (waiting_ != 0) {
        waits.push_back(
            {this, links_.from_dram->sender(), fmt::format("{} requests wait for {} fills from DRAM", waiting_, mshrs_.in_use()), false});
    }
}

}  // namespace mergelane
