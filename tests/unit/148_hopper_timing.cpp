// SPDX-License-Identifier: MIT
// Timing of sm_90: mbarriers that count, bulk copies, products of warpgroups.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "core/bulk_box.hpp"
#include "core/error.hpp"
#include "hopper.hpp"
#include "ptx_helpers.hpp"
#include "run.hpp"
#include "sm/async_unit.hpp"
#include "workload/ptx/tensor_map.hpp"

namespace mergelane::ptx {
namespace {

using mergelane::testing::bulk_pipeline;
using mergelane::testing::hopper_kernel;
using mergelane::testing::hopper_like;

struct Timed {
    RunResult result;
    std::vector<float> sums;
    std::uint64_t stat(std::string_view name) const {
        for (const StatValue& value : result.stats) {
            if (value.name == name) return value.value;
        }
        ADD_FAILURE() << "no statistic " << name;
        return 0;
    }
};
Timed timed(const std::string& text, std::uint32_t threads = 64, const MachineSpec& machine = hopper_like(), std::uint32_t ctas = 1) {
    TestDevice device(text);
    device.record = true;
    std::vector<float> input(std::size_t{1} << 18);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 97) / 8;
    const Addr out = device.zeros<float>(std::size_t{1} << 16);
    const auto kernel = device.run("k", {ctas}, {threads}, out, device.put(input));
    mergelane::testing::OneKernel workload(*kernel);
    return {mergelane::testing::run_on(machine, workload), device.get<float>(out, threads * ctas)};
}
std::string problem(const std::string& text, const MachineSpec& machine) {
    try {
        timed(text, 64, machine);
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

TEST(Mbarriers, CountsAreThoseOfAMap) {
    // Random events of several CTAs, against a map; what waits never passes before its events.
    std::mt19937 random(7);
    AsyncUnit unit(64);
    std::map<std::pair<std::uint32_t, Addr>, std::uint64_t> expected;
    for (int step = 0; step < 20000; ++step) {
        const auto context = static_cast<std::uint32_t>(random() % 4);
        const Addr barrier = 8 * (random() % 6);
        if (random() % 200 == 0) {
            unit.barriers.forget(context);
            std::erase_if(expected, [&](const auto& entry) { return entry.first.first == context; });
        }
        unit.barriers.count(context, barrier);
        ++expected[{context, barrier}];
        AsyncUnit::Values& wait = unit.warp(3).wait;
        wait.count = static_cast<std::uint32_t>(2 * (1 + random() % 3));
        bool reached = true;
        for (std::uint32_t v = 0; v < wait.count; v += 2) {
            wait.value[v] = 8 * (random() % 6);
            wait.value[v + 1] = expected[{context, wait.value[v]}] + random() % 2;
            reached = reached && expected[{context, wait.value[v]}] >= wait.value[v + 1];
        }
        ASSERT_EQ(unit.reached(context, 3), reached);
    }
}

TEST(Mbarriers, EventsComeInTheOrderOfTheirTimes) {
    AsyncUnit unit(64);
    std::mt19937 random(8);
    for (int i = 0; i < 100; ++i) unit.expect({random() % 50, 0, Addr{random() % 8}, 0});
    Cycle last = 0;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(unit.next_event() < last, false);
        last = unit.take_event().at;
    }
    EXPECT_EQ(unit.next_event(), kNever);
}

TEST(HopperTiming, NoWaitPassesBeforeItsArrivals) {
    // A random graph of tasks, one warp each: a task waits for its predecessors, loads along a chain, and arrives at those that follow. The
    // run takes at least as long as the longest path.
    constexpr std::uint32_t kTasks = 14, kLeastLoad = 100;
    std::mt19937 random(9);
    for (int run = 0; run < 6; ++run) {
        std::array<std::uint32_t, kTasks> length{}, predecessors{};
        std::array<std::uint64_t, kTasks> least{};
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
        for (std::uint32_t t = 0; t < kTasks; ++t) {
            length[t] = 1 + random() % 4;
            for (std::uint32_t before = 0; before < t; ++before) {
                if (random() % 4 == 0 || before + 1 == t) edges.emplace_back(before, t), ++predecessors[t];
            }
        }
        std::string text;
        for (std::uint32_t t = 0; t < kTasks; ++t)
            text += fmt::format("@%p1 mbarrier.init.shared.b64 [bars+{}], {};\n", 8 * t, std::max(predecessors[t], 1u));
        text += "bar.sync 0; shr.u32 %r5, %r1, 5;\n";
        std::uint64_t longest = 0;
        for (std::uint32_t t = 0; t < kTasks; ++t) {
            text += fmt::format("setp.ne.u32 %p2, %r5, {0}; @%p2 bra T{0};\n", t);
            if (predecessors[t] != 0)
                text += fmt::format("W{0}: mbarrier.try_wait.parity.shared.b64 %p3, [bars+{1}], 0; @!%p3 bra W{0};\n", t, 8 * t);
            text += "mov.u64 %x10, %x3;\n";
            for (std::uint32_t k = 0; k < length[t]; ++k)
                text +=
                    fmt::format("ld.global.cg.u32 %r6, [%x10+{}]; and.b32 %r6, %r6, 0; cvt.u64.u32 %x11, %r6; add.u64 %x10, %x10, %x11;\n",
                                4096 * (8 * t + k));
            for (const auto& [from, to] : edges) {
                if (from != t) continue;
                least[to] = std::max(least[to], least[t] + length[t]);
                // After the loads: the address depends on them.
                text += fmt::format(
                    "cvt.u32.u64 %r8, %x11; mov.u32 %r7, bars; add.u32 %r7, %r7, %r8; elect.sync %r9|%p4, 0xffffffff; @%p4 "
                    "mbarrier.arrive.shared.b64 _, [%r7+{}];\n",
                    8 * to);
            }
            longest = std::max(longest, least[t] + length[t]);
            text += fmt::format("T{}:\n", t);
        }
        const Timed result = timed(hopper_kernel(text), 32 * kTasks);
        EXPECT_GE(result.result.cycles, longest * kLeastLoad) << run;
        EXPECT_LE(result.result.cycles, longest * 6 * kLeastLoad + 3000) << run;
    }
}

TEST(HopperTiming, ASpinningWaitIsTimedOnce) {
    // The second warp spins hundreds of times in the functional execution.
    const Timed result = timed(hopper_kernel(R"(
        @%p1 mbarrier.init.shared.b64 [bars], 1; bar.sync 0; setp.ge.u32 %p2, %r1, 32; @%p2 bra W;
        mov.u32 %r5, 0; A: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 2000; @%p3 bra A;
        @%p1 mbarrier.arrive.shared.b64 _, [bars]; bra END;
        W: mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0; @!%p4 bra W;
        END:)"));
    EXPECT_LT(result.stat("sm.warp_instructions"), 6000u + 100);
    EXPECT_GT(result.result.cycles, 2000u * 3);
}

TEST(HopperTiming, StagesOfBulkCopiesOverlap) {
    std::map<std::uint32_t, Cycle> cycles;
    std::vector<float> sums;
    for (const std::uint32_t stages : {1u, 2u, 4u}) {
        const Timed result = timed(bulk_pipeline(stages, 30));
        cycles[stages] = result.result.cycles;
        if (!sums.empty()) {
            EXPECT_EQ(result.sums, sums);
        }
        sums = result.sums;
        EXPECT_EQ(result.stat("tma.boxes"), 64u);
        EXPECT_EQ(result.stat("tma.bytes"), 64u * 4096);
        EXPECT_EQ(result.stat("tma.blocks"), 64u * 4096 / 32);
    }
    RecordProperty("one", static_cast<int>(cycles[1]));
    RecordProperty("two", static_cast<int>(cycles[2]));
    RecordProperty("four", static_cast<int>(cycles[4]));
    EXPECT_LT(cycles[2], cycles[1] * 8 / 10);
    EXPECT_LT(cycles[4], cycles[2] * 9 / 10);
}

TEST(HopperTiming, BulkCopiesGoPastTheL1AndHaveALatency) {
    const Timed one = timed(bulk_pipeline(1, 0, 1)), more = timed(bulk_pipeline(1, 0, 11));
    MachineSpec slow = hopper_like();
    slow.section<TmaSpec>().latency += 50;
    const Timed later = timed(bulk_pipeline(1, 0, 11), 64, slow);
    EXPECT_NEAR(static_cast<double>(later.result.cycles - more.result.cycles), 11 * 50, 11);
    EXPECT_EQ(one.stat("l1.sector_accesses"), more.stat("l1.sector_accesses"));
    // 128 requests, two per cycle, take 64 cycles after the first one.
    EXPECT_GT(more.result.cycles - one.result.cycles, 10u * (100 + 64 + 100));
}

TEST(HopperTiming, WhatLiesOutsideOfATensorCausesNoRequests) {
    // A tensor of 20 x 24 floats; boxes of 16 x 8 from (8, 20) on: 12 x 4 are inside.
    const auto blocks_of = [](std::int32_t x, std::int32_t y, bool stores) {
        std::string text =
            hopper_kernel(fmt::format(R"(
            @!%p1 bra END; mov.b64 %x4, pm; cvta.param.u64 %x5, %x4; mov.u32 %r5, {}; mov.u32 %r6, {};
            mbarrier.init.shared.b64 [bars], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bars], 512;
            {}
            END:)",
                                      x, y,
                                      stores ? R"(cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%x5, {%r5, %r6}], [tile];
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;)"
                                             : R"(cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
                [tile], [%x5, {%r5, %r6}], [bars]; W: mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0; @!%p4 bra W;)"));
        const std::string params = ".param .u64 pi)";
        text.replace(text.find(params), params.size(), ".param .u64 pi, .param .align 64 .b8 pm[128])");
        TestDevice device(text);
        const Addr in = device.zeros<float>(4096);
        TensorMap map;
        map.type = TensorType::f32;
        map.rank = 2;
        map.address = in;
        map.size = {20, 24};
        map.stride = {96};
        map.box = {16, 8};
        map.element_stride = {1, 1};
        std::array<std::byte, TensorMap::kBytes> bytes{};
        EXPECT_EQ(map.encode(bytes), "");
        const auto packed = device.module->pack("k", {Argument{&in, 8}, Argument{&in, 8}, Argument{bytes.data(), bytes.size()}});
        const auto kernel = execute(*device.module, "k", {{1}, {32}, 0}, packed, device.memory, device.options, true);
        mergelane::testing::OneKernel workload(*kernel);
        const Timed result{mergelane::testing::run_on(hopper_like(), workload), {}};
        return result.stat("tma.blocks");
    };
    for (const bool stores : {false, true}) {
        EXPECT_EQ(blocks_of(0, 0, stores), 8u * 2) << stores;    // rows of 64 bytes
        EXPECT_EQ(blocks_of(8, 20, stores), 4u * 2) << stores;   // 48 bytes each, from byte 32 of its row on
        EXPECT_EQ(blocks_of(-8, -6, stores), 2u * 1) << stores;  // 32 bytes
        EXPECT_EQ(blocks_of(20, 0, stores), 0u) << stores;
        EXPECT_EQ(blocks_of(0, -8, stores), 0u) << stores;
    }
}

TEST(BulkBox, BlocksAreThoseOfItsBytes) {
    std::mt19937 random(3);
    for (int run = 0; run < 2000; ++run) {
        BulkBox box;
        box.first = random() % 1000;
        box.row = 1 + random() % 200;
        Addr span = box.row;
        for (std::uint32_t d = 0; d < BulkBox::kDimensions; ++d) {
            box.count[d] = random() % 3 == 0 ? 1 + random() % 3 : 1;
            box.stride[d] = span + random() % 40;
            span = box.stride[d] * box.count[d];
        }
        LaneAddresses values;
        values.values = box.put(values.lane.data());
        const BulkBox same = BulkBox::of(values);
        const std::uint32_t block = run % 2 == 0 ? 32 : 128;
        std::vector<Addr> expected;
        std::array<std::uint64_t, BulkBox::kDimensions> at{};
        for (bool more = true; more;) {
            Addr row = box.first;
            for (std::uint32_t d = 0; d < BulkBox::kDimensions; ++d) row += at[d] * box.stride[d];
            for (Addr byte = row; byte < row + box.row; ++byte) {
                if (expected.empty() || expected.back() != byte / block * block) expected.push_back(byte / block * block);
            }
            more = false;
            for (std::uint32_t d = 0; d < BulkBox::kDimensions && !more; ++d) {
                if (++at[d] < box.count[d])
                    more = true;
                else
                    at[d] = 0;
            }
        }
        std::vector<Addr> found;
        for (BulkBlocks blocks(same, block); !blocks.done(); blocks.next()) found.push_back(blocks.block());
        ASSERT_EQ(found, expected) << run;
    }
}

TEST(HopperTiming, WaitingForStoresTakesLongerThanForTheirReads) {
    const auto cycles = [](const std::string& wait) {
        std::string text = "@!%p1 bra END;\n";
        for (int i = 0; i < 8; ++i)
            text += fmt::format(
                "add.u64 %x6, %x1, {}; cp.async.bulk.global.shared::cta.bulk_group [%x6], [tile], 1024; cp.async.bulk.commit_group; {}\n",
                4096 * i, wait);
        return timed(hopper_kernel(text + "END:")).result.cycles;
    };
    const Cycle none = cycles(""), read = cycles("cp.async.bulk.wait_group.read 0;"), done = cycles("cp.async.bulk.wait_group 0;");
    EXPECT_GT(read, none + 7 * 80);
    EXPECT_GT(done, read + 7 * 80);
    EXPECT_LT(cycles("cp.async.bulk.wait_group 1;"), done);
    EXPECT_EQ(cycles("cp.async.bulk.wait_group 8;"), none);
}

/// `count` products of a warpgroup, in groups of `group`, with at most `left` groups incomplete.
std::string products(std::uint32_t columns, std::uint32_t count, std::uint32_t group, std::uint32_t left) {
    std::string sums;
    for (std::uint32_t i = 0; i < columns / 2; ++i) sums += fmt::format("{}%f{}", i == 0 ? "" : ", ", i);
    std::string text = fmt::format(
        "mov.u32 %r5, tile; and.b32 %r5, %r5, 262143; shr.u32 %r5, %r5, 4; cvt.u64.u32 %x10, %r5; mov.u64 %x11, {}; or.b64 %x10, %x10, "
        "%x11;\nwgmma.fence.sync.aligned;\n",
        (1ull << 62) | (64ull << 32) | (1ull << 16));
    for (std::uint32_t i = 0; i < columns / 2; ++i) text += fmt::format("mov.f32 %f{}, 0f00000000;\n", i);
    for (std::uint32_t i = 0; i < count; ++i) {
        text += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16 {{{}}}, %x10, %x10, 1, 1, 1, 0, 0;\n", columns, sums);
        if ((i + 1) % group == 0) text += fmt::format("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {};\n", left);
    }
    return hopper_kernel(text + "wgmma.wait_group.sync.aligned 0; st.global.f32 [%x2], %f0;", "", 65536);
}

TEST(HopperTiming, AProductTakesHalfACyclePerColumn) {
    for (const std::uint32_t columns : {64u, 128u, 256u}) {
        const Cycle few = timed(products(columns, 8, 8, 0), 128).result.cycles;
        const Timed many = timed(products(columns, 40, 8, 0), 128);
        EXPECT_NEAR(static_cast<double>(many.result.cycles - few), 32.0 * columns / 2, 60) << columns;
        EXPECT_EQ(many.stat("wgmma.products"), 4u * 40);
        EXPECT_EQ(many.stat("wgmma.unit_cycles"), 4u * 40 * columns / 2);
        EXPECT_EQ(many.stat("lanes.tensor"), 4u * 40 * 32);
    }
    // With few columns, reading A from shared memory takes longer than computing: 16 + columns / 4 cycles.
    const WgmmaSpec spec = hopper_like().section<WgmmaSpec>();
    EXPECT_EQ(spec.cycles(8, false, 128), 18u);
    EXPECT_EQ(spec.cycles(32, false, 128), 24u);
    EXPECT_EQ(spec.cycles(32, true, 128), 16u);
    EXPECT_EQ(spec.cycles(64, false, 128), 32u);
    EXPECT_EQ(spec.cycles(256, false, 128), 128u);
}

TEST(HopperTiming, WarpgroupsShareTheTensorUnits) {
    // Two warpgroups take twice as long as one; waiting after every product costs little more.
    const Cycle one = timed(products(128, 40, 40, 0), 128).result.cycles, two = timed(products(128, 40, 40, 0), 256).result.cycles;
    EXPECT_NEAR(static_cast<double>(two - one), 40 * 64, 200);
    EXPECT_GE(timed(products(128, 40, 1, 0), 128).result.cycles, one);
    EXPECT_LE(timed(products(128, 40, 1, 1), 128).result.cycles, one + 80);
}

TEST(HopperTiming, MachinesWithoutTheUnitsSayWhatToSet) {
    EXPECT_NE(problem(bulk_pipeline(2), mergelane::testing::v100_like()).find("set sm.tma.blocks_per_cycle"), std::string::npos);
    EXPECT_NE(problem(products(64, 1, 1, 0), mergelane::testing::v100_like()).find("sm.wgmma.rate is 0"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::ptx
