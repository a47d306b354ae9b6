// SPDX-License-Identifier: MIT
// Invariant: the latency of a single access is exactly the sum of its parts, as named in the configuration.
//
// The parts are added up here from configuration fields only. With one clock a sum is sufficient; with several clocks, every crossing waits
// for the receiver's next edge, which the walk below spells out.
#include <gtest/gtest.h>

#include <numeric>

#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

/// Lone accesses use one block, so that every part appears once.
Access one_block(const MachineSpec& s, Addr address) {
    Access access;
    access.lanes = affine(address);
    access.active = s.lsu.block_bytes == 128 ? 0xFFFFFFFFu : 0xFFu;
    return access;
}
Access around_l1(const MachineSpec& s, Addr address) {
    Access access = one_block(s, address);
    access.bypass_l1 = true;
    return access;
}
Access one_lane(Addr address) {
    Access access;
    access.lanes = affine(address);
    access.active = 1;
    return access;
}

/// Slices without hashing, so that this file can tell where an address goes.
MachineSpec plain(MachineSpec s) {
    s.l2.slice_hash = "plain";
    s.l2.set_hash = "plain";
    return valid(s);
}

/// Same channel and bank, next row: the row bits start above the 15 lower ones of both address maps used here, and
/// consecutive chunks go round the channels.
Addr next_row(const MachineSpec& s) {
    return (Addr{1} << 15) * s.dram.channels;
}

std::uint32_t flits(const MachineSpec& s, std::uint32_t payload_bytes) {
    return (s.noc.header_bytes + payload_bytes + s.noc.flit_bytes - 1) / s.noc.flit_bytes;
}

/// Time as the packet sees it. One tick is 1 / lcm(clocks) of a microsecond, so nothing is ever rounded by accident.
class Walk {
public:
    explicit Walk(const MachineSpec& spec) : s(spec) {
        std::uint64_t all = 1;
        for (const std::uint64_t mhz : {s.gpu.core_mhz, s.gpu.noc_mhz, s.gpu.l2_mhz, s.gpu.dram_mhz}) all = std::lcm(all, mhz);
        core_ = all / s.gpu.core_mhz;
        noc_ = all / s.gpu.noc_mhz;
        l2_ = all / s.gpu.l2_mhz;
        dram_ = all / s.gpu.dram_mhz;
        // A kernel's first instruction issues when its CTA has travelled from the dispatcher.
        core(s.dispatch.launch_latency);
        core(s.dispatch.latency);
        // Documented in machine_spec: a cut link shorter than the credit latency borrows the difference from the
        // L2's pipeline. That changes no sum, but it moves the point where a clock edge is waited for.
        const std::uint64_t credit = s.noc.credit_latency * noc_;
        // Without an L2 it is the way to DRAM that lends, as far as it is longer than credits are.
        const std::uint64_t way = s.dram.access_latency * core_ / 2;
        std::uint64_t pipeline = s.l2.enabled ? s.l2.latency * core_ : way - std::min(way, credit);
        to_dram_ = way - (s.l2.enabled ? 0 : pipeline);
        const auto lengthened = [&](std::uint64_t own) {
            const std::uint64_t borrowed = own >= credit ? 0 : std::min(credit - own, pipeline);
            pipeline -= borrowed;
            return own + borrowed;
        };
        request_traversal_ = lengthened(s.noc.traversal_latency * noc_);
        reply_traversal_ = lengthened(s.noc.traversal_latency * noc_);
        reply_rest_ = lengthened((s.noc.injection_latency + s.noc.ejection_latency - 1) * core_);
        l2_pipeline_ = s.l2.enabled ? pipeline : lengthened(s.noc.ejection_latency * core_) - s.noc.ejection_latency * core_;
        if (!s.l2.enabled) to_dram_ += pipeline;
    }

