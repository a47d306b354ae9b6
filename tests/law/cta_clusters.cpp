// SPDX-License-Identifier: MIT
// Invariants of clusters of CTAs: all CTAs of a cluster run in one GPC at the same time; their barrier holds until all have arrived; one
// digest for any number of threads and any window.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "hopper.hpp"
#include "ptx_helpers.hpp"
#include "run.hpp"
#include "workload/record/recording_file.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::testing {
namespace {

using ptx::TestDevice;

/// Each CTA hands a value to the next one of its cluster, `rounds` times: barriers, remote stores, loads and atomics.
std::string ring(std::uint32_t rounds) {
    return hopper_kernel(fmt::format(R"(
        mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank; add.u32 %r7, %r5, 1; rem.u32 %r7, %r7, %r6; mov.u32 %r8, tile;
        mapa.shared::cluster.u32 %r9, %r8, %r7; mapa.shared::cluster.u32 %r10, %r8, 0; mov.u32 %r11, 0; mad.lo.u32 %r12, %r1, 4, %r8;
        mad.lo.u32 %r13, %r1, 4, %r9; mov.u32 %r14, %r2; shl.b32 %r16, %r1, 2;
        L: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; add.u32 %r15, %r14, %r1; st.shared::cluster.u32 [%r13], %r15;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.shared.u32 %r14, [%r12]; red.shared::cluster.add.u32 [%r10+8192], %r14;
        add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, {}; @%p2 bra L;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.shared::cluster.u32 %r17, [%r10+8192]; add.u32 %r14, %r14, %r17;
        st.global.u32 [%x2], %r14; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)",
                                     rounds));
}

/// Two CTAs share 8 pieces of 4 KiB: each copies half of every piece, to both or, without multicast, all of it for itself.
std::string shared_pieces(bool multicast) {
    std::string text = R"(
        mov.u32 %r5, %cluster_ctarank; @%p1 mbarrier.init.shared.b64 [bars], 1; fence.mbarrier_init.release.cluster; mov.u32 %r8, tile;
        barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r10, 0; mov.f32 %f2, 0f00000000; mov.b16 %h1, 3; shl.b32 %r6, %r5, 11;
        add.u32 %r7, %r8, %r6; cvt.u64.u32 %x5, %r6;
        L: and.b32 %r11, %r10, 1; mad.wide.u32 %x6, %r10, 4096, %x3; add.u64 %x7, %x6, %x5;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bars], 4096;
    )";
    text += multicast
                ? "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r7], [%x7], 2048, [bars], "
                  "%h1;\n"
                : "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%x6], 4096, [bars];\n";
    return hopper_kernel(text + R"(
        W: mbarrier.try_wait.parity.shared.b64 %p4, [bars], %r11; @!%p4 bra W;
        mad.lo.u32 %r12, %r1, 16, %r8; ld.shared.f32 %f1, [%r12]; add.f32 %f2, %f2, %f1;
        barrier.cluster.arrive; barrier.cluster.wait; add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 8; @%p5 bra L;
        st.global.f32 [%x2], %f2;)");
}

