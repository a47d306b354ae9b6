// SPDX-License-Identifier: MIT
// Invariant: every request is answered exactly once, for any mix and any buffer size, wherever the run is cut.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "machines.hpp"
#include "random_scripts.hpp"
#include "run.hpp"
#include "sm/banked_front.hpp"
#include "sm/lsu_meter.hpp"
#include "sm/mrpb_front.hpp"
#include "sm/warp_pool_spec.hpp"

namespace mergelane::testing {
namespace {

std::vector<MachineSpec> machines() {
    std::vector<MachineSpec> list;
    const auto shrunk = [](MachineSpec s) {
        s.gpu.clusters = std::min(s.gpu.clusters, 3u);
        s.dram.channels = std::min(s.dram.channels, 3u);
        // Caches of a few lines, so that evictions and write-backs happen all the time.
        s.l1.size_kib = 2;
        s.l1.unified_kib = 0;
        s.l1.ways = 2;
        s.l2.size_kib = 2;
        s.l2.ways = 2;
        return valid(s);
    };
    list.push_back(shrunk(icc60_like()));
    list.push_back(shrunk(gtx480_like()));
    list.push_back(shrunk(v100_like()));
    for (std::size_t i = 0; i < 3; ++i) list.push_back(with_tiny_buffers(list[i]));
    MachineSpec s = list[0];
    s.name = "voq-islip-on-fill";
    s.noc.queueing = NetworkShape::Queueing::voq;
    s.noc.arbiter = NetworkShape::Arbiter::islip;
    s.noc.islip_iterations = 2;
    s.l1.allocate = L1Spec::Allocate::on_fill;
    s.dram.scheduler = "fifo_serial";
    list.push_back(valid(s));
    s = with_tiny_buffers(list[0]);
    s.name = "voq-round-robin-tiny-byte-mask";
    s.noc.queueing = NetworkShape::Queueing::voq;
    s.l1.write_policy = L1Spec::WritePolicy::byte_mask;
    list.push_back(valid(s));
    s = with_tiny_buffers(list[2]);
    s.name = "sectored-blocks-whole-line-fetch";
    s.l2.sector_bytes = 128;
    s.l1.enabled = false;
    list.push_back(valid(s));
    s = list[0];
    s.name = "icc";
    s.section<IccSpec>().on = true;
    list.push_back(valid(s));
    s.name = "icc-cc-small-table";
    s.section<IccSpec>().entries = 3;
    s.section<CoalescedCacheSpec>().on = true;
    s.section<CoalescedCacheSpec>().entries = 6;
    s.section<CoalescedCacheSpec>().ways = 3;
    s.section<LocalitySpec>().on = true;
    s.dispatch.scheduler = "distributed_block";
    list.push_back(valid(s));
    s = with_tiny_buffers(s);
    s.name = "icc-cc-tiny-sectors-no-l1";
    s.l1.enabled = false;
    s.section<CoalescedCacheSpec>().hit_queue = 1;
    s.section<IccSpec>().l1_bypassing_loads = true;
    list.push_back(valid(s));
    s = list[0];
    s.name = "warp-pool";
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    list.push_back(valid(s));
    s = with_tiny_buffers(s);
    s.name = "warp-pool-tiny";
    WarpPoolSpec& pool = s.section<WarpPoolSpec>();
    pool.instruction_queues = 2;
    pool.queue_entries = 1;
    pool.line_queues = 2;
    pool.tags = 1;
    pool.merges = 2;
    pool.map_entries = 1;
    pool.policy = WarpPoolSpec::Policy::warp_id;
    list.push_back(valid(s));
    s = list[2];
    s.name = "warp-pool-sectors-switching";
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    s.section<WarpPoolSpec>().quantum = 100;
    s.section<WarpPoolSpec>().switch_percent = 10;
    s.section<WarpPoolSpec>().coalescers = 4;
    list.push_back(valid(s));
    s = list[0];
    s.name = "banked";
    s.lsu.front = "banked";
    list.push_back(valid(s));
    s = with_tiny_buffers(list[2]);
    s.name = "banked-tiny-sectors-two-banks";
    s.lsu.front = "banked";
    s.section<BankedSpec>().banks = 2;
    list.push_back(valid(s));
    s = list[1];
    s.name = "mrpb";
    s.lsu.front = "mrpb";
    s.sm.shared_path = SmSpec::SharedPath::own;
    list.push_back(valid(s));
    s = with_tiny_buffers(list[0]);
    s.name = "mrpb-tiny-one-warp-loads";
    s.lsu.front = "mrpb";
    s.sm.shared_path = SmSpec::SharedPath::own;
    s.section<MrpbSpec>().queues = 3;
    s.section<MrpbSpec>().queue_entries = 1;
    s.sm.warp_limit = 1;
    s.section<LsuMeterSpec>().on = true;
    list.push_back(valid(s));
    s = list[10];
    s.name = "icc-cc-warp-pool-distributed-block";
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    list.push_back(valid(s));
    s = list[0];
    s.name = "no-l2-fifo";
    s.l2.enabled = false;
    s.dram.scheduler = "fifo";
    list.push_back(valid(s));
    s = with_tiny_buffers(list[2]);
    s.name = "no-l2-banked-fifo-tiny";
    s.l2.enabled = false;
    s.dram.scheduler = "banked_fifo";
    s.dram.bank_queue = 2;
    list.push_back(valid(s));
    return list;
}

class ExactlyOnce : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Machines, ExactlyOnce, ::testing::Range<std::size_t>(0, 20));

std::vector<CtaScript> programs(std::uint64_t seed, const RandomMix& mix) {
    std::vector<CtaScript> list;
    for (std::uint32_t c = 0; c < 12; ++c) list.push_back(random_cta(seed * 1000 + c, mix));
    return list;
}

TEST_P(ExactlyOnce, UnderRandomWorkloads) {
    const MachineSpec s = machines().at(GetParam());
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        RandomMix mix;
        mix.lines = seed % 2 == 0 ? 24 : 400;
        mix.warps = seed % 3 == 0 ? 1 : 4;
        const std::vector<CtaScript> ctas = programs(seed, mix);
        const ExpectedRequests expected = expected_requests(ctas, s.lsu.block_bytes);
        ScriptedWorkload workload(ctas);
        Simulation simulation(s, {});
        const RunResult result = simulation.run(workload);  // throws when a conservation law is broken
        const auto stat = [&](std::string_view name) { return result.stat(name); };
        EXPECT_EQ(broken_laws(simulation.machine(), result.stats, true), std::vector<std::string>{}) << s.name << " seed " << seed;
        // Counted from the programs, not by the machine:
        EXPECT_EQ(stat("l2.writes"), expected.stores) << s.name << " seed " << seed;
        EXPECT_EQ(stat("l2.atomics"), expected.atomics) << s.name << " seed " << seed;
        const std::uint64_t l1_blocks =
            (stat("l1.sector_accesses") - stat("l1.sector_write_accesses")) / (s.lsu.block_bytes / kSectorBytes);
        const bool merging = s.section<IccSpec>().on;
        const std::uint64_t kept = merging ? stat("icc.merged") + stat("cc.hits") : 0;  // answered without a request of their own
        EXPECT_EQ(stat("cluster.kept"), kept);
        if (merging) {
            EXPECT_GT(stat("icc.merged"), 0u) << s.name << " seed " << seed;
        }
        if (s.l1.enabled) {
            const std::uint64_t joined = result.has_stat("warp_pool.merged") ? stat("warp_pool.merged") : 0;  // went with another
            EXPECT_EQ(l1_blocks + joined, expected.through_l1) << s.name << " seed " << seed;
            if (s.lsu.front == "warp_pool" && mix.warps > 1) {
                EXPECT_GT(joined, 0u) << s.name << " seed " << seed;
            }
            EXPECT_EQ(stat("l2.reads") + kept, expected.direct + stat("l1.fills")) << s.name << " seed " << seed;
        } else {
            EXPECT_EQ(stat("l2.reads") + kept, expected.direct + expected.through_l1) << s.name << " seed " << seed;
        }
        EXPECT_EQ(stat("sm.replies_received"), kept + stat("l2.reads") + stat("l2.writes") + stat("l2.atomics"))
            << s.name << " seed " << seed;
        EXPECT_EQ(stat("sm.ctas_finished"), ctas.size());
        // Every instruction of every warp issued once.
        std::uint64_t instructions = 0;
        for (const CtaScript& cta : ctas) {
            for (const WarpScript& warp : cta) instructions += warp.insts().size();
        }
        EXPECT_EQ(result.warp_instructions, instructions);
        // What DRAM wrote is what the L2 gave up; what is still dirty in the L2 stays there.
        EXPECT_EQ(stat("dram.sector_writes"), stat("l2.sectors_written_back"));
    }
}