    /// From issue to tag lookup: one cycle in the load/store queue.
    void load_store_queue() { core(1); }
    void request(std::uint32_t payload_bytes) {
        core(s.noc.injection_latency);
        now_ += request_traversal_;
        wait_for(noc_);
        noc(flits(s, payload_bytes) - 1);  // the tail follows its head
        core(s.noc.ejection_latency);
        now_ += l2_pipeline_;
        wait_for(l2_);
    }
    void reply(std::uint32_t payload_bytes) {
        now_ += reply_traversal_;
        wait_for(noc_);
        noc(flits(s, payload_bytes) - 1);
        now_ += reply_rest_;
        wait_for(core_);
        core(1);  // from the cluster's port to the SM
    }
    enum class Row { closed, hit, conflict };
    void dram(Row row) {
        // Half of the access latency on the way in, the other half on the way out.
        now_ += to_dram_;
        wait_for(dram_);
        const DramTiming& t = s.dram.timing;
        if (row == Row::conflict) now_ += t.tRP * dram_;
        if (row != Row::hit) now_ += t.tRCD * dram_;
        now_ += (t.tCL + s.dram.access_bytes / s.dram.bus_bytes) * dram_;
        now_ += s.dram.access_latency * core_ - s.dram.access_latency * core_ / 2;
        wait_for(l2_);
    }
    void l1_hit() { load_store_queue(), core(s.l1.hit_latency); }
    void l2_hit() { load_store_queue(), request(0), reply(s.lsu.block_bytes); }
    void l2_miss(Row row) { load_store_queue(), request(0), dram(row), reply(s.lsu.block_bytes); }
    void core(std::uint64_t cycles) { now_ += cycles * core_; }
    void noc(std::uint64_t cycles) { now_ += cycles * noc_; }
    /// Only asked when the warp is back on its SM, where time is whole core cycles.
    std::uint64_t cycles() const {
        EXPECT_EQ(now_ % core_, 0u);
        return now_ / core_;
    }

private:
    void wait_for(std::uint64_t period) { now_ = (now_ + period - 1) / period * period; }

    const MachineSpec& s;
    std::uint64_t core_, noc_, l2_, dram_;
    std::uint64_t request_traversal_ = 0, reply_traversal_ = 0, reply_rest_ = 0, l2_pipeline_ = 0, to_dram_ = 0;
    std::uint64_t now_ = 0;
};

/// Core cycles from kernel start until the last instruction issued and everything was answered.
std::uint64_t cycles_of(const MachineSpec& s, const WarpScript& script, const RunOptions& options = {}) {
    const RunResult result = run_on(s, script, options);
    return result.kernels.at(0).start + result.kernels.at(0).cycles;
}

class UnloadedLatency : public ::testing::TestWithParam<MachineSpec (*)()> {
protected:
    const MachineSpec s = plain(GetParam()());
};

MachineSpec one_clock() {
    return icc60_like(2);
}
MachineSpec odd_clocks() {
    MachineSpec s = icc60_like(2);
    s.name = "odd-clocks";
    s.gpu.core_mhz = 1000;
    s.gpu.noc_mhz = 600;
    s.gpu.l2_mhz = 800;
    s.gpu.dram_mhz = 350;
    s.noc.traversal_latency = 3;
    s.noc.credit_latency = 5;
    s.dispatch.launch_latency = 7;
    s.noc.flit_bytes = 24;
    return s;
}
INSTANTIATE_TEST_SUITE_P(Machines, UnloadedLatency, ::testing::Values(&one_clock, &gtx480_like, &v100_like, &odd_clocks),
                         [](const auto& machine) {
                             std::string name = machine.param().name;
                             std::erase(name, '-');
                             return name;
                         });

TEST_P(UnloadedLatency, OfAChainOfLoadsThroughEveryLevel) {
    // Each load waits for the one before; the script is cut after every step, so every level is checked on its own.
    const Addr row_a = 0;
    const Addr row_b = next_row(s);
    struct Step {
        const char* what;
        Access access;
        void (*walk)(Walk&);
    };
    const Step steps[] = {
        {"L2 miss, closed row", one_block(s, row_a), [](Walk& w) { w.l2_miss(Walk::Row::closed); }},
        {"L1 hit", one_block(s, row_a), [](Walk& w) { w.l1_hit(); }},
        {"L2 hit around the L1", around_l1(s, row_a), [](Walk& w) { w.l2_hit(); }},
        {"L2 miss, open row", one_block(s, row_a + 128), [](Walk& w) { w.l2_miss(Walk::Row::hit); }},
        {"L2 miss, other row open", one_block(s, row_b), [](Walk& w) { w.l2_miss(Walk::Row::conflict); }},
        {"L2 miss, its own row open again", one_block(s, row_b + 128), [](Walk& w) { w.l2_miss(Walk::Row::hit); }},
        {"L1 hit at the end", one_block(s, row_b), [](Walk& w) { w.l1_hit(); }},
    };
    WarpScript script;
    Walk walk(s);
    std::uint16_t reg = 0;
    std::uint64_t latencies = 0;
    std::uint64_t before = walk.cycles();
    for (const Step& step : steps) {
        script.load(static_cast<std::uint16_t>(reg + 1), step.access, {reg});
        ++reg;
        step.walk(walk);
        latencies += walk.cycles() - before;
        before = walk.cycles();
        WarpScript cut = script;
        cut.use(reg);
        const RunResult result = run_on(s, cut);
        EXPECT_EQ(result.kernels[0].start + result.kernels[0].cycles, walk.cycles()) << step.what;
        EXPECT_EQ(result.stat("sm.load_latency"), latencies) << step.what;
    }
}

