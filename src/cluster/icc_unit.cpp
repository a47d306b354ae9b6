// SPDX-License-Identifier: MIT
#include "cluster/icc_unit.hpp"

#include <bit>

#include "core/bits.hpp"

namespace mergelane {

IccUnit::IccUnit(const IccSpec& icc, const CoalescedCacheSpec& cc, std::uint32_t sms, std::uint32_t block_bytes, const Policies& policies)
    : by_address_(icc.match == IccSpec::Match::address),
      close_on_store_(icc.on_store == IccSpec::OnStore::close),
      bypassing_loads_(icc.l1_bypassing_loads),
      invalidate_on_store_(cc.invalidate_on_store),
      sms_(sms),
      block_shift_(index_bits(block_bytes)),
      joinable_(icc.entries, kNobodyJoins),
      prints_(icc.entries + 16, 0),
      list_(icc.entries, 0),
      closed_(icc.entries, 0),
      tags_(std::size_t{icc.entries} * sms, 0),
      journeys_(tags_.size(), nullptr),
      hits_(cc.hit_queue) {
    free_.reserve(icc.entries);
    for (std::uint32_t i = icc.entries; i > 0; --i) free_.push_back(i - 1);
    if (cc.on) cache_.emplace(TagArray::Geometry{cc.entries / cc.ways_per_set(), cc.ways_per_set(), "plain", cc.replacement}, policies);
}

void IccUnit::begin_kernel() {
    if (cache_) cache_->invalidate_all();
}

bool IccUnit::request(Packet& packet, Cycle now) {
    // 1. Stores, atomics and other spaces pass through and invalidate their line here, cached or in flight.
    if (!may_merge(packet, bypassing_loads_)) {
        ++stats_.bypassed;
        if (packet.kind != PacketKind::read) see_store(packet.address);
        return true;
    }
    ++stats_.reads;
    // 2. The coalesced cache, in the same cycle as the merge table.
    if (const std::uint32_t line = cached_line(packet.address); line != kNoSlot) {
        cache_->touch(line);
        packet.kind = PacketKind::read_reply;
        hits_.push(packet);
        ++stats_.cache_hits;
        return false;
    }
    // 3. The merge table: join an entry, allocate one, or send the read untracked.
    const std::uint32_t entry = find(packet.address);
    if (entry == kNoSlot) {
        if (free_.empty())
            ++stats_.untracked_full;
        else
            allocate(packet, now);
        return true;
    }
    if ((list_[entry] & bit(packet.sm)) != 0) {  // one bit per SM cannot count to two
        ++stats_.untracked_same_sm;
        return true;
    }
    list_[entry] |= bit(packet.sm);
    remember(entry, packet, now);
    ++stats_.merged;
    return false;
}

void IccUnit::remember(std::uint32_t entry, const Packet& packet, Cycle now) {
    const std::size_t place = std::size_t{entry} * sms_ + packet.sm;
    tags_[place] = packet.tag;
    journeys_[place] = packet.read.journey;
    if (packet.read.journey != nullptr) packet.read.journey->merge(clock_, now);
}

void IccUnit::see_store(Addr block) {
    if (const std::uint32_t line = invalidate_on_store_ ? cached_line(block) : kNoSlot; line != kNoSlot) {
        cache_->invalidate(line);
        ++stats_.cache_invalidations;
    }
    if (!close_on_store_) return;
    const std::uint32_t entry = find(block);
    if (entry == kNoSlot) return;
    joinable_[entry] = kNobodyJoins;
    closed_[entry] = 1;
    ++stats_.closed;
}

void IccUnit::allocate(Packet& packet, Cycle now) {
    const std::uint32_t entry = free_.back();
    free_.pop_back();
    if (free_.empty()) full_since_ = now;
    joinable_[entry] = packet.address;
    prints_[entry] = fingerprint(packet.address);
    list_[entry] = bit(packet.sm);
    closed_[entry] = 0;
    remember(entry, packet, now);
    note_entry(packet, now + 1);
    packet.read.flags |= ReadFields::kTracked;
    if (whole_lines_) packet.read.wanted = 0;
    packet.read.tracker = static_cast<std::uint16_t>(entry);
    ++stats_.allocated;
    stats_.entry_cycles -= now;
}

std::uint64_t IccUnit::begin_delivery(const Packet& reply) {
    std::uint32_t entry = kNoSlot;
    if (reply.kind == PacketKind::read_reply) {
        const bool tracked = (reply.read.flags & ReadFields::kTracked) != 0;
        if (by_address_)
            entry = find(reply.address);
        else if (tracked)
            entry = reply.read.tracker;
        if (tracked ? entry != reply.read.tracker : entry != kNoSlot) ++stats_.misdelivered;
    }
    delivering_ = entry;
    if (entry == kNoSlot) return 0;
    joinable_[entry] = kNobodyJoins;
    if (std::popcount(list_[entry]) > 1) {
        ++stats_.broadcasts;
        if (closed_[entry] == 0) fill_cache(reply.address);
        join_journeys(entry, reply);
    }
    return list_[entry];
}

/// Since they were merged, the requests of an entry have gone the way of the one that was sent.
void IccUnit::join_journeys(std::uint32_t entry, const Packet& reply) {
    const Journey* const sent = reply.read.journey;
    if (sent == nullptr) return;
    for (std::uint64_t sms = list_[entry]; sms != 0; sms &= sms - 1) {
        Journey* const merged = journeys_[std::size_t{entry} * sms_ + lowest_bit(sms)];
        if (merged != nullptr && merged != sent) merged->follow(*sent);
    }
}

Packet IccUnit::copy_for(const Packet& reply, std::uint32_t sm) {
    Packet copy = reply;
    copy.sm = sm & Packet::kSmMask;
    copy.tag = tags_[std::size_t{delivering_} * sms_ + sm];
    copy.read.journey = journeys_[std::size_t{delivering_} * sms_ + sm];
    list_[delivering_] &= ~bit(sm);
    ++stats_.answered;
    return copy;
}

void IccUnit::end_delivery(const Packet&, Cycle now) {
    ++stats_.network_replies;
    if (delivering_ == kNoSlot) return;
    ++stats_.tracked_replies;
    if (free_.empty()) stats_.full_cycles += now - full_since_;
    free_.push_back(delivering_);
    stats_.entry_cycles += now;
}

void IccUnit::own_reply_sent() {
    hits_.pop();
    ++stats_.cache_answered;
}

void IccUnit::fill_cache(Addr block) {
    if (!cache_) return;
    const std::uint64_t number = block >> block_shift_;
    const std::uint32_t set = cache_->set_of(number);
    if (cache_->find(set, number) != kNoSlot) return;
    const std::uint32_t line = cache_->candidate(set);
    if (cache_->in_use(line)) ++stats_.cache_evictions;
    cache_->install(line, number);
    ++stats_.cache_fills;
}

std::uint64_t IccUnit::waiting() const {
    std::uint64_t sum = hits_.size();
    for (const std::uint64_t sms : list_) sum += static_cast<std::uint64_t>(std::popcount(sms));
    return sum;
}

std::uint32_t IccUnit::cached_line(Addr block) const {
    const std::uint64_t number = block >> block_shift_;
    return cache_ ? cache_->find(cache_->set_of(number), number) : kNoSlot;
}

void IccUnit::gauges(StatFields& f) const {
    f.group("icc");
    f.add("waiting", waiting(), "requests", "reads not yet answered: merged into an entry, or hits of the coalesced cache");
    f.add("entries", in_use(), "entries", "merge-table entries in use");
}

void IccUnit::stats(StatFields& f, Cycle now) const {
    f.group("icc");
    f.add("reads", stats_.reads, "requests", "global reads presented to the merge table and the coalesced cache");
    f.add("bypassed", stats_.bypassed, "requests", "stores, atomics and other reads that bypassed the merge table");
    f.add("allocated", stats_.allocated, "requests", "reads sent to the network with a new merge-table entry");
    f.add("merged", stats_.merged, "requests", "reads merged into an entry and not sent");
    f.add("untracked_full", stats_.untracked_full, "requests", "reads sent without an entry because the merge table was full");
    f.add("untracked_same_sm", stats_.untracked_same_sm, "requests",
          "reads sent without an entry because their SM already waited in the line's entry");
    f.add("closed", stats_.closed, "entries", "entries closed to further SMs by a store or atomic to their line");
    f.add("network_replies", stats_.network_replies, "packets", "network replies delivered");
    f.add("tracked_replies", stats_.tracked_replies, "packets", "replies that answered an entry");
    f.add("broadcasts", stats_.broadcasts, "packets", "replies that answered several SMs");
    f.add("answered", stats_.answered, "requests", "copies delivered to the SMs of an entry");
    f.add("misdelivered", stats_.misdelivered, "packets", "replies that answered an entry other than their own; only with match = address");
    f.add("entry_cycles", stats_.entry_cycles + in_use() * now, "entry cycles",
          "cycles from allocation to release, summed over entries; divided by cycles and clusters: mean occupancy");
    f.add("full_cycles", stats_.full_cycles + (free_.empty() ? now - full_since_ : 0), "cycles", "cycles with a full merge table");
    f.group("cc");
    f.add("hits", stats_.cache_hits, "requests", "hits in the coalesced cache");
    f.add("answered", stats_.cache_answered, "requests", "hits delivered to their SM");
    f.add("fills", stats_.cache_fills, "lines", "lines inserted because several SMs requested them");
    f.add("evictions", stats_.cache_evictions, "lines", "lines evicted");
    f.add("invalidations", stats_.cache_invalidations, "lines", "lines invalidated by a store or atomic of the cluster");
}

}  // namespace mergelane
