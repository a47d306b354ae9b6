// SPDX-License-Identifier: MIT
// sm_90: clusters of CTAs, bulk and tensor copies, products of matrices by warpgroups.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "ptx_helpers.hpp"
#include "workload/ptx/tensor_map.hpp"

namespace mergelane::ptx {
namespace {

/// %x1: output, %x2: output of the thread in the grid, %x3: input; %r1: thread, %r2: CTA.
std::string kernel(const std::string& body, const std::string& cluster = "") {
    return ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[16384];\n.shared .align 8 .b64 bars[8];\n"
           ".visible .entry k(.param .u64 po, .param .u64 pi, .param .align 64 .b8 pm[128])\n" +
           cluster +
           "\n{\n.reg .pred %p<20>; .reg .b16 %h<9>; .reg .b32 %r<60>; .reg .b64 %x<40>; .reg .f32 %f<300>;\n"
           "ld.param.u64 %x1, [po]; ld.param.u64 %x3, [pi]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
           "mad.lo.u32 %r4, %r2, %r3, %r1; mad.wide.u32 %x2, %r4, 4, %x1; mov.b64 %x4, pm; cvta.param.u64 %x5, %x4;\n"
           "setp.eq.u32 %p1, %r1, 0;\n" +
           body + "\nret;\n}\n";
}
struct Case {
    Case(std::string ptx) : text(std::move(ptx)) {}

    std::string text;
    Dim3 grid{1}, block{32}, cluster{0, 0, 0};
    std::vector<std::uint32_t> input = std::vector<std::uint32_t>(4096);
    TensorMap map;
    bool record = false, portable = false;
    std::vector<std::uint32_t> input_after;
    std::vector<std::string> warnings;

