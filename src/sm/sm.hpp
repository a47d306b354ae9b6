// SPDX-License-Identifier: MIT
// A streaming multiprocessor: resident CTAs, warp schedulers, scoreboard, execution latencies. Memory instructions go to its front end,
// which contains the L1.
// Warps are bits: ready and stalled warps, by reason, are 64-bit masks. Time within a kernel is 32 bits wide.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "core/component.hpp"
#include "core/kernel.hpp"
#include "core/link.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"
#include "parts/replacement.hpp"
#include "sm/async_unit.hpp"
#include "sm/bulk_engine.hpp"
#include "sm/copy_groups.hpp"
#include "sm/gpc_port.hpp"
#include "sm/memory_front.hpp"
#include "sm/sm_spec.hpp"
#include "sm/warp_limit.hpp"
#include "sm/warp_scheduler.hpp"

namespace mergelane {

/// Why a scheduler with resident warps did not issue in a cycle. Cycles without resident warps are not counted.
enum class Stall : std::uint8_t { none, lsu_busy, unit_busy, memory, dependency, barrier, drain, count };

using StallCycles = std::array<std::uint64_t, static_cast<std::size_t>(Stall::count)>;

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
    std::array<std::array<std::uint64_t, 4>, static_cast<std::size_t>(Stall::count)> stalls{};  ///< per reason and scheduler
    struct Waiting {
        std::uint64_t ready = 0;       ///< warps that could issue, over cycles
        std::uint64_t operations = 0;  ///< memory instructions that the front refused or has not begun with, over cycles
        std::uint64_t cycles = 0;      ///< with at least one of those
    } waiting;

    std::uint64_t computing() const { return warp_instructions - memory_instructions - shared_instructions; }
};

class Sm final : public Component, private MemoryListener, private BulkListener {
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
    /// To the network of its GPC, if there is one.
    void connect_gpc(const GpcPort::Links& links);
    /// In addition to the observers of its meters; called before the first cycle.
    void observe(SmObserver& observer) { port_.observe(observer); }
    void observe(WorkObserver& observer) { loads_.observe(observer); }
    void describe_reads() { port_.describe_reads(); }
    /// Of which lines the time of loads is accounted for; called before the first cycle.
    void follow(FollowedLines lines) { port_.follow(lines); }
    /// Counts per static instruction from now on; called before the first kernel. `stages`: of the machine.
    void count_by_instruction(std::uint32_t block_bytes, std::size_t stages);
    /// Adds the counts since the kernel's launch to `sum`; called after every kernel.
    void take_instructions(InstructionTable::Rows& sum);
    /// For meters; nullptr: its memory front has none.
    L1Cache* l1() { return front_->l1(); }
    /// Prepares for a kernel whose first CTA may arrive at `start` or later. Called between windows, with no resident CTAs.
    void launch(const KernelSource& kernel, std::uint32_t contexts, Cycle start);

    Cycle step(Cycle now) override;
    void expect(std::uint32_t input, Cycle at) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return port_.outstanding(); }

    /// Cycle in which the last CTA finished here.
    Cycle last_finish() const { return last_finish_; }
    std::uint64_t warp_instructions() const { return stats_.warp_instructions; }
    /// Of its L1, if it counts by instruction.
    L1Stats l1_stats() const;
    const LatencyAccount& latency() const { return loads_.account(); }
    bool follows_all() const { return port_.followed().all(); }