TEST_P(UnloadedLatency, IsAccountedForByItsStages) {
    const RunResult result = run_on(s, WarpScript().load(1, one_block(s, 0)).use(1));
    const MachineTiming timing(s);
    const auto spent = [&](std::string_view name) -> Time {
        for (std::size_t i = 0; i < result.stages.size(); ++i) {
            if (result.stages[i].first == name) return result.load_times.spent[i];
        }
        ADD_FAILURE() << "no stage '" << name << "'";
        return 0;
    };
    // It waits for nobody: its time is wires, pipelines and the activation of its row.
    for (const char* stage :
         {"other", "lsu.lookup", "l1.mshrs_full", "cluster.bus", "cluster.injection", "noc.request.contention", "l2.queue", "l2.mshrs_full",
          "dram.queue", "dram.column", "l2.fill", "l2.reply", "noc.reply.contention", "cluster.response", "sm.reply", "flight.l2"}) {
        EXPECT_EQ(spent(stage), 0u) << stage;
    }
    EXPECT_EQ(spent("lsu.queue"), timing.core.time_of(1));
    EXPECT_EQ(spent("dram.row"), timing.dram.time_of(s.dram.timing.tRCD));
    EXPECT_EQ(spent("flight.dram"), result.load_times.total - spent("lsu.queue") - spent("dram.row"));
    EXPECT_EQ(result.load_times.loads, 1u);
    EXPECT_EQ(result.load_times.total, timing.core.time_of(result.stat("sm.load_latency")));
    EXPECT_EQ(std::accumulate(result.load_times.spent.begin(), result.load_times.spent.end(), Time{0}), result.load_times.total);
}

TEST_P(UnloadedLatency, OfAStoreUntilItsAcknowledgement) {
    Walk walk(s);
    walk.load_store_queue();
    walk.request(s.lsu.block_bytes);  // every byte of the block is written
    walk.reply(0);                    // an acknowledgement is a header; the L2 writes without fetching
    // The CTA ends when its last store is acknowledged, and a fence lets its warp go on then.
    EXPECT_EQ(cycles_of(s, WarpScript().store(one_block(s, 0))), walk.cycles());
    EXPECT_EQ(cycles_of(s, WarpScript().store(one_block(s, 0)).fence().use(0)), walk.cycles());
}

TEST_P(UnloadedLatency, OfAPartialStore) {
    Walk walk(s);
    walk.load_store_queue();
    walk.request(kSectorBytes);  // one lane touches one sector
    walk.reply(0);
    EXPECT_EQ(cycles_of(s, WarpScript().store(one_lane(64)).fence().use(0)), walk.cycles());
}

TEST_P(UnloadedLatency, WithoutAnL2) {
    MachineSpec bare = s;
    bare.l2.enabled = false;
    bare = valid(bare);
    Walk walk(bare);
    walk.l2_miss(Walk::Row::closed);
    EXPECT_EQ(cycles_of(bare, WarpScript().load(1, one_block(bare, 0)).use(1)), walk.cycles());
    walk.l2_miss(Walk::Row::hit);
    EXPECT_EQ(cycles_of(bare, WarpScript().load(1, one_block(bare, 0)).load(2, around_l1(bare, 0), {1}).use(2)), walk.cycles())
        << "nobody kept the line";
}

TEST_P(UnloadedLatency, OfAtomicsThatMissAndHitTheL2) {
    Walk walk(s);
    const auto to_slice = [&] { walk.load_store_queue(), walk.request(kSectorBytes); };
    to_slice();
    walk.dram(Walk::Row::closed);
    walk.reply(kSectorBytes);
    EXPECT_EQ(cycles_of(s, WarpScript().atomic(1, one_lane(0)).use(1)), walk.cycles());
    to_slice();
    walk.reply(kSectorBytes);
    EXPECT_EQ(cycles_of(s, WarpScript().atomic(1, one_lane(0)).atomic(2, one_lane(0), {1}).use(2)), walk.cycles());
}

TEST_P(UnloadedLatency, OfSharedMemoryWithConflicts) {
    for (const std::uint32_t ways : {1u, 2u, 4u, 32u}) {
        Access access;
        access.space = Space::shared;
        access.lanes = affine(0, 4 * static_cast<std::int64_t>(ways));  // `ways` lanes share each bank used
        Walk walk(s);
        walk.load_store_queue();
        walk.core(s.sm.shared_latency);
        walk.core(ways - 1);  // one more cycle per further word wanted from the same bank
        EXPECT_EQ(cycles_of(s, WarpScript().load(1, access).use(1)), walk.cycles()) << ways << "-way conflict";
    }
}