    std::vector<std::uint32_t> operator()(std::size_t words) {
        TestDevice device(text);
        device.options.budget = 3'000'000;
        device.options.portable = portable;
        const Addr out = device.zeros<std::uint32_t>(std::max<std::size_t>(words, 4096));
        const Addr in = device.put(input);
        std::array<std::byte, TensorMap::kBytes> bytes{};
        map.address += in;
        wrong = map.encode(bytes);
        map.address -= in;
        const auto params = device.module->pack("k", {Argument{&out, 8}, Argument{&in, 8}, Argument{bytes.data(), bytes.size()}});
        LaunchConfig config{grid, block, 0, false, cluster};
        execute(*device.module, "k", config, params, device.memory, device.options, record);
        input_after = device.get<std::uint32_t>(in, input.size());
        warnings = device.memory.warnings();
        return device.get<std::uint32_t>(out, words);
    }
    std::string wrong;
};
std::string refusal(Case run) {
    try {
        run(1);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(PtxClusters, SpecialRegistersAndSharedMemoryOfOtherCtas) {
    // Each CTA stores its number in the shared memory of the next one of its cluster, and adds to that of rank 0.
    const std::string text = kernel(R"(
        mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank; add.u32 %r7, %r5, 1; rem.u32 %r7, %r7, %r6;
        mov.u32 %r8, tile; mapa.shared::cluster.u32 %r9, %r8, %r7; mapa.shared::cluster.u32 %r10, %r8, 0;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        @%p1 st.shared::cluster.u32 [%r9+4], %r2; red.shared::cluster.add.u32 [%r10+8], 1;
        barrier.cluster.arrive; barrier.cluster.wait;
        getctarank.shared::cluster.u32 %r11, %r9; getctarank.shared::cluster.u32 %r12, %r8; ld.shared.u32 %r13, [tile+4]; ld.shared::cluster.u32 %r14, [%r10+8];
        mov.u32 %r15, %clusterid.x; mov.u32 %r16, %nclusterid.x; mov.pred %p2, %is_explicit_cluster; selp.u32 %r17, 1, 0, %p2;
        mad.lo.u32 %r20, %r11, 10, %r12; mad.lo.u32 %r20, %r20, 100, %r13; mad.lo.u32 %r20, %r20, 1000, %r14; mad.lo.u32 %r20, %r20, 10, %r15;
        mad.lo.u32 %r20, %r20, 10, %r17; st.global.u32 [%x2], %r20;)");
    for (const bool by_launch : {false, true}) {
        Case run{by_launch ? text
                           : kernel(text.substr(text.find("mov.u32 %r5"), text.rfind("ret;") - text.find("mov.u32 %r5")),
                                    ".reqnctapercluster 4, 1, 1")};
        run.grid = {8};
        if (by_launch) run.cluster = {4, 1, 1};
        const auto got = run(8 * 32);
        for (std::uint32_t i = 0; i < got.size(); ++i) {
            const std::uint32_t cta = i / 32, rank = cta % 4;
            const std::uint32_t want =
                ((((rank + 1) % 4 * 10 + rank) * 100 + (cta / 4 * 4 + (rank + 3) % 4)) * 1000 + 128) * 100 + cta / 4 * 10 + 1;
            ASSERT_EQ(got[i], want) << i;
        }
    }
}

TEST(PtxClusters, SizesThatCannotBeAreRefused) {
    Case run{kernel("st.global.u32 [%x2], 1;", ".reqnctapercluster 2")};
    EXPECT_NE(refusal(run).find("cannot be divided into clusters"), std::string::npos);
    run.grid = {4};
    EXPECT_EQ(refusal(run), "");
    run.cluster = {4, 1, 1};
    EXPECT_NE(refusal(run).find("requires clusters of 2 x 1 x 1"), std::string::npos);
    run.text = kernel("st.global.u32 [%x2], 1;");
    run.cluster = {4, 4, 4};
    EXPECT_NE(refusal(run).find("cannot be launched"), std::string::npos);
    run.cluster = {1, 0, 1};
    EXPECT_NE(refusal(run).find("cannot be launched"), std::string::npos);
    run.cluster = {2, 1, 1};
    run.record = true;
    EXPECT_EQ(refusal(run), "");
    EXPECT_NE(refusal({kernel("", ".reqnctapercluster 0")}).find("a cluster of 0 CTAs does not exist"), std::string::npos);
    EXPECT_EQ(TestDevice(kernel("", ".maxclusterrank 4")).module->kernel("k").largest_cluster, 4u);
    EXPECT_NE(refusal({kernel("", ".reqntid 32 .blocksareclusters .reqnctapercluster 2")}).find("grids of clusters"), std::string::npos);
}

TEST(PtxClusters, ABarrierThatSomeNeverReachIsReported) {
    Case run{
        kernel("setp.eq.u32 %p3, %r2, 0; @%p3 barrier.cluster.arrive; @%p3 barrier.cluster.wait; @!%p3 bar.sync 0; barrier.cluster.wait;")};
    run.grid = {2};
    run.cluster = {2, 1, 1};
    EXPECT_NE(refusal(run).find("wait"), std::string::npos);
    // Threads that have exited need not arrive.
    Case exits{kernel("setp.eq.u32 %p3, %r2, 0; @%p3 ret; barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%x2], 7;")};
    exits.grid = exits.cluster = {2, 1, 1};
    EXPECT_EQ(exits(64)[40], 7u);
}

TEST(PtxClusters, RemoteMbarriersAndAsynchronousStores) {
    // Rank 0 waits for 32 stores of rank 1, each 4 bytes, and one arrival.
    Case run{kernel(R"(
        mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p3, %r5, 0; mov.u32 %r8, bars; mov.u32 %r9, tile;
        @%p1 mbarrier.init.shared::cta.b64 [bars], 2; fence.mbarrier_init.release.cluster;
        barrier.cluster.arrive; barrier.cluster.wait; @!%p3 bra SEND;
        @%p1 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bars], 128;
        W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [bars], 0; @!%p4 bra W;
        mad.lo.u32 %r10, %r1, 4, %r9; ld.shared.u32 %r11, [%r10]; st.global.u32 [%x2], %r11; bra END;
        SEND: mapa.shared::cluster.u32 %r12, %r8, 0; mapa.shared::cluster.u32 %r13, %r9, 0; mad.lo.u32 %r13, %r1, 4, %r13; add.u32 %r14, %r1, 50;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r13], %r14, [%r12];
        @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
        END: barrier.cluster.arrive; barrier.cluster.wait;)")};
    run.grid = run.cluster = {2, 1, 1};
    const auto got = run(32);
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 50 + i);
}

TEST(PtxBulk, CopiesToSharedMemoryAndBack) {
    Case run{kernel(R"(
        elect.sync %r5|%p2, 0xffffffff; @!%p2 bra W0;
        mbarrier.init.shared.b64 [bars], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bars], 256;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x3], 256, [bars];
        W0: bar.warp.sync 0xffffffff;
        W: mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0; @!%p4 bra W;
        @%p2 cp.async.bulk.prefetch.L2.global [%x3], 128;
        @%p2 cp.async.bulk.global.shared::cta.bulk_group [%x1], [tile+16], 128;
        @%p2 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x1+64], [tile], 64;
        @%p2 cp.async.bulk.commit_group; @%p2 cp.async.bulk.wait_group.read 0; @%p2 cp.async.bulk.wait_group 0;)")};
    std::iota(run.input.begin(), run.input.end(), 1u);
    for (const bool portable : {false, true}) {
        run.portable = portable;
        const auto got = run(33);
        for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i + 5 + (i >= 16 ? i - 15 : 0)) << i;
        EXPECT_EQ(got[32], 0u);
        EXPECT_TRUE(run.warnings.empty());
    }
    run.record = true;
    EXPECT_EQ(run(33)[20], 20u + 5 + 5);
}

