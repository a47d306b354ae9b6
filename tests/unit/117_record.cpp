// SPDX-License-Identifier: MIT
// Recording is lossless: the replay equals the execution.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"
#include "ptx_helpers.hpp"
#include "workload/record/recorded_kernel.hpp"

namespace mergelane {
namespace {

struct Access {
    std::uint32_t run, mask;
    std::vector<Addr> lanes;  ///< of one memory instruction
};

/// Rows of a matrix are recorded as if they were any addresses, also after lists of the same instruction.
TEST(Record, RowsAreRecordedLikeTheirWords) {
    Rng rng(9);
    for (const std::uint32_t lists : {0u, 5u}) {
        record::WarpRecorder by_rows, by_lanes;
        by_rows.start(3);
        by_lanes.start(3);
        for (int k = 0; k < 2000; ++k) {
            const std::uint32_t memory = rng.below(3);
            std::array<Addr, 32> lanes;
            if (rng.below(10) < lists) {
                for (Addr& lane : lanes) lane = rng.next() & 0xFFFC;
                by_rows.lanes(memory, 0xFFFFFFFFu, lanes.data());
                by_lanes.lanes(memory, 0xFFFFFFFFu, lanes.data());
            }
            std::array<Addr, 8> rows;
            const Addr apart = rng.below(4) == 0 ? 16 : 16 * rng.below(20);
            rows[0] = 16 * rng.below(1000);
            for (std::uint32_t r = 1; r < rows.size(); ++r) rows[r] = rng.below(8) == 0 ? 16 * rng.below(1000) : rows[r - 1] + apart;
            for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] = rows[lane / 4] + lane % 4 * 4;
            by_rows.rows(memory, rows.data());
            Addr base;
            std::int64_t stride;
            if (record::find_affine(lanes.data(), 0xFFFFFFFFu, base, stride))
                by_lanes.affine(memory, base, stride);
            else
                by_lanes.lanes(memory, 0xFFFFFFFFu, lanes.data());
            ASSERT_EQ(by_rows.bytes(), by_lanes.bytes()) << k;
        }
    }
}

/// Writes events of every shape and reads them back.
TEST(Record, EveryShapeOfAddressesComesBack) {
    constexpr std::uint32_t kRuns = 40;
    std::vector<StaticInst> instructions(kRuns);
    std::vector<record::StaticRun> runs;
    std::vector<std::uint32_t> memory_of;
    for (std::uint32_t r = 0; r < kRuns; ++r) {
        instructions[r].op = OpClass::load;
        runs.push_back({r, 1});
        memory_of.push_back(r);
    }
    KernelInfo info;
    info.grid = {3, 1, 1};
    info.block = {64, 1, 1};
    record::RecordedKernel kernel(info, {instructions, runs, memory_of, kRuns});
    Rng rng(5);
    std::vector<std::vector<Access>> all;
    for (std::uint64_t cta = 0; cta < 3; ++cta) {
        std::vector<record::WarpRecorder> recorders(2);
        for (auto& recorder : recorders) {
            recorder.start(kRuns);
            std::vector<Access> made;
            std::vector<std::vector<Addr>> before(kRuns, std::vector<Addr>(32));
            for (int k = 0; k < 500; ++k) {
                Access access{rng.below(kRuns), 0xFFFFFFFFu, std::vector<Addr>(32)};
                if (rng.below(3) == 0) access.mask = static_cast<std::uint32_t>(rng.next());
                if (rng.below(20) == 0) access.mask = 1u << rng.below(32);
                if (rng.below(20) == 0) access.mask = 0;
                const std::uint32_t shape = rng.below(8);
                const std::int64_t stride = shape == 0 ? 4 : shape == 1 ? 0 : static_cast<std::int64_t>(rng.below(9999)) - 5000;
                const Addr base = rng.next() >> rng.below(50);
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    access.lanes[lane] = base + static_cast<Addr>(stride * lane);
                    if (shape == 3 && lane >= 16) access.lanes[lane] += 77777;
                    if (shape == 4 && lane % 5 == 0) access.lanes[lane] -= 12;
                    if (shape == 5) access.lanes[lane] = rng.next();
                    if (shape == 5 && k % 2 == 0) access.lanes[lane] &= ~Addr{3};
                    if (shape >= 6) access.lanes[lane] = before[access.run][lane] + 4;
                }
                before[access.run] = access.lanes;
                recorder.run(access.run, access.mask);
                if (access.mask != 0) {
                    Addr affine_base;
                    std::int64_t affine_stride;
                    if (record::find_affine(access.lanes.data(), access.mask, affine_base, affine_stride))
                        recorder.affine(access.run, affine_base, affine_stride);
                    else
                        recorder.lanes(access.run, access.mask, access.lanes.data());
                }
                made.push_back(std::move(access));
            }
            all.push_back(std::move(made));
        }
        kernel.put(cta, {&recorders[0], &recorders[1]});
    }
    std::uint32_t with_runs = 0;
    const auto stream = kernel.make_stream();
    for (const std::uint64_t cta : {2u, 0u, 1u, 0u}) {
        stream->open(cta);
        for (std::size_t k = 0; k < 500; ++k) {
            for (std::uint32_t warp = 0; warp < 2; ++warp) {
                const Access& want = all[cta * 2 + warp][k];
                mergelane::Run run;
                ASSERT_TRUE(stream->next_run(warp, run));
                ASSERT_EQ(run.active, want.mask);
                ASSERT_EQ(run.first, &kernel.instructions()[want.run]);
                if (run.active == 0) continue;
                LaneAddresses got;
                stream->addresses(warp, *run.first, run.active, got);
                with_runs += got.run_count != 0;
                got.expand(run.active);
                for (std::uint32_t left = run.active; left != 0; left &= left - 1)
                    ASSERT_EQ(got.of(lowest_bit(left)), want.lanes[lowest_bit(left)]);
            }
        }
        mergelane::Run run;
        EXPECT_FALSE(stream->next_run(0, run));
        EXPECT_FALSE(stream->next_run(1, run));
    }
    EXPECT_GT(with_runs, 500u);
}

