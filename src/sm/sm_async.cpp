// SPDX-License-Identifier: MIT
// Asynchronous operations of sm_90 (ADR 0048): mbarriers that count events, bulk copies, products of warpgroups.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "sm/sm.hpp"

namespace mergelane {

AsyncUnit& Sm::async_unit() {
    if (async_ == nullptr) {
        async_ = std::make_unique<AsyncUnit>(warps_.size());
        choose_step();
        wheel_occupied_ |= bit((last_step_ + 1) % kWheel);  // the step that is under way does not look at async_due_
    }
    return *async_;
}

/// Returns false if the warp waits and does not advance to its next instruction yet.
bool Sm::issue_async_op(std::uint32_t warp, const StaticInst& inst, Moment now) {
    switch (inst.async_op) {
        case AsyncOp::arrive:
        case AsyncOp::wait: return issue_mbarrier(warp, inst, now);
        case AsyncOp::bulk_load:
        case AsyncOp::bulk_store:
        case AsyncOp::bulk_reduce:
        case AsyncOp::bulk_prefetch: issue_bulk(warp, inst, now); return true;
        case AsyncOp::product:
        case AsyncOp::product_from_registers: issue_product(warp, inst, now); return true;
        case AsyncOp::bulk_group:
        case AsyncOp::bulk_read_group:
        case AsyncOp::product_group: return issue_group(warp, inst, now);
        case AsyncOp::cluster_arrive: async_unit(), arrive_at_cluster(warp, now); return true;
        case AsyncOp::cluster_wait: async_unit(); return !wait_for_copies(warp, now);
        default: return true;
    }
}

/// Ends a group of bulk stores or products, or waits for groups.
bool Sm::issue_group(std::uint32_t warp, const StaticInst& inst, Moment now) {
    AsyncUnit::Warp& mine = async_unit().warp(warp);
    if (inst.lane_bytes != StaticInst::kEndsGroup) return !wait_for_copies(warp, now);
    if (inst.async_op == AsyncOp::product_group) {
        mine.products.end_group(base_ + now);
    } else {
        mine.sent.end_group();
        mine.stored.end_group();
    }
    return true;
}

/// When the wait that the warp has issued is over; kNever: not known yet.
Cycle Sm::async_wait_over(std::uint32_t warp) const {
    const StaticInst& inst = *warps_[warp].inst;
    const AsyncUnit::Warp& mine = async_->warp(warp);
    switch (inst.async_op) {
        case AsyncOp::product_group: return mine.products.all_but(inst.lane_bytes);
        case AsyncOp::bulk_group: return mine.stored.all_but(inst.lane_bytes) ? 0 : kNever;
        case AsyncOp::bulk_read_group: return mine.sent.all_but(inst.lane_bytes) ? 0 : kNever;
        case AsyncOp::cluster_wait: return contexts_[warps_[warp].context].cluster_phase > mine.cluster_phase ? 0 : kNever;
        default: break;
    }
    const std::uint32_t context = warps_[warp].context;
    if (!async_->reached(context, warp)) return kNever;
    Cycle at = 0;
    for (std::uint32_t v = 0; v < mine.wait.count; v += 2) at = std::max(at, observed_copies(context, mine.wait.value[v]));
    return at;
}

void Sm::issue_bulk(std::uint32_t warp, const StaticInst& inst, Moment now) {
    const Warp& w = warps_[warp];
    if (w.active == 0) return;
    if (tma_ == nullptr)
        throw InputError(
            "the kernel has bulk copies, but the SMs have no tensor memory accelerator; set sm.tma.blocks_per_cycle, or use a "
            "machine that has one, such as h100");
    take_values(warp, inst);
    Context& context = contexts_[w.context];
    BulkCopy copy{inst.async_op, static_cast<std::uint8_t>(warp), w.context, context.cta, 0, BulkBox::of(lanes_), base_ + now};
    if (inst.op != OpClass::load) {
        AsyncUnit::Warp& mine = async_unit().warp(warp);
        copy.group = mine.stored.issued();
        mine.sent.issued();
    }
    copy.inst = &inst;
    if (by_instruction_ != nullptr) [[unlikely]] {
        std::uint64_t requests = 0;
        for (BulkBlocks blocks(copy.box, by_instruction_->block_bytes()); !blocks.done(); blocks.next()) ++requests;
        by_instruction_->copied(inst, requests);
    }
    ++stats_.memory_instructions;
    ++context.outstanding;
    bulk_.accept(copy);
    async_due_ = std::min(async_due_, bulk_.next(base_ + now));
}

void Sm::bulk_sent(const BulkCopy& copy, Cycle now) {
    if (copy.op != AsyncOp::bulk_store && copy.op != AsyncOp::bulk_reduce) return;
    async_unit().warp(copy.warp).sent.done(copy.group);
    release_waiting(bit(copy.warp), now);
}

void Sm::bulk_finished(const BulkCopy& copy, Cycle at, Cycle now) {
    if (copy.op == AsyncOp::bulk_load) {
        finish_bulk_load(copy, at, now);
    } else if (copy.op != AsyncOp::bulk_prefetch) {
        async_unit().warp(copy.warp).stored.done(copy.group);
        release_waiting(bit(copy.warp), now);
    }
    Context& context = contexts_[copy.context];
    --context.outstanding;
    maybe_finish(context);
}

/// An event at the mbarrier of each CTA that has received the copy.
void Sm::finish_bulk_load(const BulkCopy& copy, Cycle at, Cycle now) {
    if (copy.box.ranks == 0) {
        if (is_remote_address(copy.context, copy.box.barrier))
            send_event(copy.context, copy.box.barrier, at, now);
        else
            expect_event(copy.context, copy.box.barrier, at);
        return;
    }
    if ((copy.box.ranks >> contexts_[copy.context].rank & 1) != 0) expect_event(copy.context, copy.box.barrier, at);
    send_multicast(copy, copy.last_piece, true, now);
}

void Sm::bulk_arrived(const BulkCopy& copy, std::uint32_t bytes, Cycle now) {
    send_multicast(copy, bytes, false, now);
}

void Sm::bulk_answered(const Packet& packet, Cycle now) {
    bulk_.answered(packet, now);
    async_due_ = std::min(async_due_, bulk_.next(now));
}

/// A warp's part of a product occupies a tensor unit of its scheduler as soon as one is free; the warp goes on.
void Sm::issue_product(std::uint32_t warp, const StaticInst& inst, Moment now) {
    const Warp& w = warps_[warp];
    if (w.active == 0) return;
    if (wgmma_ == nullptr)
        throw InputError(
            "the kernel has products of matrices by warpgroups, but sm.wgmma.rate is 0; set it, or use a machine that has them, "
            "such as h100");
    constexpr std::uint32_t kTensor = 4;
    static_assert(kUnitNames[kTensor] == "tensor");
    const std::uint32_t columns = 8u * inst.lane_bytes;
    const std::uint32_t cycles = wgmma_->cycles(columns, inst.async_op == AsyncOp::product_from_registers, 4 * spec_.shared_banks);
    const std::uint32_t pool = sub_cores_ ? warp % scheduler_count_ : 0;
    Moment* const units = &unit_free_at_[kTensor][pool * unit_share_[kTensor]];
    Moment* const unit = std::min_element(units, units + unit_share_[kTensor]);
    *unit = std::max(*unit, now) + cycles;
    async_unit().warp(warp).products.issued(base_ + *unit);
    unit_long_until_[kTensor] = std::max(unit_long_until_[kTensor], *unit);
    const Moment soonest = *std::min_element(units, units + unit_share_[kTensor]);
    pool_free_at_[pool][kTensor] = soonest;
    if (soonest > now) pool_taken_[pool] |= 1u << kTensor;
    ++products_;
    product_cycles_ += cycles;
    stats_.lanes[static_cast<std::size_t>(OpClass::fence)] -= w.active_lanes;
    stats_.lanes[static_cast<std::size_t>(OpClass::tensor)] += w.active_lanes;
}

/// Of an instruction with values.
AsyncUnit::Values Sm::take_values(std::uint32_t warp, const StaticInst& inst) {
    const Warp& w = warps_[warp];
    AsyncUnit::Values values;
    lanes_.values = 0;
    contexts_[w.context].stream->addresses(w.index_in_cta, inst, w.active, lanes_);
    if (lanes_.values == 0) throw SimulationError(name() + ": an asynchronous operation has no values; record the trace again");
    values.count = lanes_.values;
    std::copy_n(lanes_.lane.begin(), lanes_.values, values.value.begin());
    return values;
}

bool Sm::issue_mbarrier(std::uint32_t warp, const StaticInst& inst, Moment now) {
    if (warps_[warp].active == 0) return true;
    AsyncUnit::Warp& mine = async_unit().warp(warp);
    const AsyncUnit::Values values = take_values(warp, inst);
    if (inst.async_op == AsyncOp::wait) {
        mine.wait = values;
        issue_word(warp, inst, values.value[0], now);
        return !wait_for_copies(warp, now);
    }
    mine.arrivals.push_back(values.count);
    mine.arrivals.insert(mine.arrivals.end(), values.value.begin(), values.value.begin() + values.count);
    issue_word(warp, inst, values.value[0], now);
    return true;
}

/// The access of an arrival to shared memory is done at `at`.
void Sm::arrivals_finished(std::uint32_t warp, Cycle at, Cycle now) {
    std::vector<Addr>& arrivals = async_unit().warp(warp).arrivals;
    const std::uint32_t context = warps_[warp].context;
    const auto count = static_cast<std::ptrdiff_t>(arrivals.front());
    for (std::ptrdiff_t v = 1; v <= count; ++v) {
        const Addr barrier = arrivals[static_cast<std::size_t>(v)];
        if (is_remote_address(context, barrier))
            send_event(context, barrier, now, now);  // the access was that of this SM's own path to shared memory
        else
            expect_event(context, barrier, at);
    }
    arrivals.erase(arrivals.begin(), arrivals.begin() + 1 + count);
}

void Sm::expect_event(std::uint32_t context, Addr barrier, Cycle at) {
    async_unit().expect({at, contexts_[context].cta, barrier, context});
    async_due_ = std::min(async_due_, at);
}

void Sm::step_async(Cycle now) {
    AsyncUnit& unit = async_unit();
    std::uint64_t affected = gpc_.connected() ? receive_from_gpc(now) : 0;  // warps
    while (unit.next_event() <= now) {
        const AsyncUnit::Event event = unit.take_event();
        const Context& context = contexts_[event.context];
        if (!context.used || context.cta != event.cta) continue;
        unit.barriers.count(event.context, event.barrier);
        affected |= context.warps;
    }
    const StaticInst* const copy = by_instruction_ != nullptr ? bulk_.current() : nullptr;
    const std::uint64_t sent = port_.sent();
    bulk_.step(now);
    if (copy != nullptr) by_instruction_->sent_copied(*copy, port_.sent() - sent);
    release_waiting(affected, now);
    if (gpc_.connected()) gpc_.step(now);
    async_due_ = std::min({unit.next_event(), bulk_.next(now), gpc_.next(now)});
}

/// ", 3 wait for asynchronous operations, warp 0 of CTA 5 for event 3 of the mbarrier at 0x400, which has counted 2"; empty: none waits.
std::string Sm::describe_waits() const {
    if (waits_copies_ == 0) return "";
    std::string text = fmt::format(", {} wait for asynchronous operations", std::popcount(waits_copies_));
    for (std::uint64_t waiting = waits_copies_; waiting != 0; waiting &= waiting - 1) {
        const std::uint32_t warp = lowest_bit(waiting);
        const Warp& w = warps_[warp];
        if (w.inst->async_op != AsyncOp::wait) continue;
        const AsyncUnit::Values& wait = async_->warp(warp).wait;
        for (std::uint32_t v = 0; v + 1 < wait.count; v += 2) {
            const std::uint64_t events = async_->barriers.events(w.context, wait.value[v]);
            if (events >= wait.value[v + 1]) continue;
            return text + fmt::format(", warp {} of CTA {} for event {} of the mbarrier at {:#x}, which has counted {}", w.index_in_cta,
                                      contexts_[w.context].cta, wait.value[v + 1], wait.value[v], events);
        }
    }
    return text;
}

}  // namespace mergelane