TEST(PtxBulk, SharedMemoryOfSeveralCtas) {
    // Rank 0 copies to ranks 0 and 2 at once; rank 1 copies its own memory to rank 2.
    Case run{kernel(R"(
        mov.u32 %r5, %cluster_ctarank; @%p1 mbarrier.init.shared.b64 [bars], 1; barrier.cluster.arrive; barrier.cluster.wait;
        @%p1 st.shared.u32 [tile+1024], 77; mov.u16 %h1, 5; mov.u32 %r8, tile; mov.u32 %r9, bars;
        setp.eq.and.u32 %p2, %r5, 0, %p1; setp.eq.and.u32 %p3, %r5, 1, %p1;
        mapa.shared::cluster.u32 %r10, %r8, 2; mapa.shared::cluster.u32 %r11, %r9, 2;
        @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%x3], 64, [bars], %h1;
        @%p3 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10+512], [tile+1024], 16, [%r11];
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared.u32 %r12, [tile+4]; ld.shared.u32 %r13, [tile+512]; mad.lo.u32 %r12, %r12, 1000, %r13; st.global.u32 [%x2], %r12;)")};
    run.grid = run.cluster = {3, 1, 1};
    std::iota(run.input.begin(), run.input.end(), 1u);
    const auto got = run(96);
    EXPECT_EQ(got[0], 2000u);
    EXPECT_EQ(got[32], 0u);
    EXPECT_EQ(got[64], 2077u);
}

TEST(PtxBulk, WhatIsOutsideOrUnknownDoesNotCrash) {
    Case run{kernel(R"(cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x3], 0xfffffff0, [bars];
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [0xffffff00], [%x3], 16, [0xfffffff0];
        cp.async.bulk.global.shared::cta.bulk_group [%x3], [0x7f000000], 16;
        mapa.shared::cluster.u32 %r5, %r1, 0xffffffff; st.shared::cluster.u32 [%r5], 1; st.global.u32 [%x2], 1;)")};
    EXPECT_EQ(run(1)[0], 1u);
    EXPECT_FALSE(run.warnings.empty());
    for (const char* text : {"cp.async.bulk.tensor.6d.global.shared::cta.bulk_group [%x5, {%r1}], [tile];",
                             "cp.async.bulk.tensor.1d.global.shared::cta.im2col.bulk_group [%x5, {%r1}], [tile];",
                             "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%x1], [tile], 64;",
                             "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 32;",
                             "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0,%f1,%f2,%f3}, %x1, %x2, %r1, 0, 1, 1, 1, 0, 0;",
                             "red.async.relaxed.cluster.global.add.u32 [%x1], %r2;", "st.async.shared::cluster.u32 [%r1], %r2, [%r3];",
                             "atom.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 %r5, [%r1], %r2, [%r3];",
                             "barrier.cluster.sync;", "bar.cluster.arrive;", "barrier.sync.release 0;",
                             "wgmma.mma_async.sync.aligned.m64n9k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %x1, %x2, 1, 1, 1, 0, 0;"})
        EXPECT_NE(refusal({kernel(text)}).find("is not supported"), std::string::npos) << text;
    EXPECT_NE(refusal({kernel("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%x5, {%r1}], [tile];")}).find("2 coordinates"),
              std::string::npos);
}

TEST(PtxTensor, ABoxBeyondTwoEdgesLoadedAndAdded) {
    // A tensor of 10 x 6 words with rows of 64 bytes; a box of 8 x 4 from (5, -1): outside, zeros.
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::bytes_32}) {
        Case run{kernel(R"(
            @%p1 mbarrier.init.shared.b64 [bars], 1; bar.sync 0; mov.u32 %r5, 5; mov.u32 %r6, -1;
            @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bars], 128;
            @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%x5, {%r5, %r6}], [bars];
            W: mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0; @!%p4 bra W;
            mov.u32 %r8, tile; mad.lo.u32 %r8, %r1, 4, %r8; ld.shared.u32 %r9, [%r8]; st.global.u32 [%x2], %r9;
            @%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%x5, {%r5, %r6}], [tile]; @%p1 cp.async.bulk.commit_group;)")};
        std::iota(run.input.begin(), run.input.end(), 1000u);
        run.map.type = TensorType::u32;
        run.map.swizzle = swizzle;
        run.map.rank = 2;
        run.map.size = {10, 6};
        run.map.stride = {64};
        run.map.box = {8, 4};
        run.map.element_stride = {1, 1};
        const auto got = run(32);
        ASSERT_EQ(run.wrong, "");
        for (std::uint32_t i = 0; i < 32; ++i) {
            const std::uint32_t at = swizzle == TensorSwizzle::none ? i : (i * 4 ^ (i * 4 >> 3 & 0x10)) / 4;
            const std::uint32_t x = 5 + i % 8, y = i / 8 - 1;
            EXPECT_EQ(got[at], x < 10 && y < 6 ? 1000 + y * 16 + x : 0) << i;
        }
        for (std::uint32_t i = 0; i < 96; ++i) {
            const std::uint32_t x = i % 16, y = i / 16;
            const bool twice = x >= 5 && x < 10 && y < 3;
            EXPECT_EQ(run.input_after[i], (1000 + i) * (twice ? 2 : 1)) << i;
        }
    }
    TensorMap map;
    EXPECT_NE(map.check(), "");
    for (const TensorType type : {TensorType::f32_ftz, TensorType::tf32, TensorType::tf32_ftz}) {
        map.type = type;
        EXPECT_NE(map.check().find("FLOAT32_FTZ"), std::string::npos);
    }
    std::array<std::byte, TensorMap::kBytes> noise{};
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::byte>(i * 37);
    EXPECT_NE(map.decode(noise.data()), "");
}