using ptx::test_data;
using ptx::TestDevice;

struct Totals {
    std::uint64_t instructions = 0, lanes = 0, barriers = 0;
    std::vector<Addr> addresses[3];  ///< global, local, shared
    std::uint64_t stores = 0, loads = 0, atomics = 0;
};
Totals replay(const KernelSource& kernel) {
    Totals totals;
    const auto stream = kernel.make_stream();
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        stream->open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            mergelane::Run run;
            while (stream->next_run(warp, run)) {
                for (std::uint32_t i = 0; i < run.count; ++i) {
                    const StaticInst& inst = run.first[i];
                    ++totals.instructions;
                    totals.lanes += static_cast<std::uint32_t>(std::popcount(run.active));
                    totals.barriers += inst.op == OpClass::barrier;
                    for (std::uint32_t r = 0; r < inst.reg_count; ++r) EXPECT_LT(inst.regs[r], kernel.info().register_slots);
                    if (inst.op != OpClass::load && inst.op != OpClass::store && inst.op != OpClass::atomic) continue;
                    totals.loads += inst.op == OpClass::load, totals.stores += inst.op == OpClass::store,
                        totals.atomics += inst.op == OpClass::atomic;
                    if (run.active == 0) continue;
                    LaneAddresses lanes;
                    stream->addresses(warp, inst, run.active, lanes);
                    lanes.expand(run.active);
                    for (std::uint32_t left = run.active; left != 0; left &= left - 1)
                        totals.addresses[static_cast<std::size_t>(inst.space)].push_back(lanes.of(lowest_bit(left)));
                }
            }
        }
    }
    return totals;
}

TEST(Record, SaxpyTouchesEachElementOnceWithLoadAndStore) {
    TestDevice device(test_data("samples.ptx"));
    device.record = true;
    const Addr y = device.zeros<float>(1000), x = device.zeros<float>(1000);
    const auto kernel = device.run("saxpy", {4}, {256}, y, x, 1.0f, 1000);
    Totals totals = replay(*kernel);
    EXPECT_EQ(totals.loads, 2u * 32);
    EXPECT_EQ(totals.stores, 32u);
    std::vector<Addr> want;
    for (Addr i = 0; i < 1000; ++i) want.insert(want.end(), {y + 4 * i, y + 4 * i, x + 4 * i});
    std::sort(want.begin(), want.end());
    auto& got = totals.addresses[static_cast<std::size_t>(Space::global)];
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, want);
    EXPECT_EQ(kernel->info().name, "saxpy");
    EXPECT_EQ(kernel->info().ctas(), 4u);
}

TEST(Record, SharedMemoryBarriersAndAtomicsAreThere) {
    TestDevice device(test_data("samples.ptx"));
    device.record = true;
    const Addr c = device.zeros<float>(1024), a = device.zeros<float>(1024), b = device.zeros<float>(1024);
    const auto matmul = device.run("matmul", {2, 2}, {16, 16}, c, a, b, 32);
    const Totals totals = replay(*matmul);
    EXPECT_EQ(matmul->info().shared_bytes, 2048u);
    EXPECT_EQ(totals.barriers, 4u * 8 * 2 * 2);
    EXPECT_EQ(totals.addresses[static_cast<std::size_t>(Space::shared)].size(), 4u * 256 * 2 * (2 + 32));
    EXPECT_EQ(totals.addresses[static_cast<std::size_t>(Space::global)].size(), 4u * 256 * (2 * 2 + 1));
    for (const Addr address : totals.addresses[static_cast<std::size_t>(Space::shared)]) ASSERT_LT(address, 2048u);

    const Addr bins = device.zeros<unsigned>(256), data = device.zeros<char>(1000);
    EXPECT_GT(replay(*device.run("histogram", {2}, {64}, bins, data, 1000)).atomics, 2u * 2 * 4);
}