private:
    using Moment = std::uint32_t;  ///< cycles since kernel start
    static constexpr Moment kPending = ~Moment{0};
    static constexpr std::uint32_t kUnits = kUnitNames.size();
    // Pseudo units: the front end must accept the instruction; the shared-memory banks must be free; none.
    static constexpr std::uint32_t kFront = kUnits;
    static constexpr std::uint32_t kShared = kUnits + 1;
    static constexpr std::uint32_t kNoUnit = kUnits + 2;
    static constexpr std::uint32_t kWheel = 64;
    static constexpr std::uint32_t kGpcInput = 1;

    struct Context {
        std::unique_ptr<CtaStream> stream;
        std::uint64_t cta = 0;
        std::uint64_t warps = 0;
        std::uint32_t live = 0;                      ///< warps that have not finished
        std::uint32_t outstanding = 0;               ///< memory transactions not yet answered
        std::array<std::uint64_t, 16> at_barrier{};  ///< warps waiting at each barrier
        std::uint32_t barriers = 0;                  ///< barriers at which warps wait
        bool used = false;
        // Its cluster of CTAs, which the GPC knows by this number.
        std::uint16_t cluster = 0;
        std::uint8_t rank = 0, ranks = 1;
        std::uint64_t arrived = 0;        ///< warps at the cluster's barrier, in this phase
        std::uint64_t cluster_phase = 0;  ///< phases of it that are over
    };
    /// An access to shared memory of other CTAs.
    struct RemoteAccess {
        const StaticInst* inst = nullptr;
        Cycle issued = 0;
        std::uint32_t outstanding = 0;  ///< replies
        std::uint8_t warp = 0;
        bool followed = false;
    };
    struct Warp {
        const StaticInst* inst = nullptr;  ///< the next instruction
        Moment* regs = nullptr;            ///< when each register is available; kPending: when a load returns
        std::uint32_t run_left = 0;        ///< instructions left in the current run, including this one
        std::uint32_t active = 0;
        std::uint32_t outstanding = 0;  ///< memory transactions not yet answered
        std::uint8_t active_lanes = 0;
        std::uint8_t next_unit = 0;
        std::uint8_t context = 0;
        std::uint8_t index_in_cta = 0;
    };
    struct Exec {
        std::uint32_t latency;
        std::uint32_t issue_gap;  ///< until the warp's next instruction may issue
        std::uint32_t interval;
        std::uint8_t unit;
        bool occupies;  ///< always recorded; otherwise only while some unit of the kind is occupied for more than one cycle
    };

    // residency (sm.cpp)
    void start_cta(const CtaMessage& message, Moment now);
    void finish_warp(std::uint32_t warp, Moment now);
    void maybe_finish(Context& context);
    Cycle receive(Moment now);

    // the cycle (sm_issue.cpp)
    template <bool kPlain>
    [[gnu::always_inline]] Cycle next_time(Moment now, Cycle inbox);
    void choose_step();
    template <bool kPlain>
    [[gnu::always_inline]] Cycle step_as(Cycle now);
    template <bool kPlain>
    [[gnu::always_inline]] std::uint32_t issue_all(Moment now);
    Moment next_issue(Moment now);
    template <bool kPlain>
    std::uint64_t held_up(Moment now) const;
    std::uint64_t without_unit(std::uint32_t scheduler, Moment now);
    void occupy_unit(std::uint32_t scheduler, std::uint32_t unit, Moment now, std::uint32_t interval);
    bool issue(std::uint32_t scheduler, std::uint32_t warp, Moment now);
    bool issue_other(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_memory(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_word(std::uint32_t warp, const StaticInst& inst, Addr word, Moment now);
    void access_lanes(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_shared(std::uint32_t warp, const StaticInst& inst, Moment now);
    void arrive_at_barrier(std::uint32_t warp, std::uint32_t barrier, Moment now);
    void check_barrier(Context& context, std::uint32_t barrier, Moment now);

    // asynchronous copies (sm_copies.cpp)
    [[gnu::noinline, gnu::cold]] bool issue_async(std::uint32_t warp, const StaticInst& inst, Moment now);
    [[gnu::noinline, gnu::cold]] void copy_finished(const Load& load, Cycle now);
    Cycle copies_done(std::uint32_t warp) const;
    Cycle observed_copies(std::uint32_t context, Addr barrier) const;
    bool wait_for_copies(std::uint32_t warp, Moment now);
    void release_waiting(std::uint64_t warps, Cycle now);

    // asynchronous operations of sm_90 (sm_async.cpp)
    AsyncUnit& async_unit();
    bool issue_async_op(std::uint32_t warp, const StaticInst& inst, Moment now);
    AsyncUnit::Values take_values(std::uint32_t warp, const StaticInst& inst);
    bool issue_mbarrier(std::uint32_t warp, const StaticInst& inst, Moment now);
    void issue_bulk(std::uint32_t warp, const StaticInst& inst, Moment now);
    void bulk_sent(const BulkCopy& copy, Cycle now) override;
    void bulk_arrived(const BulkCopy& copy, std::uint32_t bytes, Cycle now) override;
    void bulk_finished(const BulkCopy& copy, Cycle at, Cycle now) override;
    [[gnu::noinline, gnu::cold]] void bulk_answered(const Packet& packet, Cycle now);
    void finish_bulk_load(const BulkCopy& copy, Cycle at, Cycle now);
    void issue_product(std::uint32_t warp, const StaticInst& inst, Moment now);
    bool issue_group(std::uint32_t warp, const StaticInst& inst, Moment now);
    Cycle async_wait_over(std::uint32_t warp) const;
    // clusters of CTAs (sm_clusters.cpp)
    void send_to_gpc(const GpcMessage& message, Cycle at, Cycle now);
    [[gnu::noinline, gnu::cold]] void check_cluster_barrier(Context& context, Moment now);
    bool waits_for_cluster() const;
    void arrive_at_cluster(std::uint32_t warp, Moment now);
    [[gnu::noinline, gnu::cold]] bool is_remote(std::uint32_t warp);
    bool is_remote_address(std::uint32_t context, Addr address) const;
    [[gnu::noinline, gnu::cold]] void issue_remote(std::uint32_t warp, const StaticInst& inst, Moment now);
    std::uint16_t take_remote();
    void finish_remote(std::uint16_t tag, Cycle at, Cycle now);
    void send_event(std::uint32_t context, Addr barrier, Cycle at, Cycle now);
    void send_multicast(const BulkCopy& copy, std::uint32_t bytes, bool last, Cycle now);
    std::uint64_t receive_from_gpc(Cycle now);
    void arrivals_finished(std::uint32_t warp, Cycle at, Cycle now);
    void expect_event(std::uint32_t context, Addr barrier, Cycle at);
    [[gnu::noinline, gnu::cold]] void step_async(Cycle now);
    std::string describe_waits() const;

    void resume(std::uint32_t warp, Moment earliest, Moment now);
    bool advance(Warp& w, std::uint32_t warp, Moment now);
    bool fetch_run(std::uint32_t warp, Moment now);
    static std::uint64_t operands_ready(const Warp& warp, Moment earliest);
    void evaluate(std::uint32_t warp, Moment earliest, Moment now);
    void reevaluate(std::uint32_t warp, Moment now);
    void put_on_wheel(std::uint32_t warp, Moment at, Moment now);
    void take_from_wheel(Moment now);

    void apply_limit();

    // stall reasons (sm_stalls.cpp)
    Stall why_stalled(std::uint32_t scheduler) const;
    void open_stalls(Moment since);
    void note_stalls(std::uint32_t issued, Moment now);
    StallCycles stalls_until(Cycle now) const;
    std::uint64_t refused_operations() const { return ready_ & unit_mask_[kFront] & front_->refused(); }
    std::uint64_t waiting_operations() const { return front_->waiting() + static_cast<std::uint64_t>(std::popcount(refused_operations())); }
    void count_waiting(SmStats::Waiting& waiting, std::uint64_t cycles) const;

    // notifications from the front end (sm_memory.cpp)
    [[gnu::noinline, gnu::cold]] void tell_memory_issued(const StaticInst& inst, std::uint32_t active);
    [[gnu::noinline, gnu::cold]] void tell_issued();
    void load_finished(const Load& load, const LoadHistory* history, Cycle now) override;
    [[gnu::noinline, gnu::cold]] void follow_shared(const Load& load, Cycle now);
    [[gnu::noinline, gnu::cold]] void explain_stall(std::uint32_t scheduler, const LoadHistory& history, Moment now);
    [[gnu::noinline, gnu::cold]] void count_finished(const Load& load, const LoadHistory* history, Moment now);
    void store_split(std::uint32_t warp, std::uint32_t further_requests) override;
    void store_answered(std::uint32_t warp, Cycle now) override { retire_transaction(warp, now); }
    void retire_transaction(std::uint32_t warp, Cycle now);

    const SmSpec& spec_;
    const std::uint32_t scheduler_count_;
    const std::uint32_t all_schedulers_;  ///< bit per scheduler
    const bool sub_cores_;
    Links links_;

    // scheduling state; a resident warp in none of these sets is on the wheel
    std::uint64_t ready_ = 0;
    std::uint64_t waits_memory_ = 0;
    std::uint64_t at_barrier_ = 0;
    std::uint64_t in_fence_ = 0;
    std::uint64_t waits_copies_ = 0;  ///< issued a wait for asynchronous operations
    std::uint64_t finished_ = 0;
    std::uint64_t resident_ = 0;
    std::array<std::uint64_t, kNoUnit + 1> unit_mask_{};
    std::array<std::uint64_t, 4> scheduler_mask_{};
    std::uint64_t wheel_occupied_ = 0;
    std::array<std::uint64_t, kWheel> wheel_{};
    std::uint64_t far_ = 0;  ///< beyond the wheel's horizon, rescheduled there
    std::array<Moment, 64> far_until_{};
    Moment last_step_ = 0;
    std::uint64_t changed_ = 0;  ///< warps that changed state in this step other than by issuing
    std::uint32_t stalled_ = 0;  ///< bit per scheduler that has not issued since stall_since_, for the reason in stall_
    std::array<Stall, 4> stall_{};
    std::array<Moment, 4> stall_since_{};
    std::array<Moment, 4> explained_until_{};  ///< of a stall that waits for memory
    Cycle base_ = 0;
    Cycle active_since_ = 0;  ///< while warps are resident
    std::vector<std::unique_ptr<WarpScheduler>> schedulers_;
    std::vector<std::uint64_t> ctas_by_age_;
    std::vector<Exec> exec_ = std::vector<Exec>(kComputeClasses);
    std::array<std::uint8_t, kComputeClasses + 6> unit_of_{};  ///< per operation class
    std::array<Moment, kUnits> unit_long_until_{};             ///< until when some unit of the kind is occupied for more than one cycle
    std::array<std::uint32_t, kUnits> unit_share_{};           ///< units in one pool: a sub-core's, or all
    std::array<std::array<Moment, 16>, kUnits> unit_free_at_{};
    std::array<std::array<Moment, kUnits>, 4> pool_free_at_{};  ///< per pool: when a unit of this kind is free again
    std::array<std::uint32_t, 4> pool_taken_{};                 ///< per pool: kinds whose units were all occupied at the last check

    // warps
    std::vector<Warp> warps_ = std::vector<Warp>(64);
    std::uint32_t register_slots_ = 0;
    std::unique_ptr<Moment[]> reg_ready_;  ///< a warp's entries are cleared when it starts
    std::vector<Context> contexts_;
    std::uint32_t warps_per_cta_ = 0;
    std::vector<CopyGroups> copies_;    ///< per warp; empty before the first asynchronous operation
    std::unique_ptr<AsyncUnit> async_;  ///< nullptr before the first one of sm_90
    Cycle async_due_ = kNever;          ///< when it has something to do
    bool plain_ = false;                ///< no warp limit, no observers, nothing asynchronous

    // memory
    const bool shared_has_own_path_;
    RequestPort port_;
    SharedMemory shared_;
    LoadTable loads_;
    std::unique_ptr<MemoryFront> front_;
    const bool wants_stores_;  ///< the front asks which warps come with a store next
    LaneAddresses lanes_;
    const TmaSpec* const tma_;      ///< nullptr: there is none
    const WgmmaSpec* const wgmma_;  ///< likewise
    BulkEngine bulk_;
    GpcPort gpc_;
    bool in_clusters_ = false;          ///< the kernel's CTAs are
    std::vector<RemoteAccess> remote_;  ///< by tag
    std::vector<std::uint16_t> free_remote_;
    std::uint64_t products_ = 0, product_cycles_ = 0;
    std::vector<std::unique_ptr<SmObserver>> meters_;  ///< all observers are listed in port_
    WarpLimit limit_;
    Stage shared_stage_;
    Stage remote_stage_;                                ///< if there are GPCs
    std::unique_ptr<InstructionTable> by_instruction_;  ///< if requested
    std::array<std::uint64_t, 4> attributed_{};         ///< of a scheduler's stalls on memory: counted for an instruction

    Cycle last_finish_ = 0;
    SmStats stats_;
};

}  // namespace mergelane
