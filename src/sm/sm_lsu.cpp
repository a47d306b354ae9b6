// SPDX-License-Identifier: MIT
// The load/store unit: one instruction at a time, so many blocks per cycle, parked while the L1 cannot take the head.
// A hit needs no event: its completion time is known at lookup and goes straight into the scoreboard.
#include <algorithm>

#include "core/bits.hpp"
#include "sm/sm.hpp"

namespace mergelane {

void Sm::step_lsu(Moment now) {
    if (lsu_.empty() || lsu_free_at_ > now) return;
    if (parked_) {
        if (parked_why_ != L1Cache::Outcome::no_queue || !links_.requests->can_send(base_ + now, 1)) return;
        unpark(now);
    }
    LsuEntry& entry = lsu_.front();
    if (entry.inst->space == Space::shared) {
        stats_.shared_bank_cycles += entry.degree;
        lsu_free_at_ = now + entry.degree;
        resolve(entry.load, now + spec_.shared_latency + entry.degree - 1, now);
        pop_lsu();
        return;
    }
    std::uint32_t banks_taken = 0;
    for (std::uint32_t k = 0; k < lsu_spec_.blocks_per_cycle && entry.next < entry.blocks.count; ++k) {
        if (lsu_spec_.banks > 1) {
            const std::uint32_t bank = 1u << (entry.blocks.block[entry.next] >> block_shift_) % lsu_spec_.banks;
            if ((banks_taken & bank) != 0) return;
            banks_taken |= bank;
        }
        if (!lsu_block(entry, now)) return;
        ++entry.next;
    }
    if (entry.next == entry.blocks.count) pop_lsu();
}

bool Sm::lsu_block(LsuEntry& entry, Moment now) {
    using Outcome = L1Cache::Outcome;
    const Addr block = entry.blocks.block[entry.next];
    const bool room = links_.requests->can_send(base_ + now, 1);
    const OpClass op = entry.inst->op;
    Outcome outcome = Outcome::miss;
    if (op == OpClass::load && l1_spec_.enabled && !entry.inst->bypass_l1) {
        const L1Cache::Lookup lookup = l1_.read(block, entry.load, room, base_ + now);
        outcome = lookup.outcome;
        if (outcome == Outcome::hit)
            resolve(entry.load, now + l1_spec_.hit_latency, now);
        else if (outcome == Outcome::miss)
            send(entry, PacketKind::read, static_cast<std::uint16_t>(lookup.mshr), now);
    } else if (!room) {
        outcome = Outcome::no_queue;
    } else if (op == OpClass::store) {
        if (l1_spec_.enabled && !l1_.write(block, entry.blocks.bytes[entry.next]))
            outcome = Outcome::no_way;
        else
            send(entry, PacketKind::write, entry.warp, now);
    } else {
        send(entry, op == OpClass::atomic ? PacketKind::atomic : PacketKind::read, entry.load | kDirect, now);
    }
    if (outcome >= Outcome::no_mshr) {
        park(outcome, now);
        return false;
    }
    return true;
}

void Sm::send(const LsuEntry& entry, PacketKind kind, std::uint16_t tag, Moment now) {
    Packet packet;
    packet.address = entry.blocks.block[entry.next];
    if (kind != PacketKind::read)
        packet.bytes = entry.blocks.bytes[entry.next];
    else if (describe_reads_ || entry.inst->space != Space::global || entry.inst->bypass_l1)
        packet.set_note(describe(entry));
    packet.source = cluster_;
    packet.tag = tag;
    packet.sm = index_;
    packet.kind = kind;
    links_.requests->send(base_ + now, packet);
    ++stats_.requests_sent;
    stats_.fetch_latency -= base_ + now;
    ++requests_outstanding_;
}

ReadNote Sm::describe(const LsuEntry& entry) const {
    ReadNote note;
    if (entry.inst->space != Space::global) note.flags |= ReadNote::kOtherSpace;
    if (entry.inst->bypass_l1) note.flags |= ReadNote::kBypassesL1;
    if (describe_reads_) {
        note.words = entry.blocks.bytes[entry.next].touched_words();
        note.cta = contexts_[warps_[entry.warp].context].cta;
    }
    return note;
}

void Sm::resolve(std::uint16_t index, Moment at, Moment now) {
    Load& load = loads_[index];
    load.latest = std::max(load.latest, at);
    if (--load.remaining != 0) return;
    if (load.inst->op != OpClass::store) {  // shared-memory stores pass here too
        ++stats_.loads;
        stats_.load_latency += load.latest - load.issued;
    }
    const std::uint32_t warp = load.warp;
    Moment* regs = &reg_ready_[std::size_t{warp} * register_slots_];
    for (std::uint32_t d = 0; d < load.inst->dst_count; ++d) regs[load.inst->regs[d]] = load.latest;
    free_loads_.push_back(index);
    if ((waits_memory_ & bit(warp)) != 0) reevaluate(warp, now);
    retire_transaction(warp, now);
}

void Sm::retire_transaction(std::uint32_t warp, Moment now) {
    Context& context = contexts_[warps_[warp].context];
    --context.outstanding;
    if (--warps_[warp].outstanding == 0 && (in_fence_ & bit(warp)) != 0) {
        in_fence_ &= ~bit(warp);
        resume(warp, now, now);
    }
    maybe_finish(context);
}

void Sm::pop_lsu() {
    --lsu_taken_[lsu_.front().warp % spec_.schedulers];
    lsu_.pop();
}

void Sm::park(L1Cache::Outcome why, Moment now) {
    parked_ = true;
    parked_why_ = why;
    parked_since_ = now;
}

void Sm::unpark(Moment now) {
    parked_ = false;
    const std::uint64_t cycles = now - parked_since_;
    switch (parked_why_) {
        case L1Cache::Outcome::no_mshr: stats_.lsu_parked_mshr += cycles; break;
        case L1Cache::Outcome::no_merge_slot: stats_.lsu_parked_merge += cycles; break;
        case L1Cache::Outcome::no_way: stats_.lsu_parked_way += cycles; break;
        default: stats_.lsu_parked_queue += cycles; break;
    }
}

}  // namespace mergelane
