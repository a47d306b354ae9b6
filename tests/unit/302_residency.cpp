// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

SmSpec sm() {
    SmSpec s;
    s.warps = 48;
    s.cta_slots = 8;
    s.registers = 32768;
    s.shared_kib = 48;
    return s;
}

KernelInfo kernel(std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
    KernelInfo k;
    k.block = {threads, 1, 1};
    k.registers_per_thread = registers;
    k.shared_bytes = shared;
    return k;
}

TEST(Residency, IsLimitedByEachResourceInTurn) {
    const auto fit = [](const KernelInfo& k) {
        const Residency r = residency(sm(), k);
        return std::pair(r.ctas, r.limited_by);
    };
    EXPECT_EQ(fit(kernel(32, 1, 0)), std::pair(8u, std::string_view("CTA slots")));
    EXPECT_EQ(fit(kernel(256, 16, 0)), std::pair(6u, std::string_view("warp slots")));
    EXPECT_EQ(fit(kernel(256, 21, 0)), std::pair(6u, std::string_view("warp slots"))) << "6 x 256 x 21 just fit";
    EXPECT_EQ(fit(kernel(256, 32, 0)), std::pair(4u, std::string_view("registers")));
    EXPECT_EQ(fit(kernel(64, 8, 16 * 1024)), std::pair(3u, std::string_view("shared memory")));
    EXPECT_EQ(fit(kernel(64, 8, 16 * 1024 + 1)), std::pair(2u, std::string_view("shared memory")));
}

TEST(Residency, RoundsPartialWarpsUp) {
    // 33 threads are two warps, also for registers.
    EXPECT_EQ(residency(sm(), kernel(33, 1, 0)).ctas, 8u);
    EXPECT_EQ(residency(sm(), kernel(33, 255, 0)).ctas, 32768u / (255 * 64));
}

TEST(Residency, OfZeroIsAnInputErrorThatNamesTheResource) {
    CtaScript cta(1);
    cta[0].use(0);
    const auto message = [&](auto&& change) -> std::string {
        ScriptedWorkload workload({cta});
        change(workload.info());
        try {
            run_on(icc60_like(1), workload);
        } catch (const InputError& error) {
            return error.what();
        }
        return "ran";
    };
    EXPECT_NE(message([](KernelInfo& k) { k.shared_bytes = 65 * 1024; }).find("exceeds the shared memory"), std::string::npos);
    EXPECT_NE(message([](KernelInfo& k) { k.registers_per_thread = 3000; }).find("exceeds the registers"), std::string::npos);
    EXPECT_EQ(message([](KernelInfo&) {}), "ran");
}

TEST(Residency, BoundsWhatRunsAtOnce) {
    // One SM, CTAs that each take a third of its shared memory: never more than three at once.
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 1;
    CtaScript cta(1);
    for (std::uint16_t i = 0; i < 10; ++i) cta[0].compute(OpClass::sfu, static_cast<std::uint16_t>(i + 1), {i});
    cta[0].use(10);
    ScriptedWorkload workload({cta}, 9);
    workload.info().shared_bytes = 21 * 1024;
    std::uint64_t most = 0;
    RunOptions options;
    options.window_cycles = 1;
    options.after_window = [&](Machine& machine, Time) {
        const Sm& sm_under_test = machine.sms().front();
        most = std::max(most, stat_of(sm_under_test, "ctas_started") - stat_of(sm_under_test, "ctas_finished"));
    };
    const RunResult result = run_on(s, workload, options);
    EXPECT_EQ(most, 3u);
    EXPECT_EQ(result.kernels[0].ctas_per_sm, 3u);
    EXPECT_EQ(result.kernels[0].limited_by, "shared memory");
}

}  // namespace
}  // namespace mergelane::testing
