// SPDX-License-Identifier: MIT
#include "sm/mrpb_front.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/result.hpp"

namespace mergelane {

void MrpbSpec::fields(SpecFields& f) {
    f.section("lsu.mrpb");
    f.belongs_to("lsu.front", {"mrpb"});
    f.integer("queues", queues, 1, 64, "queues", "per-warp queues of load requests; the lowest-numbered goes first");
    f.integer("queue_entries", queue_entries, 1, 256, "requests", "entries per queue");
}

void MrpbSpec::laws(LawBook& s) const {
    s.balance("mrpb.queued = mrpb.drained + in queues", s("mrpb.queued"), s("mrpb.drained") + s("mrpb.queued_requests"));
}

/// The line of a request, plus what WarpPool's paper counts for its warp, number and lane mapping.
void MrpbSpec::structures(const MachineFacts& machine, Structures& out) const {
    Structure s;
    s.component = "sm";
    s.plural = s.name = "request queues";
    s.instances = machine.sms;
    s.entries = std::uint64_t{queues} * queue_entries;
    s.data_bits = block_tag_bits(machine.block_bytes) + 23;
    s.per = "SM";
    s.uses = {{"writes", Structure::Access::write, {"mrpb.queued"}}, {"reads", Structure::Access::read, {"mrpb.drained"}}};
    out.add(std::move(s));
}

MrpbFront::MrpbFront(const FrontContext& context, const MrpbSpec& spec)
    : lsu_(context.lsu),
      l1_spec_(context.l1),
      loads_(context.loads),
      port_(context.port),
      warps_per_queue_(static_cast<std::uint32_t>(divide_up(context.sm.warps, spec.queues))),
      l1_(context.l1, context.policies),
      instructions_(context.lsu.queue),
      lists_(context.lsu.queue),
      queues_(spec.queues, Ring<Request>(spec.queue_entries)) {
    for (std::uint32_t i = context.lsu.queue; i > 0; --i) free_lists_.push_back(static_cast<std::uint16_t>(i - 1));
    const std::uint32_t loads = context.l1.mshrs * context.l1.mshr_merges + spec.queues * spec.queue_entries + context.lsu.queue;
    loads_.allow(std::min<std::uint32_t>(loads, kDirect - 0x100));
}

void MrpbFront::accept(const MemoryAccess& access, Cycle now) {
    if (access.inst->space == Space::shared) throw SimulationError("MRPB requires sm.shared_path = \"own\"");
    Instruction& instruction = instructions_.claim();
    instruction.inst = access.inst;
    instruction.cta = access.cta;
    instruction.next = 0;
    instruction.warp = static_cast<std::uint8_t>(access.warp);
    instruction.queue = static_cast<std::uint8_t>(access.warp / warps_per_queue_);
    instruction.blocks = free_lists_.back();
    free_lists_.pop_back();
    BlockList& blocks = lists_[instruction.blocks];
    coalesce_access(access, lsu_, l1_spec_, port_.describes_reads(), blocks);
    loads_.coalesced(access, blocks.count);
    if (access.inst->op == OpClass::store)
        loads_.listener().store_split(access.warp, blocks.count - 1);
    else
        instruction.load = loads_.open(*access.inst, access.warp, access.issued, blocks.count);
    waiting_ = static_cast<std::uint32_t>(instructions_.size() - 1);
    refuse();
    sleep_like(*this, now + 1);
}

/// The L1 accepts one request per cycle and the coalescer emits one. An access that bypasses the queues waits until its warp's queue is
/// empty; that queue is therefore drained first.
void MrpbFront::step(Cycle now) {
    waits_for_room_ = false;
    bool progress = false;
    Instruction* head = instructions_.empty() ? nullptr : &instructions_.front();
    const bool past = head != nullptr && goes_past(*head);
    const bool flushes = past && !queues_[head->queue].empty();
    if (head != nullptr && head->next == 0 && head->inst->op != OpClass::store) loads_.start(head->load, now);
    if (past && !flushes) progress = send_past(*head, now);
    if (!progress && queues_waiting_ != 0) progress = drain(flushes ? head->queue : lowest_bit(queues_waiting_), now);
    if (head != nullptr && !past) progress |= put_into_queue(*head, now);
    if (progress) return sleep_until(now + 1);
    if (waits_for_room_) return wait_for(port_.link(), now);
    sleep_until(kNever);  // until a reply frees resources in the L1, or an instruction arrives
}

bool MrpbFront::drain(std::uint32_t queue, Cycle now) {
    using Outcome = L1Cache::Outcome;
    const Request& request = queues_[queue].front();
    const L1Cache::Lookup lookup = l1_.read(request.block, request.load, port_.room(now), now);
    if (lookup.outcome >= Outcome::no_mshr) {
        waits_for_room_ = waits_for_room_ || lookup.outcome == Outcome::no_queue;
        return false;
    }
    if (lookup.outcome == Outcome::miss) {
        Packet packet = read_request(*request.inst, request.block, static_cast<std::uint16_t>(lookup.mshr), request.words);
        port_.send(packet, request.cta, now);
    } else if (lookup.outcome == Outcome::hit) {
        resolve_hit(loads_, port_, request.load, request.block, l1_spec_.hit_latency, now);
        refuse();
    }
    port_.accessed(request.warp, request.block, now);
    loads_.looked_up(*request.inst, l1_.stats(), port_.sent());
    ++drained_;
    queues_[queue].pop();
    if (queues_[queue].empty()) queues_waiting_ &= ~bit(queue);
    return true;
}

/// Stores, atomics and loads that bypass the L1.
bool MrpbFront::send_past(Instruction& instruction, Cycle now) {
    const BlockList& blocks = lists_[instruction.blocks];
    const Addr block = blocks.block[instruction.next];
    const ByteMask& bytes = blocks.bytes[instruction.next];
    if (!port_.room(now)) {
        waits_for_room_ = true;
        return false;
    }
    const OpClass op = instruction.inst->op;
    if (op == OpClass::store && l1_spec_.enabled && !l1_.write(block, bytes, now)) return false;
    const auto tag = static_cast<std::uint16_t>(op == OpClass::store ? instruction.warp : instruction.load | kDirect);
    const StaticInst& inst = *instruction.inst;
    Packet packet = op == OpClass::load
                        ? read_request(inst, block, tag, port_.describes_reads() ? bytes.touched_words() : 0)
                        : write_request(inst, op == OpClass::store ? PacketKind::write : PacketKind::atomic, block, tag, bytes);
    port_.send(packet, instruction.cta, now);
    loads_.looked_up(*instruction.inst, l1_.stats(), port_.sent());
    ++past_;
    advance(instruction);
    return true;
}

bool MrpbFront::put_into_queue(Instruction& instruction, Cycle now) {
    Ring<Request>& queue = queues_[instruction.queue];
    if (queue.full()) return false;
    const BlockList& blocks = lists_[instruction.blocks];
    const std::uint32_t words = port_.describes_reads() ? blocks.bytes[instruction.next].touched_words() : 0;
    queue.push({blocks.block[instruction.next], instruction.inst, instruction.cta, words, instruction.load, instruction.warp});
    port_.queued(instruction.warp, blocks.block[instruction.next], now);
    queues_waiting_ |= bit(instruction.queue);
    ++queued_;
    advance(instruction);
    return true;
}

void MrpbFront::advance(Instruction& instruction) {
    if (++instruction.next != lists_[instruction.blocks].count) return;
    free_lists_.push_back(instruction.blocks);
    instructions_.pop();
    waiting_ = static_cast<std::uint32_t>(instructions_.size() - (instructions_.empty() ? 0 : 1));
    refuse();
}

void MrpbFront::reply(const Packet& packet, Cycle now) {
    if (packet.kind == PacketKind::write_ack) return loads_.listener().store_answered(packet.tag, now);
    if ((packet.tag & kDirect) != 0) {
        resolve_direct(loads_, port_, packet.tag & (kDirect - 1), packet, now);
    } else {
        if (!l1_.waits(packet.tag)) throw SimulationError("received a reply without an outstanding request");
        const Journey* const journey = journey_of(packet);
        for (const L1Cache::Target target : l1_.fill(packet.tag, now)) resolve_fill(loads_, target.load(), journey, target.since(), now);
        l1_.release(packet.tag);
    }
    refuse();
    if (queues_waiting_ != 0 || !instructions_.empty()) sleep_until(now);
}

void MrpbFront::stats(StatFields& f, Cycle) const {
    f.group("mrpb");
    f.add("queued", queued_, "requests", "line requests of loads put into the queues");
    f.add("drained", drained_, "requests", "of these, requests that went to the L1");
    f.add("past", past_, "requests", "line requests of stores, atomics and loads that bypass the L1");
    l1_.stats().fields(f);
}

void MrpbFront::stages(Stages& out) {
    declare(out, loads_, "waiting for the coalescer", "in the per-warp queues, until the L1 accepts the block");
}

void MrpbFront::gauges(StatFields& f) const {
    std::uint64_t queued = 0;
    for (const auto& queue : queues_) queued += queue.size();
    f.group("mrpb");
    f.add("queued_requests", queued, "requests", "in the queues");
    f.add("queued_instructions", instructions_.size(), "instructions", "waiting for the coalescer or in it");
    f.group("l1");
    f.add("mshrs", l1_.mshrs_in_use(), "entries", "L1 fills in flight");
}

}  // namespace mergelane
