// SPDX-License-Identifier: MIT
// A streaming multiprocessor: resident CTAs, warp schedulers, scoreboard, execution latencies, load/store unit, L1.
// Warps are bits: what can issue, what waits and why are 64-bit masks; time within a kernel is 32 bits wide.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/component.hpp"
#include "core/kernel.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/ring.hpp"
#include "sm/coalescer.hpp"
#include "sm/l1_cache.hpp"
#include "sm/sm_spec.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

/// Why a scheduler with resident warps did not issue in a cycle. Cycles without resident warps are not counted.
enum class Stall : std::uint8_t { none, lsu_busy, unit_busy, memory, dependency, barrier, drain, count };

struct SmStats {
    std::uint64_t warp_instructions = 0;
    std::array<std::uint64_t, kOpClasses> lanes{};  ///< active lanes over the warp instructions of each class
    std::uint64_t active_cycles = 0;                ///< with resident warps, up to when the last of them left
    std::uint64_t ctas_started = 0;
    std::uint64_t ctas_finished = 0;
    std::uint64_t memory_instructions = 0;
    std::uint64_t shared_instructions = 0;
    std::uint64_t shared_bank_cycles = 0;
    std::uint64_t loads = 0;
    std::uint64_t load_latency = 0;
    std::uint64_t requests_sent = 0;
    std::uint64_t fetch_latency = 0;  ///< minus the moment of every request sent, plus that of every reply
    std::uint64_t replies_received = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(Stall::count)> stalls{};
    std::uint64_t lsu_parked_mshr = 0;
    std::uint64_t lsu_parked_merge = 0;
    std::uint64_t lsu_parked_way = 0;
    std::uint64_t lsu_parked_queue = 0;
};

class Sm final : public Component {
public:
    struct Links {
        Link<CtaMessage>* work = nullptr;
        Link<CtaMessage>* done = nullptr;
        Link<Packet>* requests = nullptr;
        Link<Packet>* replies = nullptr;
    };

    Sm(std::string name, const SmSpec& sm, const LsuSpec& lsu, const L1Spec& l1, std::uint32_t cluster, std::uint32_t index_in_cluster,
       const Policies& policies = policies_of<add_warp_schedulers, add_replacements>());

    void connect(const Links& links) { links_ = links; }
    /// Reads shall say which words they want and for which CTA; costs a little, so only when somebody measures it.
    void describe_reads() { describe_reads_ = true; }
    /// Prepares for a kernel whose first CTA may arrive at `start` or later; called between windows, all CTAs gone.
    void launch(const KernelSource& kernel, std::uint32_t contexts, Cycle start);

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return requests_outstanding_; }

    std::uint32_t mshrs_in_use() const { return l1_.mshrs_in_use(); }
    /// Cycle in which the last CTA finished here.
    Cycle last_finish() const { return last_finish_; }
    std::uint64_t warp_instructions() const { return stats_.warp_instructions; }

