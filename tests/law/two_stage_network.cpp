// SPDX-License-Identifier: MIT
// Invariant: a packet has the same length in both stages of a network, nothing is lost between them, and a machine with such a network
// behaves like any other.
#include <gtest/gtest.h>

#include <map>

#include "core/error.hpp"
#include "machines.hpp"
#include "network_bench.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

NetworkSpec network(const char* kind, std::uint32_t stage_inputs = 4, std::uint32_t stage_links = 1) {
    NetworkSpec spec;
    spec.kind = kind;
    spec.stage_inputs = stage_inputs;
    spec.stage_links = stage_links;
    return spec;
}

TEST(TwoStages, FiveFlitsStayFive) {
    for (const std::uint32_t flits : {1u, 2u, 5u}) {
        std::map<std::string, std::vector<Cycle>> arrivals;
        for (const char* kind : {"crossbar", "two_stage"}) {
            NetworkBench bench(4, 4, network(kind));
            for (int n = 0; n < 6; ++n) bench.offer(1, 2, flits);
            bench.run(200);
            for (const auto& a : bench.takers[2]->taken) arrivals[kind].push_back(a.at);
        }
        const std::vector<Cycle>& one = arrivals["crossbar"];
        const std::vector<Cycle>& two = arrivals["two_stage"];
        ASSERT_EQ(one.size(), 6u);
        ASSERT_EQ(two.size(), 6u);
        // To the network, its length, from the network; the second stage begins with the head, so it adds its hop only.
        EXPECT_EQ(one[0], 2 + (flits - 1) + 2);
        EXPECT_EQ(two[0], one[0] + 1);
        for (std::size_t n = 1; n < 6; ++n) EXPECT_EQ(two[n], two[n - 1] + flits) << "packets of " << flits << " flits";
    }
}

/// Flits per cycle that reach the sinks when every source always has packets.
double throughput(std::uint32_t sources, std::uint32_t sinks, const NetworkSpec& spec, std::uint32_t flits) {
    NetworkBench bench(sources, sinks, spec);
    Rng rng(5);
    for (std::uint32_t i = 0; i < sources; ++i) {
        for (int n = 0; n < 3000; ++n)
            bench.offer(i, spec.queueing == NetworkShape::Queueing::voq ? rng.below(sinks) : (n + i) % sinks, flits);
    }
    bench.run(2000);
    return static_cast<double>(bench.delivered() * flits) / 2000.0;
}

TEST(TwoStages, LinksBetweenThemCarryOneFlitPerCycle) {
    for (const std::uint32_t flits : {1u, 5u}) {
        for (const std::uint32_t links : {1u, 2u, 3u}) {
            NetworkSpec spec = network("two_stage", 4, links);
            spec.queueing = NetworkShape::Queueing::voq;
            spec.arbiter = NetworkShape::Arbiter::islip;
            spec.islip_iterations = 4;
            spec.input_buffer_flits = 64;
            const double carried = throughput(8, 12, spec, flits);
            EXPECT_LE(carried, 2.0 * links) << links << " links of each of two crossbars, packets of " << flits;
            EXPECT_GE(carried, 2.0 * links * 0.9) << links << " links of each of two crossbars, packets of " << flits;
        }
    }
}

TEST(TwoStages, LoseNothingBetweenThem) {
    NetworkSpec spec = network("two_stage", 3, 2);
    spec.queueing = NetworkShape::Queueing::voq;
    NetworkBench bench(7, 5, spec, Gate{1, 70}, Gate{2, 40}, 3);
    Rng rng(9);
    std::uint64_t flits = 0;
    for (std::uint32_t i = 0; i < 7; ++i) {
        for (int n = 0; n < 200; ++n) {
            const std::uint32_t length = 1 + rng.below(5);
            bench.offer(i, rng.below(5), length);
            flits += length;
        }
    }
    std::uint64_t most = 0;
    bench.run(20'000, true, [&] {
        const std::uint64_t held = bench.wiring.held("request network");
        most = std::max(most, held);
        EXPECT_EQ(bench.stat("noc.request", "packets_in"), bench.stat("noc.request", "packets") + held);
        EXPECT_EQ(bench.sent(), bench.stat("noc.request", "packets_in") + bench.wiring.in_flight("source -> network"));
        EXPECT_LE(bench.wiring.in_flight("noc.request"), held) << "what is between the stages is inside the network";
    });
    EXPECT_GT(most, 10u) << "too little to prove anything";
    EXPECT_EQ(bench.delivered(), 7u * 200);
    EXPECT_EQ(bench.stat("noc.request", "packets"), 7u * 200);
    EXPECT_EQ(bench.stat("noc.request.stage1", "packets"), 7u * 200);
    EXPECT_EQ(bench.stat("noc.request", "flits"), flits);
    EXPECT_EQ(bench.stat("noc.request.stage1", "flits"), flits);
    // Packets of one source to one sink stay in order.
    for (std::uint32_t o = 0; o < 5; ++o) {
        std::map<std::uint32_t, int> last;
        for (const auto& arrival : bench.takers[o]->taken) {
            EXPECT_EQ(arrival.value.destination, o);
            const auto [at, is_new] = last.try_emplace(arrival.value.source, -1);
            EXPECT_GT(int{arrival.value.tag}, at->second);
            at->second = arrival.value.tag;
        }
    }
}

MachineSpec small(const char* kind = "two_stage") {
    MachineSpec s = icc60_like(5);
    s.gpu.sms_per_cluster = 2;
    s.dram.channels = 3;
    s.noc.kind = kind;
    s.noc.stage_inputs = 2;
    s.noc.stage_links = 1;
    return valid(s);
}

RunResult run_small(const MachineSpec& spec, const char* kind) {
    SyntheticParams p = synthetic_defaults(kind);
    p.ctas = 20;
    p.iterations = 2;
    p.footprint_kib = 256;
    const auto workload = make_synthetic(kind, p);
    return run_on(spec, *workload);  // which checks all laws
}

TEST(TwoStages, OfAWholeMachinePassEverythingOn) {
    for (const char* kind : {"stream", "divergent", "atomic"}) {
        const RunResult run = run_small(small(), kind);
        EXPECT_EQ(run.stat("noc.request.stage1.flits"), run.stat("noc.request.flits"));
        EXPECT_EQ(run.stat("noc.reply.stage1.packets"), run.stat("noc.reply.packets"));
        EXPECT_GT(run.cycles, run_small(small("crossbar"), kind).cycles) << kind << ": a hop more, and fewer links";
    }
}

TEST(TwoStages, WaitForEachOtherInADeadlockReport) {
    expect_deadlock_at(small(), {"request_stage1_crossbar0 -> request_stage2_crossbar", "reply_stage1_crossbar0 -> reply_stage2_crossbar"});
}

}  // namespace
}  // namespace mergelane::testing