TEST_P(UnloadedLatency, OfDependentArithmetic) {
    for (const OpClass op :
         {OpClass::int_add, OpClass::int_mul, OpClass::int_div, OpClass::fp_mad, OpClass::dp_add, OpClass::sfu, OpClass::dp_div}) {
        constexpr std::uint32_t kLength = 12;
        WarpScript script;
        Walk walk(s);
        for (std::uint16_t i = 0; i < kLength; ++i) {
            script.compute(op, static_cast<std::uint16_t>(i + 1), {i});
            walk.core(s.sm.exec[static_cast<std::size_t>(op)].latency + s.sm.pipeline_latency);
        }
        script.use(kLength);
        EXPECT_EQ(cycles_of(s, script), walk.cycles()) << kComputeClassNames[static_cast<std::size_t>(op)];
    }
}

TEST_P(UnloadedLatency, OfIndependentArithmeticIsOnePerCycle) {
    // One warp issues at most once per cycle, and a unit takes one instruction per interval.
    WarpScript script;
    Walk walk(s);
    constexpr std::uint32_t kLength = 10;
    for (std::uint16_t i = 0; i < kLength; ++i) script.compute(OpClass::int_mad, static_cast<std::uint16_t>(i + 1));
    const ExecClassSpec& exec = s.sm.exec[static_cast<std::size_t>(OpClass::int_mad)];
    const std::uint32_t units = s.sm.sub_cores ? s.sm.units[0] / s.sm.schedulers : s.sm.units[0];
    walk.core((kLength - 1) * (exec.interval > units ? exec.interval / units : 1));  // the last issue ends the warp
    EXPECT_EQ(cycles_of(s, script), walk.cycles());
}

TEST_P(UnloadedLatency, OfABarrier) {
    // Warp 1 arrives after its dependent chain; both go on barrier_latency later.
    CtaScript cta(2);
    cta[0].barrier().use(0);
    cta[1].compute(OpClass::int_add, 1).compute(OpClass::int_add, 2, {1}).barrier().use(0);
    ScriptedWorkload workload({cta});
    const RunResult result = run_on(s, workload);
    Walk walk(s);
    walk.core(s.sm.exec[0].latency + s.sm.pipeline_latency);  // second add issues
    walk.core(1);                                             // barrier issues
    walk.core(s.sm.barrier_latency);
    EXPECT_EQ(result.kernels[0].start + result.kernels[0].cycles, walk.cycles());
}

TEST_P(UnloadedLatency, DoesNotDependOnTheWindow) {
    WarpScript script;
    script.load(1, one_block(s, 0)).load(2, one_block(s, next_row(s)), {1}).store(one_block(s, 256), {2}).fence().use(2);
    RunOptions narrow;
    narrow.window_cycles = 1;
    const std::uint64_t natural = cycles_of(s, script);
    EXPECT_EQ(cycles_of(s, script, narrow), natural);
    narrow.sleep = false;
    EXPECT_EQ(cycles_of(s, script, narrow), natural);
}

TEST(UnloadedLatencyInFigures, OfTheOneClockMachine) {
    // The same law written out as numbers, to be read beside the preset: nothing here is computed from fields.
    const MachineSpec s = plain(one_clock());
    const std::uint64_t dispatch = 16;
    // queue, then to the L2: injection, traversal, ejection, L2; back: injection, traversal, two more flits, ejection
    const std::uint64_t l2_hit = 1 + (2 + 8 + 2 + 120) + (2 + 8 + 2 + 2);
    // 100 cycles of fixed access latency, tRCD, tCL and a burst of two
    const std::uint64_t closed_row = 100 + 12 + 12 + 2;
    EXPECT_EQ(cycles_of(s, WarpScript().load(1, one_block(s, 0)).use(1)), dispatch + l2_hit + closed_row);
    EXPECT_EQ(cycles_of(s, WarpScript().load(1, one_block(s, 0)).load(2, around_l1(s, 0), {1}).use(2)),
              dispatch + l2_hit + closed_row + l2_hit);
    EXPECT_EQ(cycles_of(s, WarpScript().load(1, one_block(s, 0)).load(2, one_block(s, 0), {1}).use(2)),
              dispatch + l2_hit + closed_row + 1 + 28);
}

TEST(UnloadedLatencyInFigures, ASectoredLineNeedsAllItsBursts) {
    // Whole lines over a DRAM that moves 32 bytes per command: four column commands, one per tCCDL.
    MachineSpec s = plain(one_clock());
    s.dram.access_bytes = 32;
    s.dram.bus_bytes = 32;
    s.dram.timing.tCCDL = 3;
    valid(s);
    const std::uint64_t l2_hit = 1 + (2 + 8 + 2 + 120) + (2 + 8 + 2 + 2);
    EXPECT_EQ(cycles_of(s, WarpScript().load(1, one_block(s, 0)).use(1)), 16 + l2_hit + 100 + 12 + 3 * 3 + 12 + 1);
}

}  // namespace
}  // namespace mergelane::testing
