// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

class Kind : public ::testing::TestWithParam<std::string_view> {};

std::vector<std::string_view> finite_kinds() {
    std::vector<std::string_view> names;
    for (const SyntheticKind& kind : synthetic_kinds()) {
        if (kind.name != "spin") names.push_back(kind.name);
    }
    return names;
}
INSTANTIATE_TEST_SUITE_P(All, Kind, ::testing::ValuesIn(finite_kinds()), [](const auto& kind) { return std::string(kind.param); });

TEST_P(Kind, GivesTheSameStreamEveryTimeAndPerCta) {
    SyntheticParams p = synthetic_defaults(GetParam());
    p.ctas = 4;
    p.iterations = 2;
    const auto record = [&] {
        const auto workload = make_synthetic(GetParam(), p);
        const KernelSource* kernel = workload->next_kernel();
        std::vector<std::uint64_t> seen;
        const auto stream = kernel->make_stream();
        // CTAs opened out of order on one stream: what a CTA does may not depend on that.
        for (const std::uint64_t cta : {3u, 0u, 2u, 1u}) {
            stream->open(cta);
            for (std::uint32_t warp = 0; warp < kernel->info().warps_per_cta(); ++warp) {
                mergelane::Run run;
                while (stream->next_run(warp, run)) {
                    for (std::uint32_t i = 0; i < run.count; ++i) {
                        const StaticInst& inst = run.first[i];
                        EXPECT_LE(inst.reg_count, StaticInst::kMaxRegs);
                        for (std::uint32_t r = 0; r < inst.reg_count; ++r) EXPECT_LT(inst.regs[r], kernel->info().register_slots);
                        seen.push_back(static_cast<std::uint64_t>(inst.op));
                        if (inst.op < OpClass::load || inst.op > OpClass::atomic) continue;
                        LaneAddresses lanes;
                        stream->addresses(warp, inst, run.active, lanes);
                        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) seen.push_back(lanes.of(lane));
                    }
                }
            }
        }
        return seen;
    };
    const auto first = record();
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(record(), first);
}

TEST_P(Kind, RunsToItsEnd) {
    SyntheticParams p = synthetic_defaults(GetParam());
    p.ctas = 12;
    p.iterations = 2;
    p.kernels = 2;
    const auto workload = make_synthetic(GetParam(), p);
    const RunResult result = run_on(icc60_like(2), *workload);
    EXPECT_EQ(result.kernels.size(), 2u);
    EXPECT_EQ(result.stat("sm.ctas_finished"), 24u);
    EXPECT_TRUE(result.partial.empty());
}

TEST(Synthetic, StreamTouchesEveryLineOnce) {
    SyntheticParams p = synthetic_defaults("stream");
    p.ctas = 8;
    p.iterations = 2;
    const auto workload = make_synthetic("stream", p);
    const RunResult result = run_on(icc60_like(2), *workload);
    EXPECT_EQ(result.stat("l1.sector_hits"), 0u);
    EXPECT_EQ(result.stat("l2.sector_hits"), 0u);
    EXPECT_EQ(result.stat("l2.reads") + result.stat("l2.writes"), 8u * 8 * 2 * 8);
}

TEST(Synthetic, ExplainsMistakes) {
    const auto message = [](auto&& f) -> std::string {
        try {
            f();
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_NE(message([] { synthetic_defaults("steam"); }).find("did you mean 'stream'?"), std::string::npos);
    SyntheticParams p;
    EXPECT_NE(message([&] { apply_synthetic_param(p, "ctsa=3"); }).find("did you mean 'ctas'?"), std::string::npos);
    EXPECT_NE(message([&] { apply_synthetic_param(p, "warps=33"); }).find("from 1 to 32"), std::string::npos);
    EXPECT_NE(message([&] { apply_synthetic_param(p, "warps"); }), "");
    EXPECT_NE(message([&] { apply_synthetic_param(p, "warps=3x"); }), "");
    EXPECT_NE(message([&] { apply_synthetic_param(p, "warps=-1"); }), "");
    apply_synthetic_param(p, "warps=3");
    EXPECT_EQ(p.warps, 3u);
}

}  // namespace
}  // namespace mergelane::testing
