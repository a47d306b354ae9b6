// SPDX-License-Identifier: MIT
#include "sm/in_order_front.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

InOrderFront::InOrderFront(const FrontContext& context)
    : lsu_(context.lsu),
      l1_spec_(context.l1),
      loads_(context.loads),
      port_(context.port),
      shared_(context.shared),
      schedulers_(context.sm.schedulers),
      share_(context.sm.sub_cores ? std::max(context.lsu.queue / context.sm.schedulers, 1u) : context.lsu.queue),
      issue_limit_(context.lsu.issue_limit == 0 ? ~0u : context.lsu.issue_limit),
      lower_limit_(std::min(share_, issue_limit_)),
      block_shift_(index_bits(context.lsu.block_bytes)),
      l1_(context.l1, context.policies),
      queue_(context.lsu.queue),
      lists_(context.lsu.queue) {
    for (std::uint32_t w = 0; w < context.sm.warps; ++w) {
        scheduler_of_[w] = static_cast<std::uint8_t>(w % schedulers_);
        scheduler_mask_[w % schedulers_] |= bit(w);
    }
    for (std::uint32_t i = context.lsu.queue; i > 0; --i) free_lists_.push_back(static_cast<std::uint16_t>(i - 1));
}

void InOrderFront::launch(std::uint32_t shared_kib) {
    free_at_ = 0;
    l1_.begin_kernel(shared_kib);
}

/// Computes which warps cannot issue memory instructions, and which can issue nothing else.
void InOrderFront::refuse() {
    loads_full_ = loads_.full();
    all_refused_ = queue_.full() || loads_full_;
    for (std::uint32_t s = 0; s < schedulers_; ++s) refuse_as_taken(s);
}

/// The same for the warps of one scheduler, if nothing else has changed.
void InOrderFront::refuse_as_taken(std::uint32_t scheduler) {
    const std::uint64_t warps = scheduler_mask_[scheduler];
    const std::uint32_t taken = taken_[scheduler];
    refused_ = all_refused_ || taken >= share_ ? refused_ | warps : refused_ & ~warps;
    held_back_ = taken >= issue_limit_ ? held_back_ | warps : held_back_ & ~warps;
}

void InOrderFront::accept(const MemoryAccess& access, Cycle now) {
    const StaticInst& inst = *access.inst;
    if (queue_.empty()) sleep_until(std::max(now + 1, free_at_));
    Entry& entry = queue_.claim();
    entry.inst = &inst;
    entry.cta = access.cta;
    entry.warp = static_cast<std::uint8_t>(access.warp);
    entry.scheduler = scheduler_of_[access.warp];
    entry.slot = static_cast<std::uint8_t>(access.slot);
    entry.next = 0;
    entry.begun = false;
    entry.blocks = free_lists_.back();
    free_lists_.pop_back();
    std::uint32_t requests = 1;
    if (inst.space == Space::shared) {
        entry.degree = shared_.degree(*access.lanes, access.active, inst.lane_bytes);
        entry.followed = port_.followed().is_turn(shared_turn_++);
    } else {
        BlockList& blocks = lists_[entry.blocks];
        coalesce_access(access, lsu_, l1_spec_, port_.describes_reads(), blocks);
        requests = blocks.count;
        entry.followed = inst.op != OpClass::store && follows_one_of(blocks, now);
    }
    if (entry.followed) [[unlikely]]
        entry.parked = parked_until(now);
    loads_.coalesced(access, inst.space == Space::shared ? entry.degree : requests);
    if (inst.op == OpClass::store && inst.space != Space::shared)
        loads_.listener().store_split(access.warp, requests - 1);
    else
        entry.load = loads_.open(inst, access.warp, access.issued, requests);
    waiting_ = static_cast<std::uint32_t>(queue_.size() - 1);
    const bool reached = ++taken_[entry.scheduler] >= lower_limit_;
    if (queue_.full() || loads_.full())
        refuse();
    else if (reached)
        refuse_as_taken(entry.scheduler);
}

/// Of many blocks one mostly is, and looking for it costs more than it saves.
inline bool InOrderFront::follows_one_of(const BlockList& blocks, Cycle now) const {
    constexpr std::uint32_t kMany = 4;
    if (blocks.count > kMany) return true;
    Addr last = ~Addr{0};
    for (std::uint32_t i = 0; i < blocks.count; ++i) {
        if (FollowedLines::line_of(blocks.block[i]) == last) continue;  // sectors of one line
        if (port_.followed().contains(blocks.block[i], now)) return true;
        last = FollowedLines::line_of(blocks.block[i]);
    }
    return false;
}