TEST_P(ExactlyOnce, WhereverTheRunIsCut) {
    const MachineSpec s = machines().at(GetParam());
    const RandomMix mix;
    const auto run_to = [&](std::uint64_t max_cycles, std::uint64_t& in_flight) {
        ScriptedWorkload workload(programs(77, mix));
        RunOptions options;
        options.max_cycles = max_cycles;
        Simulation simulation(s, options);
        const RunResult result = simulation.run(workload);
        EXPECT_EQ(broken_laws(simulation.machine(), result.stats, false), std::vector<std::string>{}) << s.name << " cut at " << max_cycles;
        in_flight = simulation.machine().held("sm");
        return result;
    };
    std::uint64_t in_flight = 0;
    const std::uint64_t whole = run_to(0, in_flight).cycles;
    EXPECT_EQ(in_flight, 0u);
    std::uint64_t cuts_with_requests_inside = 0;
    for (std::uint64_t k = 0; k < 12; ++k) {
        const std::uint64_t cut = 1 + (whole - 1) * k / 12;
        const RunResult result = run_to(cut, in_flight);
        EXPECT_EQ(result.partial, "cycle limit") << s.name << " cut at " << cut << " of " << whole;
        EXPECT_EQ(result.stat("sm.requests_sent"), result.stat("sm.replies_received") + in_flight);
        cuts_with_requests_inside += in_flight != 0 ? 1 : 0;
    }
    EXPECT_GT(cuts_with_requests_inside, 6u) << "cuts that catch nothing prove nothing";
}

}  // namespace
}  // namespace mergelane::testing