TEST(Record, LocalMemoryOfAWarpLiesSideBySide) {
    TestDevice device(test_data("samples.ptx"));
    device.record = true;
    struct Parcel {
        short tag;
        float weight[3];
        Addr where;
        long long big;
    } parcel{1, {1, 2, 3}, device.zeros<int>(8), 5};
    const Addr out = device.zeros<long long>(64);
    const Totals totals = replay(*device.run("parcels", {1}, {64}, out, parcel));
    const auto& local = totals.addresses[static_cast<std::size_t>(Space::local)];
    ASSERT_FALSE(local.empty());
    EXPECT_GE(*std::min_element(local.begin(), local.end()), Addr{0x80'0000'0000});
}

TEST(Record, GenericAccessesAreRecordedAsTheMemoryTheyReach) {
    TestDevice device(R"(.version 8.0
.target sm_75
.address_size 64
.shared .align 4 .b8 s[128];
.entry k(.param .u64 o) { .reg .b32 %r<5>; .reg .b64 %x<5>; ld.param.u64 %x1, [o]; mov.u32 %r1, %tid.x; mad.wide.u32 %x1, %r1, 4, %x1;
  cvta.shared.u64 %x2, s; mad.wide.u32 %x2, %r1, 4, %x2; st.u32 [%x2], %r1; ld.u32 %r2, [%x2]; st.u32 [%x1], %r2; ret; })");
    device.record = true;
    const Addr out = device.zeros<std::uint32_t>(32);
    const Totals totals = replay(*device.run("k", {1}, {32}, out));
    ASSERT_EQ(totals.addresses[static_cast<std::size_t>(Space::shared)].size(), 64u);
    EXPECT_EQ(totals.addresses[static_cast<std::size_t>(Space::shared)][1], 4u);
    ASSERT_EQ(totals.addresses[static_cast<std::size_t>(Space::global)].size(), 32u);
    EXPECT_EQ(totals.addresses[static_cast<std::size_t>(Space::global)][0], out);
}

TEST(Record, BarriersThatNobodyArrivesAtAreNotRecorded) {
    TestDevice device(R"(.version 8.0
.target sm_75
.address_size 64
.entry k() { .reg .pred %p<3>; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; add.u32 %r2, %r1, 1; bar.sync 0; @%p1 bar.sync 1, 32; add.u32 %r2, %r1, 1; ret; })");
    device.record = true;
    const auto kernel = device.run("k", {1}, {64});
    const auto stream = kernel->make_stream();
    stream->open(0);
    std::uint32_t counts[2] = {};
    for (std::uint32_t warp = 0; warp < 2; ++warp) {
        mergelane::Run run;
        while (stream->next_run(warp, run)) counts[warp] += run.count;
    }
    EXPECT_EQ(counts[0], counts[1] + 1);
}

TEST(Record, TheStreamIsTheSameForEveryQuantumAndHost) {
    const auto bytes = [](std::uint32_t quantum, bool portable) {
        TestDevice device(test_data("samples.ptx"));
        device.record = true;
        device.options.quantum = quantum;
        device.options.portable = portable;
        const Addr out = device.zeros<float>(8 * 512), in = device.zeros<float>(512);
        const auto kernel = device.run("float_math", {4}, {128}, out, in, 500);
        std::string all;
        for (std::uint64_t cta = 0; cta < 4; ++cta) all += static_cast<const record::RecordedKernel&>(*kernel).cta(cta);
        return all;
    };
    const std::string reference = bytes(20, false);
    EXPECT_FALSE(reference.empty());
    EXPECT_EQ(bytes(1, false), reference);
    EXPECT_EQ(bytes(0, false), reference);
    EXPECT_EQ(bytes(20, true), reference);
}

}  // namespace
/// The state of a reader grows with the program, which may come from a file; all readers of a kernel share the limit.
TEST(CtaReader, RefusesProgramsWhoseStateNoHostHolds) {
    record::RecordedProgram program;
    program.memory_count = 1u << 23;  // 8 GiB for 64 warps
    const auto open_bytes = std::make_shared<std::atomic<std::uint64_t>>(0);
    {
        record::CtaReader reader(program, 64, "x.mlt: ", open_bytes);
        reader.claim(100);  // the bytes of a CTA, which are read first
        EXPECT_THROW(reader.start(0), InputError);
    }
    EXPECT_EQ(*open_bytes, 0u);
    program.memory_count = 4;
    record::CtaReader reader(program, 64, "x.mlt: ", open_bytes);
    reader.start(0);
    reader.start(1);
    EXPECT_EQ(*open_bytes, 64 * 4 * sizeof(record::Prediction));
}

}  // namespace mergelane