void InOrderFront::step(Cycle now) {
    if (parked_) {
        if (parked_why_ != L1Cache::Outcome::no_queue || !port_.room(now)) return plan_next(now);
        unpark(now);
    }
    serve_head(now);
    plan_next(now);
}

/// Returns false if the L1 cannot accept the block now, or there are no credits to send; the unit is parked.
[[gnu::always_inline]] inline bool InOrderFront::take_block(Entry& entry, const BlockList& blocks, Cycle now) {
    using Outcome = L1Cache::Outcome;
    const Addr block = blocks.block[entry.next];
    const bool room = port_.room(now);
    const OpClass op = entry.inst->op;
    Outcome outcome = Outcome::miss;
    if (op == OpClass::load && l1_spec_.enabled && !entry.inst->bypass_l1) {
        const L1Cache::Lookup lookup = l1_.read(l1_.for_slot(block, entry.slot), entry.load, room, now);
        outcome = lookup.outcome;
        if (outcome == Outcome::hit)
            resolve_hit(loads_, port_, entry.load, block, l1_spec_.hit_latency, now);
        else if (outcome == Outcome::miss)
            send(entry, blocks, PacketKind::read, static_cast<std::uint16_t>(lookup.mshr), now);
        if (outcome < Outcome::no_mshr) port_.accessed(entry.warp, block, now);
    } else if (!room) {
        outcome = Outcome::no_queue;
    } else if (op == OpClass::store) {
        if (l1_spec_.enabled && !l1_.write(l1_.for_slot(block, entry.slot), blocks.bytes[entry.next], now))
            outcome = Outcome::no_way;
        else
            send(entry, blocks, PacketKind::write, entry.warp, now);
    } else {
        send(entry, blocks, op == OpClass::atomic ? PacketKind::atomic : PacketKind::read, entry.load | kDirect, now);
    }
    if (outcome >= Outcome::no_mshr) {
        park(outcome, now);
        return false;
    }
    return true;
}

bool InOrderFront::handle_block(Entry& entry, const BlockList& blocks, Cycle now) {
    return take_block(entry, blocks, now);
}

void InOrderFront::serve_head(Cycle now) {
    Entry& entry = queue_.front();
    begin(entry, now);
    if (entry.inst->space == Space::shared) {
        free_at_ = now + entry.degree;
        const Cycle at = shared_.access(entry.degree, now);
        if (entry.followed) [[unlikely]]
            loads_.resolve(entry.load, {at, now * banks_.period, nullptr, banks_}, now);
        else
            loads_.resolve(entry.load, at, now);
        return pop();
    }
    const BlockList& blocks = lists_[entry.blocks];
    std::uint32_t banks_taken = 0;
    for (std::uint32_t k = 0; k < lsu_.blocks_per_cycle && entry.next < blocks.count; ++k) {
        if (lsu_.banks > 1) {
            const std::uint32_t bank = 1u << (blocks.block[entry.next] >> block_shift_) % lsu_.banks;
            if ((banks_taken & bank) != 0) break;
            banks_taken |= bank;
        }
        if (entry.followed && entry.next + 1 == blocks.count) [[unlikely]]
            note_parked(entry, now);
        if (!take_block(entry, blocks, now)) break;
        ++entry.next;
    }
    if (entry.next == blocks.count) pop();
}

void InOrderFront::send(const Entry& entry, const BlockList& blocks, PacketKind kind, std::uint16_t tag, Cycle now) {
    const Addr block = blocks.block[entry.next];
    const ByteMask& bytes = blocks.bytes[entry.next];
    Packet packet = kind == PacketKind::read ? read_request(*entry.inst, block, tag, port_.describes_reads() ? bytes.touched_words() : 0)
                                             : write_request(*entry.inst, kind, block, tag, bytes);
    port_.send(packet, entry.cta, now, entry.followed);
}

