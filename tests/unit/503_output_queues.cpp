// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "core/error.hpp"
#include "network_bench.hpp"

namespace mergelane::testing {
namespace {

NetworkSpec queues(std::uint32_t buffer = 32) {
    NetworkSpec spec;
    spec.kind = "output_queues";
    spec.input_buffer_flits = buffer;
    return spec;
}

using Arrivals = std::vector<std::pair<Cycle, std::uint32_t>>;  ///< when, from which source

Arrivals arrivals(const NetworkBench& bench, std::uint32_t sink) {
    Arrivals list;
    for (const auto& arrival : bench.takers[sink]->taken) list.emplace_back(arrival.at, arrival.value.source);
    return list;
}

TEST(OutputQueues, TakeAnIdlePacketAsLongAsACrossbarDoes) {
    for (const std::uint32_t flits : {1u, 2u, 5u}) {
        std::map<std::string, Arrivals> of;
        for (const char* kind : {"crossbar", "output_queues"}) {
            NetworkSpec spec = queues();
            spec.kind = kind;
            NetworkBench bench(2, 3, spec);
            for (int n = 0; n < 4; ++n) bench.offer(1, 2, flits);
            bench.run(100);
            of[kind] = arrivals(bench, 2);
        }
        ASSERT_EQ(of["output_queues"].size(), 4u);
        EXPECT_EQ(of["output_queues"][0].first, 2 + (flits - 1) + 2);
        EXPECT_EQ(of["output_queues"], of["crossbar"]) << "packets of " << flits << " flits";
    }
}

TEST(OutputQueues, SendOneFlitPerCycleFromASource) {
    NetworkBench bench(1, 2, queues());
    for (std::uint32_t n = 0; n < 6; ++n) bench.offer(0, n % 2, 3);
    bench.run(100);
    EXPECT_EQ(arrivals(bench, 0), (Arrivals{{6, 0}, {12, 0}, {18, 0}}));
    EXPECT_EQ(arrivals(bench, 1), (Arrivals{{9, 0}, {15, 0}, {21, 0}})) << "another sink, but the same way out";
}

TEST(OutputQueues, HandOneFlitPerCycleToASinkAndRotateTheTurn) {
    NetworkBench bench(4, 1, queues());
    for (std::uint32_t i = 0; i < 4; ++i) {
        bench.offer(i, 0, 3, 0);
        bench.offer(i, 0, 1, 41);
    }
    bench.run(100);
    // The first are there at 6, the second at 45: source (n - cycle) modulo 4 begins.
    EXPECT_EQ(arrivals(bench, 0), (Arrivals{{6, 2}, {9, 3}, {12, 0}, {15, 1}, {45, 3}, {46, 0}, {47, 1}, {48, 2}}));
}

TEST(OutputQueues, KeepTheOrderOfArrival) {
    NetworkBench bench(3, 1, queues());
    bench.offer(0, 0, 5, 0);  // there at 8, sent first
    bench.offer(1, 0, 1, 3);  // there at 7
    bench.offer(2, 0, 1, 4);  // there at 8, and its turn
    bench.run(100);
    EXPECT_EQ(arrivals(bench, 0), (Arrivals{{7, 1}, {8, 2}, {13, 0}})) << "a long packet takes its cycles when its turn has come";
}

TEST(OutputQueues, DoNotHoldUpASourceForAnothersSink) {
    // Sink 0 takes nothing for a long time; what source 1 has for sink 1 passes.
    NetworkBench bench(2, 2, queues(), {}, {}, 1);
    bench.takers[0]->per_cycle = 0;
    for (int n = 0; n < 10; ++n) bench.offer(0, 0, 1);
    for (int n = 0; n < 10; ++n) bench.offer(1, 1, 1);
    bench.run(40);
    EXPECT_EQ(bench.takers[1]->taken.size(), 10u);
    EXPECT_EQ(bench.takers[1]->taken.back().at, 13u);
    EXPECT_EQ(bench.feeders[0]->sent(), 10u) << "the room at a sink is not counted, only the source's buffer";
    EXPECT_EQ(bench.wiring.held("request network"), 10u);
}

TEST(OutputQueues, StopASourceWhoseBufferIsFullUntilTheRoomIsBack) {
    // Room for three and for the two on the wire to the sink: sent at 0 to 4, the first taken at 4, its room back and used again at 6.
    const Arrivals expected = {{4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {10, 0}, {11, 0}, {12, 0}};
    for (const bool apart : {false, true}) {
        for (const bool patient : {false, true}) {
            for (const Time window : {1u, 2u}) {
                NetworkBench bench(1, 1, queues(3), {}, {}, 64, nullptr, {apart});
                bench.window = window;
                bench.feeders[0]->patient = patient;
                for (int n = 0; n < 8; ++n) bench.offer(0, 0, 1);
                bench.run(60);
                EXPECT_EQ(arrivals(bench, 0), expected) << (apart ? "apart" : "together") << (patient ? ", patient" : "") << ", " << window;
            }
        }
    }
}

TEST(OutputQueues, KeepFullWidthWithTheBufferThatACrossbarNeeds) {
    // Flits under way to the network and back as credits; how far the sinks are does not matter.
    NetworkBench bench(1, 1, queues(20), {}, {}, 64, nullptr, {true, 10});
    for (int n = 0; n < 200; ++n) bench.offer(0, 0, 1);
    bench.run(300);
    ASSERT_EQ(bench.delivered(), 200u);
    EXPECT_EQ(bench.takers[0]->taken.back().at, 20u + 199);
}

TEST(OutputQueues, WakeASourceAsSoonAsALongPacketFits) {
    // Room for one, and two on the wire, comes back in pieces of one flit; the packet of three needs all of them.
    for (const Time window : {1u, 2u}) {
        NetworkBench bench(1, 3, queues(1), {}, {}, 64, nullptr, {true});
        bench.window = window;
        bench.feeders[0]->patient = true;
        for (std::uint32_t o = 0; o < 3; ++o) bench.offer(0, o, 1);  // taken at 4, 5 and 6
        bench.offer(0, 0, 3);
        bench.run(60);
        EXPECT_EQ(arrivals(bench, 0), (Arrivals{{4, 0}, {8 + 2 + 4, 0}})) << "window " << window;
    }
}

/// Everything that can be seen of a run.
std::string record(const NetworkBench& bench) {
    std::ostringstream text;
    for (const auto* taker : bench.takers) {
        for (const auto& a : taker->taken) text << a.at << ':' << a.value.source << '/' << a.value.tag << ' ';
        text << '\n';
    }
    for (const char* name : {"packets_in", "packets", "flits", "read_packets", "multi_flit_packets", "wait"})
        text << name << ' ' << bench.stat("noc.request", name) << '\n';
    return text.str();
}

struct Random {
    Random(std::uint64_t seed, const NetworkLayout& layout)
        : bench(6, 4, queues(9), Gate{seed, 60}, Gate{seed + 50, 45}, 2, nullptr, layout) {
        Rng rng(seed);
        for (std::uint32_t i = 0; i < 6; ++i) {
            bench.feeders[i]->patient = i % 2 == 0;
            for (int n = 0; n < 200; ++n) {
                const std::uint32_t length = 1 + rng.below(5);
                bench.offer(i, rng.below(4), length);
                flits += length;
            }
        }
    }
    NetworkBench bench;
    std::uint64_t flits = 0;
};

TEST(OutputQueues, LoseNothingAndKeepTheOrderOfEveryPair) {
    Random random(3, {});
    NetworkBench& bench = random.bench;
    std::uint64_t most = 0;
    const auto balanced = [&] {
        const std::uint64_t held = bench.wiring.held("request network");
        most = std::max(most, held);
        EXPECT_EQ(bench.stat("noc.request", "packets_in"), bench.sent());
        EXPECT_EQ(bench.stat("noc.request", "packets"), bench.delivered());
        EXPECT_EQ(held, bench.sent() - bench.delivered());
        EXPECT_EQ(bench.wiring.in_flight("source -> network"), 0u) << "a packet is held by the network as soon as it is sent";
        EXPECT_EQ(bench.wiring.in_flight("network -> sink"), 0u);
    };
    for (const Cycle stop : {1u, 2u, 7u, 100u, 101u, 777u, 20'000u}) {
        bench.run(stop, true, balanced);
        balanced();
    }
    EXPECT_GT(most, 10u) << "too little to prove anything";
    EXPECT_EQ(bench.delivered(), 6u * 200);
    EXPECT_EQ(bench.stat("noc.request", "flits"), random.flits);
    EXPECT_EQ(bench.wiring.held("request network"), 0u);
    expect_order_of_pairs(bench.takers);
}

TEST(OutputQueues, GiveOneResultForThreadsWindowsAndSleep) {
    constexpr Time kLatency = 5;
    for (const std::uint64_t seed : {11u, 12u}) {
        std::string first;
        const auto run = [&](bool apart, std::uint32_t threads, Time window, bool sleep) {
            Random random(seed, {apart, kLatency});
            random.bench.threads = threads;
            random.bench.window = window;
            random.bench.run(601, sleep);  // some of them are still under way
            EXPECT_GT(random.bench.wiring.held("request network"), 0u);
            const std::string seen = record(random.bench);
            if (first.empty()) first = seen;
            EXPECT_EQ(seen, first) << "threads " << threads << ", window " << window << (sleep ? "" : ", no sleep")
                                   << (apart ? ", apart" : "");
        };
        for (const bool apart : {false, true}) {
            for (const bool sleep : {true, false}) {
                for (Time window = 1; window <= kLatency; ++window) run(apart, 1, window, sleep);
            }
        }
        for (const std::uint32_t threads : {2u, 4u}) {
            for (const Time window : {Time{1}, Time{3}, kLatency}) run(true, threads, window, true);
        }
    }
}

TEST(OutputQueues, RefuseAnotherClockAndSayWhatToDo) {
    NetworkSpec spec = queues();
    spec.clock = Clock{2};
    try {
        NetworkBench bench(2, 2, spec);
        FAIL() << "it was built";
    } catch (const InputError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("source0 has a different clock"), std::string::npos) << text;
        EXPECT_NE(text.find("make gpu.core_mhz, gpu.noc_mhz and gpu.l2_mhz equal, or use noc.kind = \"crossbar\""), std::string::npos)
            << text;
    }
}

}  // namespace
}  // namespace mergelane::testing
