// SPDX-License-Identifier: MIT
// A small machine with everything that sm_90 introduced, and kernels for it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "gpc/gpc_spec.hpp"
#include "machines.hpp"
#include "sm/hopper_spec.hpp"

namespace mergelane::testing {

/// 16 SMs in GPCs of 6, 6 and 4.
inline MachineSpec hopper_like() {
    MachineSpec s = v100_like();
    s.name = "hopper-like";
    s.section<TmaSpec>().blocks_per_cycle = 2;
    s.section<WgmmaSpec>().rate = 512;
    s.section<GpcSpec>().on = true;
    s.section<GpcSpec>().sms = {6, 6, 4};
    return valid(s);
}

/// %x1: output, %x2: output of the thread in the grid, %x3: input; %r1: thread, %r2: CTA; %p1: thread 0. `bars`: 16 mbarriers.
inline std::string hopper_kernel(const std::string& body, const std::string& cluster = "", std::uint32_t tile_bytes = 32768) {
    return fmt::format(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[{}];\n.shared .align 8 .b64 bars[16];\n"
        ".visible .entry k(.param .u64 po, .param .u64 pi)\n{}\n{{\n"
        ".reg .pred %p<20>; .reg .b16 %h<9>; .reg .b32 %r<60>; .reg .b64 %x<40>; .reg .f32 %f<300>;\n"
        "ld.param.u64 %x1, [po]; ld.param.u64 %x3, [pi]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
        "mad.lo.u32 %r4, %r2, %r3, %r1; mad.wide.u32 %x2, %r4, 4, %x1; setp.eq.u32 %p1, %r1, 0;\n{}\nret;\n}}\n",
        tile_bytes, cluster, body);
}

/// Thread 0 copies 64 pieces of 4 KiB through `stages` stages; the second warp adds them up, with `work` multiplications for each.
inline std::string bulk_pipeline(std::uint32_t stages, std::uint32_t work = 200, std::uint32_t steps = 64) {
    std::string init;
    for (std::uint32_t s = 0; s < stages; ++s)
        init += fmt::format("@%p1 mbarrier.init.shared.b64 [bars+{}], 1; @%p1 mbarrier.init.shared.b64 [bars+{}], 1;\n", 8 * s, 64 + 8 * s);
    std::string compute;
    for (std::uint32_t i = 0; i < work; ++i) compute += "fma.rn.f32 %f2, %f1, %f1, %f2;\n";
    const std::string position = fmt::format(
        "rem.u32 %r11, %r10, {0}; div.u32 %r12, %r10, {0}; and.b32 %r12, %r12, 1; xor.b32 %r13, %r12, 1;\n"
        "mad.lo.u32 %r14, %r11, 8, %r20; mad.lo.u32 %r15, %r11, 4096, %r21;\n",
        stages);
    return hopper_kernel(fmt::format(R"(
        {0} fence.mbarrier_init.release.cluster; bar.sync 0;
        mov.u32 %r10, 0; mov.u32 %r20, bars; mov.u32 %r21, tile; mov.f32 %f2, 0f00000000; setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;
        setp.ne.u32 %p3, %r1, 0; @%p3 bra END;
        COPY: {1}
        PW: mbarrier.try_wait.parity.shared.b64 %p4, [%r14+64], %r13; @!%p4 bra PW;
        mbarrier.arrive.expect_tx.shared.b64 _, [%r14], 4096;
        mad.wide.u32 %x10, %r10, 4096, %x3;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%x10], 4096, [%r14];
        add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, {2}; @%p5 bra COPY;
        bra END;
        CONSUME: {1}
        CW: mbarrier.try_wait.parity.shared.b64 %p4, [%r14], %r12; @!%p4 bra CW;
        mad.lo.u32 %r16, %r1, 4, %r15; ld.shared.f32 %f1, [%r16];
        {3}
        setp.eq.u32 %p6, %r1, 32; @%p6 mbarrier.arrive.shared.b64 _, [%r14+64];
        add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, {2}; @%p5 bra CONSUME;
        st.global.f32 [%x2], %f2;
        END:)",
                                     init, position, steps, compute));
}

}  // namespace mergelane::testing