void InOrderFront::reply(const Packet& packet, Cycle now) {
    if (packet.kind == PacketKind::write_ack) {
        loads_.listener().store_answered(packet.tag, now);
        return;
    }
    if ((packet.tag & kDirect) != 0) {
        resolve_direct(loads_, port_, packet.tag & (kDirect - 1), packet, now);
    } else {
        if (!l1_.waits(packet.tag)) throw SimulationError("received a reply without an outstanding request");
        const Journey* const journey = journey_of(packet);
        for (const L1Cache::Target target : l1_.fill(packet.tag, now)) resolve_fill(loads_, target.load(), journey, target.since(), now);
        l1_.release(packet.tag);
    }
    if (loads_full_) refuse();
    if (!parked_ || parked_why_ == L1Cache::Outcome::no_queue) return;  // no reply frees space to send
    unpark(now);
    sleep_until(std::max(now, free_at_));
}

void InOrderFront::pop() {
    const Entry& entry = queue_.front();
    const std::uint32_t scheduler = entry.scheduler;
    loads_.looked_up(*entry.inst, l1_.stats(), port_.sent());
    --taken_[scheduler];
    free_lists_.push_back(entry.blocks);
    queue_.pop();
    waiting_ = static_cast<std::uint32_t>(queue_.size() - (queue_.empty() ? 0 : 1));
    if (all_refused_)
        refuse();
    else if (((refused_ | held_back_) & scheduler_mask_[scheduler]) != 0)
        refuse_as_taken(scheduler);
}

void InOrderFront::plan_next(Cycle now) {
    if (queue_.empty())
        sleep_until(kNever);
    else if (!parked_)
        sleep_until(std::max(now + 1, free_at_));
    else if (parked_why_ == L1Cache::Outcome::no_queue)
        wait_for(port_.link(), now);
    else
        sleep_until(kNever);  // until a reply frees resources in the L1
}

void InOrderFront::park(L1Cache::Outcome why, Cycle now) {
    parked_ = true;
    parked_why_ = why;
    parked_since_ = now;
}

void InOrderFront::unpark(Cycle now) {
    parked_ = false;
    parked_cycles_[reason_of(parked_why_)] += now - parked_since_;
}

InOrderFront::Parked InOrderFront::parked_until(Cycle now) const {
    Parked cycles = parked_cycles_;
    if (parked_ && now > parked_since_) cycles[reason_of(parked_why_)] += now - parked_since_;
    return cycles;
}

void InOrderFront::note_parked(Entry& entry, Cycle now) {
    const Parked until_now = parked_until(now);
    Cycle at = now;
    for (std::size_t r = until_now.size(); r-- > 0;) {
        const Cycle cycles = until_now[r] - entry.parked[r];
        if (cycles != 0) loads_.delay(entry.load, delayed_by_[r], at - cycles, at);
        at -= cycles;
    }
    entry.parked = until_now;
}

void InOrderFront::stats(StatFields& f, Cycle now) const {
    const auto parked = [cycles = parked_until(now)](L1Cache::Outcome why) { return cycles[reason_of(why)]; };
    f.group("lsu");
    f.add("parked_mshr", parked(L1Cache::Outcome::no_mshr), "cycles", "head of the load/store unit stalled: no free MSHR entry");
    f.add("parked_merge", parked(L1Cache::Outcome::no_merge_slot), "cycles",
          "head of the load/store unit stalled: no free merge slot in the MSHR entry");
    f.add("parked_way", parked(L1Cache::Outcome::no_way), "cycles",
          "head of the load/store unit stalled: every line of the set has a pending fill");
    f.add("parked_queue", parked(L1Cache::Outcome::no_queue), "cycles",
          "head of the load/store unit stalled: no credits to send a request");
    l1_.stats().fields(f);
}

void InOrderFront::stages(Stages& out) {
    declare(out, loads_, "behind other memory instructions in the load/store unit", "L1 port: behind other blocks of the same instruction");
    out.group("l1");
    out.add(delayed_by_[0], "mshrs_full", "no free MSHR entry in the L1");
    out.add(delayed_by_[1], "merge_limit", "no free merge slot in the MSHR entry of the L1");
    out.add(delayed_by_[2], "no_way", "every line of the L1's set has a pending fill");
    out.add(delayed_by_[3], "no_credits", "no credits to send a request to the cluster port");
    out.group("sm");
    out.add(banks_, "shared_memory", "latency of shared memory, with bank conflicts");
}

void InOrderFront::gauges(StatFields& f) const {
    f.group("lsu");
    f.add("queued", queue_.size(), "instructions", "memory instructions in the load/store unit");
    f.group("l1");
    f.add("mshrs", l1_.mshrs_in_use(), "entries", "L1 fills in flight");
}

}  // namespace mergelane