TEST(PtxWarpgroup, AProductFromSharedMemoryWithoutSwizzle) {
    // A is 64 x 16 with A[r][k] = r + k, B is 16 x 8 with B[k][n] = k * n % 7, in halves without swizzle: core matrices of 8 rows of 16
    // bytes.
    std::string text = R"(
        mov.u32 %r5, 0; mov.u32 %r8, tile;
        A: mad.lo.u32 %r6, %r5, 128, %r1; shr.u32 %r7, %r6, 4; and.b32 %r9, %r6, 15; setp.ge.u32 %p2, %r7, 72; @%p2 bra DONE;
        sub.u32 %r10, %r7, 64; mul.lo.u32 %r11, %r9, %r10; rem.u32 %r11, %r11, 7; add.u32 %r12, %r7, %r9; setp.lt.u32 %p3, %r7, 64; selp.u32 %r11, %r12, %r11, %p3;
        cvt.rn.f32.u32 %f200, %r11; cvt.rn.f16.f32 %h1, %f200;
        shr.u32 %r13, %r7, 3; mul.lo.u32 %r13, %r13, 256; and.b32 %r14, %r7, 7; mad.lo.u32 %r13, %r14, 16, %r13; shr.u32 %r15, %r9, 3; mad.lo.u32 %r13, %r15, 128, %r13;
        and.b32 %r16, %r9, 7; mad.lo.u32 %r13, %r16, 2, %r13; add.u32 %r13, %r13, %r8; st.shared.b16 [%r13], %h1;
        add.u32 %r5, %r5, 1; bra A;
        DONE: bar.sync 0; fence.proxy.async;
        cvt.u64.u32 %x10, %r8; shr.u64 %x10, %x10, 4; mov.u64 %x11, 0x0000001000080000; or.b64 %x12, %x10, %x11; add.u64 %x13, %x12, 128;
        mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; setp.ne.u32 %p5, %r1, 1000;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x12, %x13, %p5, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; setmaxnreg.inc.sync.aligned.u32 232;
        mul.wide.u32 %x14, %r1, 16; add.u64 %x15, %x1, %x14; st.global.v4.f32 [%x15], {%f0, %f1, %f2, %f3};)";
    Case run{kernel(text)};
    run.block = {128};
    const auto got = run(512);
    EXPECT_TRUE(run.warnings.empty()) << run.warnings.front();
    for (std::uint32_t t = 0; t < 128; ++t) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
            float sum = 1;
            for (std::uint32_t k = 0; k < 16; ++k) sum += static_cast<float>((row + k) * (k * column % 7));
            EXPECT_EQ(std::bit_cast<float>(got[t * 4 + i]), sum) << t << " " << i;
        }
    }
    run.portable = true;
    EXPECT_EQ(run(512), got);
    run.record = true;
    EXPECT_EQ(run(512), got);
}

}  // namespace
}  // namespace mergelane::ptx