struct Recorded {
    Recorded(const std::string& text, std::uint32_t ctas, std::uint32_t cluster, std::uint32_t threads = 64) : device(text) {
        std::vector<float> input(std::size_t{1} << 14);
        for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 97) / 8;
        out = device.zeros<std::uint32_t>(std::size_t{1} << 16);
        const Addr in = device.put(input);
        const auto params = device.module->pack("k", {ptx::Argument{&out, 8}, ptx::Argument{&in, 8}});
        kernel = execute(*device.module, "k", {{ctas}, {threads}, 0, false, {cluster, 1, 1}}, params, device.memory, device.options, true);
    }
    RunResult run(const MachineSpec& machine = hopper_like(), std::uint32_t threads = 1, std::uint32_t window = 0) const {
        OneKernel workload(*kernel);
        RunOptions options;
        options.threads = threads;
        options.window_cycles = window;
        return run_on(machine, workload, options);
    }
    TestDevice device;
    Addr out = 0;
    std::unique_ptr<KernelSource> kernel;
};
std::uint64_t stat(const RunResult& result, std::string_view name) {
    for (const StatValue& value : result.stats) {
        if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no statistic " << name;
    return 0;
}

/// Remembers where CTAs are placed.
class Watched final : public KernelSource {
public:
    explicit Watched(const KernelSource& inner) : inner_(inner) {}
    const KernelInfo& info() const override { return inner_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return inner_.make_stream(); }
    bool wants_places() const override { return true; }
    void place(std::uint64_t cta, const CtaPlace& place) const override { places[cta] = place; }
    mutable std::map<std::uint64_t, CtaPlace> places;

private:
    const KernelSource& inner_;
};

TEST(CtaClusters, AreInOneGpcAtTheSameTime) {
    const std::vector<std::uint32_t> first = {0, 6, 12, 16};
    const auto gpc_of = [&](std::uint32_t sm) { return std::upper_bound(first.begin(), first.end(), sm) - first.begin(); };
    for (const std::uint32_t ctas : {2u, 3u, 4u, 6u}) {
        const Recorded recorded(ring(2), 24 * ctas, ctas);
        const Watched watched(*recorded.kernel);
        OneKernel workload(watched);
        run_on(hopper_like(), workload);
        ASSERT_EQ(watched.places.size(), 24u * ctas);
        std::set<std::ptrdiff_t> used;
        for (std::uint32_t cluster = 0; cluster < 24; ++cluster) {
            const CtaPlace& one = watched.places.at(watched.info().cta_of(cluster, 0));
            std::set<std::uint32_t> sms;
            used.insert(gpc_of(one.sm));
            for (std::uint32_t rank = 0; rank < ctas; ++rank) {
                const CtaPlace& place = watched.places.at(watched.info().cta_of(cluster, rank));
                EXPECT_EQ(gpc_of(place.sm), gpc_of(one.sm)) << ctas << " " << cluster;
                EXPECT_EQ(place.cycle, one.cycle);
                sms.insert(place.sm);
            }
            EXPECT_EQ(sms.size(), ctas) << "each on another SM";
        }
        EXPECT_EQ(used.size(), ctas <= 4 ? 3u : 2u);
    }
}

TEST(CtaClusters, OneDigestForThreadsAndWindows) {
    MachineSpec small = hopper_like();
    small.gpu.clusters = 8;
    small.dram.channels = 2;
    small.section<GpcSpec>().sms = {4, 4};
    for (const auto& [text, ctas, cluster] :
         {std::tuple{ring(2), 16u, 4u}, std::tuple{shared_pieces(true), 16u, 2u}, std::tuple{bulk_pipeline(2, 20, 4), 8u, 1u}}) {
        const Recorded recorded(text, ctas, cluster, cluster == 2 ? 256 : 64);
        const std::string digest = recorded.run(small).digest;
        for (const std::uint32_t threads : {2u, 4u}) EXPECT_EQ(recorded.run(small, threads).digest, digest);
        for (const std::uint32_t window : {1u, 3u}) EXPECT_EQ(recorded.run(small, 1, window).digest, digest);
    }
}

TEST(CtaClusters, BarriersTakeTheLatencyOfTheGpc) {
    MachineSpec slow = hopper_like();
    slow.section<GpcSpec>().latency += 10;
    const Recorded few(ring(2), 4, 4), many(ring(12), 4, 4);
    const Cycle step = many.run().cycles - few.run().cycles;
    const Cycle slower = many.run(slow).cycles - few.run(slow).cycles;
    EXPECT_GE(slower, step + 10 * 2 * 2 * 10) << "two barriers per round, each there and back";
    EXPECT_EQ(stat(many.run(), "gpc.barriers"), 12u * 2 + 2);
    slow = hopper_like();
    slow.section<GpcSpec>().barrier_latency += 7;
    const Cycle later = many.run(slow).cycles - few.run(slow).cycles;
    EXPECT_GT(later, step + 10 * 7) << "atomics to one CTA hide a part of it";
    EXPECT_LE(later, step + 10 * 2 * 7);
}

TEST(CtaClusters, ARemoteLoadPassesTheSwitchTwice) {
    // A chain of loads: the address depends on the value before.
    const auto chain = [](std::uint32_t loads, bool remote) {
        std::string text = fmt::format("mov.u32 %r8, tile; mov.u32 %r7, {}; mapa.shared::cluster.u32 %r9, %r8, %r7; mov.u32 %r10, 0;\n",
                                       remote ? "1" : "%cluster_ctarank");
        text += "setp.ne.u32 %p2, %r2, 0; @%p2 bra END;\n";
        for (std::uint32_t i = 0; i < loads; ++i) text += "add.u32 %r11, %r9, %r10; ld.shared::cluster.u32 %r10, [%r11];\n";
        return Recorded(hopper_kernel(text + "END: barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%x2], %r10;"), 2, 2, 32)
            .run()
            .cycles;
    };
    const GpcSpec gpc = hopper_like().section<GpcSpec>();
    const Cycle remote = chain(20, true) - chain(10, true), own = chain(20, false) - chain(10, false);
    EXPECT_NEAR(static_cast<double>(remote - own), 10.0 * 4 * gpc.latency, 10 * 4);
}

TEST(CtaClusters, MulticastReadsTheL2Once) {
    const Recorded both(shared_pieces(true), 2, 2, 256), each(shared_pieces(false), 2, 2, 256);
    EXPECT_EQ(both.device.get<float>(both.out, 512), each.device.get<float>(each.out, 512));
    const RunResult once = both.run(), twice = each.run();
    EXPECT_EQ(stat(once, "tma.blocks"), 8u * 4096 / 32);
    EXPECT_EQ(stat(twice, "tma.blocks"), 2 * 8u * 4096 / 32);
    EXPECT_EQ(stat(once, "gpc.bytes"), 8u * 4096);
    EXPECT_EQ(stat(twice, "gpc.bytes"), 0u);
}

TEST(CtaClusters, CountsByInstructionAddUp) {
    // The run itself checks that they do.
    for (const auto& [text, ctas, cluster, threads] : {std::tuple{ring(2), 8u, 4u, 64u}, std::tuple{shared_pieces(true), 8u, 2u, 256u},
                                                       std::tuple{bulk_pipeline(2, 20, 8), 1u, 1u, 64u}}) {
        const Recorded recorded(text, ctas, cluster, threads);
        OneKernel workload(*recorded.kernel);
        RunOptions options;
        options.by_instruction = true;
        const RunResult result = run_on(hopper_like(), workload, options);
        std::uint64_t requests = 0;
        for (const auto& row : result.by_instruction.at(0).instructions) {
            if (row.opcode.starts_with("cp.async.bulk")) requests += row.counts[InstCount::requests];
        }
        EXPECT_EQ(requests, stat(result, "tma.blocks"));
    }
}

TEST(CtaClusters, FilesKeepThem) {
    const auto file = std::filesystem::temp_directory_path() / fmt::format("mergelane_clusters_{}", getpid());
    for (const auto& [text, ctas, threads] : {std::tuple{ring(2), 8u, 64u}, std::tuple{shared_pieces(true), 8u, 256u}}) {
        const Recorded recorded(text, ctas, 2, threads);
        const std::string digest = recorded.run().digest;
        record::RecordingWriter writer(file, "key");
        writer.add(static_cast<const record::RecordedKernel&>(*recorded.kernel));
        writer.finish();
        const auto back = record::RecordingReader::open(file, "key")->next();
        EXPECT_EQ(back->info().cluster, (Dim3{2, 1, 1}));
        OneKernel again(*back);
        EXPECT_EQ(run_on(hopper_like(), again).digest, digest);
        OneKernel original(*recorded.kernel);
        tracefile::write_trace(original, file.string());
        const auto replayed = tracefile::open_trace_file(file.string());
        EXPECT_EQ(run_on(hopper_like(), *replayed).digest, digest);
    }
    std::filesystem::remove(file);
}

TEST(CtaClusters, WhatCannotRunIsRefused) {
    const auto problem = [](const Recorded& recorded, const MachineSpec& machine) -> std::string {
        try {
            recorded.run(machine);
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    const Recorded four(ring(1), 8, 4), eight(ring(1), 8, 8);
    EXPECT_NE(problem(four, v100_like()).find("set gpc.enabled = true"), std::string::npos);
    EXPECT_NE(problem(eight, hopper_like()).find("the largest GPC of hopper-like has 6 SMs"), std::string::npos);
    MachineSpec changed = hopper_like();
    changed.dispatch.transform = "agents";
    EXPECT_NE(problem(four, changed).find("dispatch.transform"), std::string::npos);
    MachineSpec wrong = hopper_like();
    wrong.section<GpcSpec>().sms = {6, 6, 5};
    EXPECT_FALSE(check(wrong).empty());
}

/// One warp that waits for more events than there are.
class WaitsForever final : public KernelSource {
public:
    WaitsForever() {
        info_.name = "waits";
        program_[0].op = OpClass::load;
        program_[0].space = Space::shared;
        program_[0].async = true;
        program_[0].async_op = AsyncOp::wait;
        program_[1].op = OpClass::exit;
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override {
        class Stream final : public CtaStream {
        public:
            explicit Stream(const StaticInst* program) : program_(program) {}
            void open(std::uint64_t) override { done_ = false; }
            bool next_run(std::uint32_t, Run& run) override {
                run = {program_, 2, ~0u};
                return !std::exchange(done_, true);
            }
            void addresses(std::uint32_t, const StaticInst&, std::uint32_t, LaneAddresses& out) override {
                out.lane[0] = 64;
                out.lane[1] = 5;
                out.values = 2;
            }

        private:
            const StaticInst* program_;
            bool done_ = false;
        };
        return std::make_unique<Stream>(program_.data());
    }

private:
    KernelInfo info_;
    std::array<StaticInst, 2> program_;
};

TEST(CtaClusters, AWaitThatNeverEndsIsExplained) {
    const WaitsForever kernel;
    OneKernel workload(kernel);
    try {
        run_on(hopper_like(), workload);
        FAIL();
    } catch (const SimulationError& error) {
        EXPECT_NE(std::string(error.what()).find("warp 0 of CTA 0 for event 5 of the mbarrier at 0x40, which has counted 0"),
                  std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace mergelane::testing
