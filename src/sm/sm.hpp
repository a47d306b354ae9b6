// SPDX-License-Identifier: MIT
// A streaming multiprocessor: resident CTAs, warp schedulers, scoreboard, execution latencies. Memory instructions go into its
// memory front, which has the L1.
// Warps are bits: what can issue, what waits and why are 64-bit masks; time within a kernel is 32 bits wide.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/component.hpp"
#include "core/kernel.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "sm/memory_front.hpp"
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
    std::uint64_t loads = 0;
    std::uint64_t load_latency = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(Stall::count)> stalls{};
};

class Sm final : public Component, private MemoryListener {
public:
    struct Links {
        Link<CtaMessage>* work = nullptr;
        Link<CtaMessage>* done = nullptr;
        Link<Packet>* requests = nullptr;
        Link<Packet>* replies = nullptr;
    };

    Sm(std::string name, const SmSpec& sm, const LsuSpec& lsu, const L1Spec& l1, std::uint32_t cluster, std::uint32_t index_in_cluster,
       const Policies& policies = policies_of<add_warp_schedulers, add_memory_fronts, add_replacements>());

    void connect(const Links& links);
    /// Reads shall say which words they want and for which CTA; costs a little, so only when somebody measures it.
    void describe_reads() { port_.describe_reads(); }
    /// Prepares for a kernel whose first CTA may arrive at `start` or later; called between windows, all CTAs gone.
    void launch(const KernelSource& kernel, std::uint32_t contexts, Cycle start);

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return port_.outstanding(); }

    /// Cycle in which the last CTA finished here.
    Cycle last_finish() const { return last_finish_; }
    std::uint64_t warp_instructions() const { return stats_.warp_instructions; }

private:
    using Moment = std::uint32_t;  ///< cycles since kernel start
    static constexpr Moment kPending = ~Moment{0};
    static constexpr std::uint32_t kUnits = kUnitNames.size();
    // Pseudo units: the memory front must take it; the banks of shared memory must be free; none.
    static constexpr std::uint32_t kFront = kUnits;
    static constexpr std::uint32_t kShared = kUnits + 1;
    static constexpr std::uint32_t kNoUnit = kUnits + 2;
    static constexpr std::uint32_t kWheel = 64;

    struct Context {
        std::unique_ptr<CtaStream> stream;
        std::uint64_t cta = 0;
        std::uint64_t warps = 0;
        std::uint32_t live = 0;                      ///< warps that have not finished
        std::uint32_t outstanding = 0;               ///< memory transactions not yet answered
        std::array<std::uint64_t, 16> at_barrier{};  ///< warps waiting at each barrier
        bool used = false;
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
    Cycle next_time(Moment now, Cycle inbox) const;
    void account(Moment now);

    // issue (sm_issue.cpp)
    void issue_all(Moment now);
    std::uint64_t blocked(std::uint32_t scheduler, Moment now) const;
    void occupy_unit(std::uint32_t scheduler, std::uint32_t unit, Moment now, std::uint32_t interval);
    void issue(std::uint32_t scheduler, std::uint32_t warp, Moment now);
    bool issue_other(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_memory(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_shared(std::uint32_t warp, const StaticInst& inst, Moment now);
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

    // what the memory front reports (sm_memory.cpp)
    void load_finished(const Load& load, Cycle now) override;
    void store_split(std::uint32_t warp, std::uint32_t further_requests) override;
    void store_answered(std::uint32_t warp, Cycle now) override { retire_transaction(warp, now); }
    void retire_transaction(std::uint32_t warp, Cycle now);

    const SmSpec& spec_;
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
    std::array<std::uint64_t, kNoUnit + 1> unit_mask_{};
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

    // memory
    const bool shared_has_own_path_;
    RequestPort port_;
    SharedMemory shared_;
    LoadTable loads_;
    std::unique_ptr<MemoryFront> front_;
    LaneAddresses lanes_;

    Cycle last_finish_ = 0;
    SmStats stats_;
};

}  // namespace mergelane