private:
    using Moment = std::uint32_t;  ///< cycles since kernel start
    static constexpr Moment kPending = ~Moment{0};
    static constexpr std::uint32_t kUnits = kUnitNames.size();
    static constexpr std::uint32_t kLsu = kUnits;  ///< pseudo unit: needs a place in the load/store queue
    static constexpr std::uint32_t kNoUnit = kUnits + 1;
    static constexpr std::uint32_t kWheel = 64;
    static constexpr std::uint16_t kDirect = 0x8000;  ///< tag bit: the reply belongs to a load, not to an MSHR entry

    struct Context {
        std::unique_ptr<CtaStream> stream;
        std::uint64_t cta = 0;
        std::uint64_t warps = 0;
        std::uint32_t live = 0;                      ///< warps that have not finished
        std::uint32_t outstanding = 0;               ///< memory transactions not yet answered
        std::array<std::uint64_t, 16> at_barrier{};  ///< warps waiting at each barrier
        bool used = false;
    };
    struct Load {
        const StaticInst* inst = nullptr;
        Moment issued = 0;
        Moment latest = 0;
        std::uint16_t remaining = 0;
        std::uint8_t warp = 0;
    };
    struct LsuEntry {
        const StaticInst* inst = nullptr;
        std::uint16_t load = 0;
        std::uint8_t warp = 0;
        std::uint32_t next = 0;
        std::uint32_t degree = 0;  ///< shared memory: cycles the banks are taken
        BlockList blocks;
    };
    struct Warp {
        const StaticInst* inst = nullptr;  ///< the next instruction
        std::uint32_t run_left = 0;        ///< instructions left in the current run, this one included
        std::uint32_t active = 0;
        Moment ready_at = 0;            ///< while on the wheel
        std::uint32_t outstanding = 0;  ///< memory transactions not yet answered
        std::uint8_t active_lanes = 0;
        std::uint8_t next_unit = 0;
        std::uint8_t context = 0;
        std::uint8_t index_in_cta = 0;
    };
    struct Exec {
        std::uint32_t latency;
        std::uint32_t interval;
        std::uint32_t unit;
    };

    // residency (sm.cpp)
    void start_cta(const CtaMessage& message, Moment now);
    void finish_warp(std::uint32_t warp, Moment now);
    void maybe_finish(Context& context);
    Cycle receive(Moment now);
    void take_reply(const Packet& packet, Moment now);
    Cycle next_time(Moment now, Cycle inbox) const;
    void account(Moment now);

    // issue (sm_issue.cpp)
    void issue_all(Moment now);
    std::uint64_t blocked(std::uint32_t scheduler, Moment now) const;
    void occupy_unit(std::uint32_t scheduler, std::uint32_t unit, Moment now, std::uint32_t interval);
    void issue(std::uint32_t scheduler, std::uint32_t warp, Moment now);
    bool issue_other(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_memory(std::uint32_t warp, const StaticInst& inst, Moment now);
    void arrive_at_barrier(std::uint32_t warp, std::uint32_t barrier, Moment now);
    void check_barrier(Context& context, std::uint32_t barrier, Moment now);
    void resume(std::uint32_t warp, Moment earliest, Moment now);
    bool advance(std::uint32_t warp, Moment now);
    bool fetch_run(std::uint32_t warp, Moment now);
    void evaluate(std::uint32_t warp, Moment earliest, Moment now);
    void reevaluate(std::uint32_t warp, Moment now);
    void put_on_wheel(std::uint32_t warp, Moment at, Moment now);
    void take_from_wheel(Moment now);
    Stall why_stalled(std::uint32_t scheduler) const;
    void count_idle(std::uint32_t schedulers, std::uint64_t cycles);

    // load/store unit (sm_lsu.cpp)
    bool lsu_accepts() const { return !lsu_.full() && !free_loads_.empty(); }
    /// Every sub-core has its own share of the load/store queue, so that none can crowd out the others.
    bool lsu_accepts_from(std::uint32_t scheduler) const { return lsu_accepts() && lsu_taken_[scheduler] < lsu_share_; }
    void step_lsu(Moment now);
    bool lsu_block(LsuEntry& entry, Moment now);
    ReadNote describe(const LsuEntry& entry) const;
    void send(const LsuEntry& entry, PacketKind kind, std::uint16_t tag, Moment now);
    void resolve(std::uint16_t load, Moment at, Moment now);
    void retire_transaction(std::uint32_t warp, Moment now);
    void pop_lsu();
    void park(L1Cache::Outcome why, Moment now);
    void unpark(Moment now);

    const SmSpec& spec_;
    const LsuSpec& lsu_spec_;
    const L1Spec& l1_spec_;
    const std::uint16_t cluster_;
    const std::uint8_t index_;
    Links links_;

    // scheduling state
    std::uint64_t ready_ = 0;
    std::uint64_t on_wheel_ = 0;
    std::uint64_t far_ = 0;  ///< on the wheel's horizon, to be looked at again there
    std::uint64_t waits_memory_ = 0;
    std::uint64_t at_barrier_ = 0;
    std::uint64_t in_fence_ = 0;
    std::uint64_t finished_ = 0;
    std::uint64_t resident_ = 0;
    std::array<std::uint64_t, kUnits + 2> unit_mask_{};
    std::array<std::uint64_t, 4> scheduler_mask_{};
    std::uint64_t wheel_occupied_ = 0;
    std::array<std::uint64_t, kWheel> wheel_{};
    Moment last_step_ = 0;
    std::uint32_t stalls_known_ = 0;  ///< schedulers for which stall_ still tells the truth: no warp has changed its state
    std::array<Stall, 4> stall_{};
    Cycle base_ = 0;
    Cycle active_since_ = 0;  ///< while warps are resident
    std::vector<std::unique_ptr<WarpScheduler>> schedulers_;
    std::vector<std::uint64_t> ctas_by_age_;
    std::array<Exec, kComputeClasses> exec_{};
    std::array<std::uint8_t, kComputeClasses + 6> unit_of_{};  ///< per operation class
    std::array<bool, kUnits> unit_scarce_{};                   ///< fewer units than schedulers
    std::array<Moment, kUnits> unit_long_until_{};             ///< some unit of the kind is taken for more than one cycle
    std::array<std::uint32_t, kUnits> unit_share_{};           ///< units in one pool: a sub-core's, or all
    std::array<std::array<Moment, 16>, kUnits> unit_free_at_{};
    std::array<std::array<Moment, kUnits>, 4> pool_free_at_{};  ///< per pool: when a unit of this kind is free again
    Moment units_busy_until_ = 0;                               ///< no pool is exhausted from here on

    // warps
    std::array<Warp, 64> warps_{};
    std::uint32_t register_slots_ = 0;
    std::vector<Moment> reg_ready_;
    std::vector<Context> contexts_;
    std::uint32_t warps_per_cta_ = 0;

    // load/store unit
    L1Cache l1_;
    Ring<LsuEntry> lsu_;
    Moment lsu_free_at_ = 0;
    std::array<std::uint32_t, 4> lsu_taken_{};  ///< queue places taken by each scheduler's warps
    std::uint32_t lsu_share_ = 0;
    bool describe_reads_ = false;
    std::uint32_t issue_limit_ = 0;  ///< beyond all counts when there is none
    const std::uint32_t block_shift_;
    bool parked_ = false;
    L1Cache::Outcome parked_why_ = L1Cache::Outcome::hit;
    Moment parked_since_ = 0;
    std::vector<Load> loads_;
    std::vector<std::uint16_t> free_loads_;
    LaneAddresses lanes_;

    std::uint64_t requests_outstanding_ = 0;
    Cycle last_finish_ = 0;
    SmStats stats_;
};

}  // namespace mergelane
