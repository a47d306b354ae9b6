// SPDX-License-Identifier: MIT
// Residency and bookkeeping of the SM; its cycle, stalls and memory interface are in separate files.
#include "sm/sm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/meter.hpp"

namespace mergelane {

namespace {

/// Higher tags belong to bulk copies.
constexpr std::uint32_t kMostLoads = BulkEngine::kFirstTag - 0x8000u;

/// A section of a mechanism that is on; nullptr: it is off, or the policies of a test do not have it.
template <class T>
const T* section_of(const Sections& sections) {
    const std::vector<const T*> on = sections.enabled<T>();
    return on.empty() ? nullptr : on.front();
}

/// A load lives as long as one of its requests, so merge slots and queue entries bound their number; direct requests (atomics, L1 bypass)
/// share what is left.
std::uint32_t load_entries(const LsuSpec& lsu, const L1Spec& l1) {
    return std::min(std::max(256u, l1.mshrs * l1.mshr_merges + lsu.queue), kMostLoads);
}

}  // namespace

Sm::Sm(std::string name, const SmSpec& sm, const LsuSpec& lsu, const L1Spec& l1, std::uint32_t cluster, std::uint32_t index_in_cluster,
       const Policies& policies)
    : Component(std::move(name)),
      spec_(sm),
      scheduler_count_(sm.schedulers),
      all_schedulers_(static_cast<std::uint32_t>(low_bits(sm.schedulers))),
      sub_cores_(sm.sub_cores),
      shared_has_own_path_(sm.shared_path == SmSpec::SharedPath::own),
      port_(cluster, index_in_cluster),
      shared_(sm),
      loads_(load_entries(lsu, l1), *this),
      front_(policies.make<MemoryFront>(lsu.front, FrontContext{sm, lsu, l1, policies, loads_, port_, shared_})),
      wants_stores_(front_->wants_stores()),
      tma_(section_of<TmaSpec>(policies.sections())),
      wgmma_(section_of<WgmmaSpec>(policies.sections())),
      bulk_(tma_, lsu.block_bytes, port_, shared_, *this),
      meters_(observers(policies.sections(), &MeterSection::at_sm, SmPlace{lsu.block_bytes})),
      limit_(sm.warp_limit) {
    for (const auto& meter : meters_) observe(*meter);
    for (std::uint32_t s = 0; s < sm.schedulers; ++s) {
        schedulers_.push_back(policies.make<WarpScheduler>(sm.scheduler, sm));
        for (std::uint32_t w = s; w < sm.warps; w += sm.schedulers) scheduler_mask_[s] |= bit(w);
    }
    for (std::uint32_t c = 0; c < kComputeClasses; ++c) {
        const auto unit = static_cast<std::uint32_t>(std::find(kUnitNames.begin(), kUnitNames.end(), sm.exec[c].unit) - kUnitNames.begin());
        const std::uint32_t latency = sm.exec[c].latency + sm.pipeline_latency;
        const bool branch = c == static_cast<std::uint32_t>(OpClass::branch);  // no issue past an unresolved branch
        const bool scarce = sm.units[unit] < sm.schedulers;
        exec_[c] = {latency, branch ? latency : 1, sm.exec[c].interval, static_cast<std::uint8_t>(unit), scarce || sm.exec[c].interval > 1};
    }
    for (std::uint32_t u = 0; u < kUnits; ++u) unit_share_[u] = sm.sub_cores ? sm.units[u] / sm.schedulers : sm.units[u];
    for (std::uint32_t op = 0; op < unit_of_.size(); ++op) {
        unit_of_[op] = static_cast<std::uint8_t>(op < kComputeClasses                                ? exec_[op].unit
                                                 : op <= static_cast<std::uint32_t>(OpClass::atomic) ? kFront
                                                                                                     : kNoUnit);
    }
}

void Sm::connect(const Links& links) {
    links_ = links;
    port_.connect(*links.requests);
}

void Sm::launch(const KernelSource& kernel, std::uint32_t contexts, Cycle start) {
    const KernelInfo& info = kernel.info();
    base_ = start;
    last_step_ = 0;
    stalled_ = 0;
    explained_until_.fill(0);
    if (by_instruction_ != nullptr) by_instruction_->launch(kernel.listing());
    shared_.launch();
    async_.reset();
    async_due_ = gpc_.next(start);
    choose_step();
    for (auto& unit : unit_free_at_) unit.fill(0);
    for (auto& pool : pool_free_at_) pool.fill(0);
    pool_taken_.fill(0);
    unit_long_until_.fill(0);
    warps_per_cta_ = info.warps_per_cta();
    in_clusters_ = info.cluster_ctas() > 1;
    if (const std::uint32_t slots = std::max(info.register_slots, 1u); slots != register_slots_) {
        register_slots_ = slots;
        reg_ready_.reset(new Moment[std::size_t{spec_.warps} * slots]);
        for (std::uint32_t w = 0; w < spec_.warps; ++w) warps_[w].regs = &reg_ready_[std::size_t{w} * slots];
    }
    contexts_.clear();
    contexts_.resize(contexts);
    for (Context& context : contexts_) context.stream = kernel.make_stream();
    ctas_by_age_.clear();
    ctas_by_age_.reserve(contexts);
    front_->launch(static_cast<std::uint32_t>(divide_up(std::uint64_t{info.shared_bytes} * contexts, 1024)));
}

L1Stats Sm::l1_stats() const {
    const L1Cache* const l1 = front_->l1();
    return l1 != nullptr ? l1->stats() : by_instruction_->l1();
}

void Sm::count_by_instruction(std::uint32_t block_bytes, std::size_t stages) {
    by_instruction_ = std::make_unique<InstructionTable>(block_bytes, 4 * spec_.shared_banks, stages);
    loads_.count_by(*by_instruction_);
}

void Sm::take_instructions(InstructionTable::Rows& sum) {
    // Instructions of the current runs that were not issued, if the kernel was stopped.
    for (std::uint64_t warps = resident_ & ~finished_; warps != 0; warps &= warps - 1) {
        const std::uint32_t warp = lowest_bit(warps);
        const Warp& w = warps_[warp];
        const std::uint32_t issued = ((at_barrier_ | in_fence_ | waits_copies_) & bit(warp)) != 0 ? 1 : 0;
        if (w.run_left > issued) by_instruction_->fetched({w.inst + issued, w.run_left - issued, w.active}, w.active_lanes, false);
    }
    // What no front end has claimed.
    static constexpr StaticInst kNobody = {.pc = kAddedPc, .op = OpClass::exit, .l2_hint = {}};
    by_instruction_->looked_up_last(kNobody, l1_stats(), port_.sent());
    by_instruction_->take(sum);
}

void Sm::start_cta(const CtaMessage& message, Moment now) {
    const std::uint64_t cta = message.cta;
    const auto found = message.slot == CtaMessage::kAnySlot
                           ? std::find_if(contexts_.begin(), contexts_.end(), [](const Context& c) { return !c.used; })
                           : contexts_.begin() + message.slot;
    if (found == contexts_.end() || found->used) throw SimulationError(name() + ": a CTA was dispatched to a full SM");
    Context& context = *found;
    if (resident_ == 0) active_since_ = base_ + now;
    context.used = true;
    context.cta = cta;
    context.cluster = message.cluster;
    context.rank = message.rank;
    context.ranks = message.ranks;
    context.arrived = context.cluster_phase = 0;
    context.warps = 0;
    context.live = warps_per_cta_;
    context.stream->open(cta);
    if (async_ != nullptr) async_->barriers.forget(static_cast<std::uint32_t>(found - contexts_.begin()));
    for (std::uint32_t i = 0; i < warps_per_cta_; ++i) {
        // CTAs of a kernel have the same number of warps and take the lowest free slot, so slot k has the warps from k times that number
        // on.
        const std::uint32_t warp = static_cast<std::uint32_t>(found - contexts_.begin()) * warps_per_cta_ + i;
        resident_ |= bit(warp);
        context.warps |= bit(warp);
        warps_[warp].context = static_cast<std::uint8_t>(found - contexts_.begin());
        warps_[warp].index_in_cta = static_cast<std::uint8_t>(i);
        warps_[warp].outstanding = 0;
        finished_ &= ~bit(warp);
        if (!copies_.empty()) copies_[warp].clear();
        if (async_ != nullptr) async_->warp(warp).clear();
        std::fill_n(warps_[warp].regs, register_slots_, 0);
    }
    ctas_by_age_.push_back(context.warps);
    ++stats_.ctas_started;
    if (WorkObserver* const observer = loads_.observer(); observer != nullptr)
        observer->cta_started(cta, static_cast<std::uint32_t>(found - contexts_.begin()), base_ + now);
    for (std::uint64_t warps = context.warps; warps != 0; warps &= warps - 1) {
        const std::uint32_t warp = lowest_bit(warps);
        warps_[warp].run_left = 0;
        warps_[warp].next_unit = kNoUnit;
        resume(warp, now, now);
    }
}

void Sm::finish_warp(std::uint32_t warp, Moment now) {
    changed_ |= bit(warp);
    finished_ |= bit(warp);
    unit_mask_[warps_[warp].next_unit] &= ~bit(warp);
    Context& context = contexts_[warps_[warp].context];
    --context.live;
    if (in_clusters_) check_cluster_barrier(context, now);
    for (std::uint32_t left = context.barriers; left != 0; left &= left - 1) check_barrier(context, lowest_bit(left), now);
    maybe_finish(context);
}

void Sm::maybe_finish(Context& context) {
    if (context.live != 0 || context.outstanding != 0 || !context.used) return;
    changed_ |= context.warps;
    context.used = false;
    resident_ &= ~context.warps;
    finished_ &= ~context.warps;
    ctas_by_age_.erase(std::find(ctas_by_age_.begin(), ctas_by_age_.end(), context.warps));
    ++stats_.ctas_finished;
    const Cycle now = base_ + last_step_;
    last_finish_ = now;
    const auto slot = static_cast<std::uint32_t>(&context - contexts_.data());
    if (WorkObserver* const observer = loads_.observer(); observer != nullptr) observer->cta_finished(slot, now);
    if (resident_ == 0) stats_.active_cycles += now - active_since_;
    links_.done->can_send(now, 1);  // always true; reclaims credits
    links_.done->send(now, {context.cta, slot});
}

/// Accepts everything that has arrived. Returns when the next message arrives.
Cycle Sm::receive(Moment now) {
    const Cycle cycle = base_ + now;
    Cycle work = links_.work->head_arrival();
    for (; work <= cycle; work = links_.work->head_arrival()) start_cta(links_.work->pop_and_release(cycle), now);
    Cycle reply = links_.replies->head_arrival();
    for (; reply <= cycle; reply = links_.replies->head_arrival()) {
        port_.answered(links_.replies->front().kind, cycle);
        const Packet packet = links_.replies->pop_and_release(cycle);
        if (packet.tag >= BulkEngine::kFirstTag) [[unlikely]]
            bulk_answered(packet, cycle);
        else
            front_->reply(packet, cycle);
        port_.forget(packet);
    }
    if (reply != kNever) front_->expect(links_.replies->front());
    return std::min(work, reply);
}

void Sm::stages(Stages& out) {
    port_.set_clock(out.clock());
    front_->stages(out);
    out.group("sm");
    out.add(shared_stage_, "shared_memory", "latency of shared memory, with bank conflicts");
    if (gpc_.connected()) out.add(remote_stage_, "remote_shared_memory", "accesses to shared memory of other CTAs of the cluster");
}

void Sm::stats(StatFields& f, Cycle now) const {
    const auto stalls = stalls_until(now);
    const auto stall = [&](Stall reason) { return stalls[static_cast<std::size_t>(reason)]; };

    f.group("sm");
    f.add("warp_instructions", stats_.warp_instructions, "warp instructions", "warp instructions issued");
    const std::uint64_t lanes = std::accumulate(stats_.lanes.begin(), stats_.lanes.end(), std::uint64_t{0});
    f.add("thread_instructions", lanes, "thread instructions", "active lanes over all warp instructions");
    f.add("active_cycles", stats_.active_cycles + (resident_ != 0 && now > active_since_ ? now - active_since_ : 0), "cycles",
          "cycles with resident warps");
    f.add("ctas_started", stats_.ctas_started, "CTAs", "CTAs placed on an SM");
    f.add("ctas_finished", stats_.ctas_finished, "CTAs", "CTAs whose warps finished and whose memory transactions were answered");
    f.add("memory_instructions", stats_.memory_instructions, "warp instructions", "global and local loads, stores and atomics");
    f.add("shared_instructions", stats_.shared_instructions, "warp instructions", "shared-memory accesses");
    f.add("shared_bank_cycles", shared_.bank_cycles(), "cycles",
          "cycles in which the shared-memory banks were occupied, including conflicts");
    f.add("loads", stats_.loads, "warp instructions", "loads and atomics completed");
    f.add("load_latency", stats_.load_latency, "cycles", "cycles from issue until the value is available, summed over loads");
    port_.stats(f, now);
    SmStats::Waiting waiting = stats_.waiting;
    if (const Cycle next_cycle = base_ + last_step_ + 1; now > next_cycle) count_waiting(waiting, now - next_cycle);
    f.add("ready_warps", waiting.ready, "warp cycles", "warps that could issue, summed over cycles");
    f.add("lsu_waiting", waiting.operations, "instruction cycles",
          "memory instructions that only the load/store unit delays (rejected at issue, or in its queue), summed over cycles");
    f.add("lsu_waiting_cycles", waiting.cycles, "cycles", "cycles with at least one such instruction");
    f.add("stall_lsu", stall(Stall::lsu_busy), "scheduler cycles",
          "no issue: the load/store unit cannot accept the ready memory instructions");
    f.add("stall_unit", stall(Stall::unit_busy), "scheduler cycles",
          "no issue: the execution unit is busy, or waiting memory instructions occupy the operand collectors (lsu.issue_limit)");
    f.add("stall_memory", stall(Stall::memory), "scheduler cycles", "no issue: warps wait for loaded values");
    f.add("stall_dependency", stall(Stall::dependency), "scheduler cycles", "no issue: warps wait for computed values");
    f.add("stall_barrier", stall(Stall::barrier), "scheduler cycles", "no issue: warps wait at a CTA barrier or fence");
    f.add("stall_drain", stall(Stall::drain), "scheduler cycles",
          "no issue: warps have finished, but memory transactions of their CTA are outstanding");
    front_->stats(f, now);
    if (tma_ != nullptr) bulk_.stats(f);
    if (wgmma_ != nullptr) {
        f.group("wgmma");
        f.add("products", products_, "products", "products of matrices by a warp of a warpgroup");
        f.add("unit_cycles", product_cycles_, "cycles", "cycles for which they occupied a tensor unit");
    }
    if (gpc_.connected()) {
        f.group("dsm");
        gpc_.stats(f);
    }
    for (const SmObserver* observer : port_.observers()) observer->stats(f, now);
    f.group("lanes");
    for (std::uint32_t c = 0; c < kOpClasses; ++c) {
        f.add(c < kComputeClasses ? kComputeClassNames[c] : kOtherClassNames[c - kComputeClasses], stats_.lanes[c], "thread instructions",
              "active lanes over the warp instructions of this class");
    }
}

void Sm::gauges(StatFields& f) const {
    f.group("sm");
    f.add("outstanding", port_.outstanding(), "requests", "requests sent and not answered");
    f.add("resident_warps", static_cast<std::uint64_t>(std::popcount(resident_)), "warps", "warps of CTAs that have not finished");
    front_->gauges(f);
    if (tma_ == nullptr) return;
    f.group("tma");
    f.add("in_flight", bulk_.in_flight(), "requests", "requests of bulk copies sent and not answered");
}

void Sm::explain(std::vector<Wait>& waits) const {
    if (resident_ == 0) return;
    if (front_->waits_for_room()) {
        waits.push_back({this, links_.requests->receiver(), links_.requests->describe_wait(), true});
    } else if (port_.outstanding() != 0) {
        waits.push_back(
            {this, links_.replies->sender(), fmt::format("{} memory requests were sent and not answered", port_.outstanding()), false});
    } else if (remote_.size() != free_remote_.size()) {
        waits.push_back(
            {this, gpc_.network(),
             fmt::format("{} accesses to shared memory of other CTAs were sent and not answered", remote_.size() - free_remote_.size()),
             false});
    } else if (waits_for_cluster()) {
        waits.push_back({this, gpc_.network(),
                         fmt::format("{} warps wait at barriers of clusters of CTAs or mbarriers", std::popcount(waits_copies_)), false});
    } else {
        waits.push_back({this, nullptr,
                         fmt::format("{} resident warps, {} at a barrier, {} in a fence, {} finished{}: nothing can release them",
                                     std::popcount(resident_), std::popcount(at_barrier_), std::popcount(in_fence_),
                                     std::popcount(finished_), describe_waits()),
                         false});
    }
}

}  // namespace mergelane
