// SPDX-License-Identifier: MIT
// Invariants of the separate shared-memory path: in isolation it costs the same as the path through the front end; it does not queue behind
// scattered global loads; bank conflicts occupy the banks for the same time on either path.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

MachineSpec with_path(std::string_view path) {
    MachineSpec s = icc60_like(1);
    s.sm.shared_path = path == "own" ? SmSpec::SharedPath::own : SmSpec::SharedPath::front;
    return valid(s);
}

Access shared(std::int64_t stride) {
    Access access;
    access.lanes = affine(0, stride);
    access.space = Space::shared;
    return access;
}

/// Each access waits for the one before.
WarpScript chain(std::uint32_t length, std::int64_t stride) {
    WarpScript script;
    for (std::uint32_t i = 0; i < length; ++i) script.load(1, shared(stride), {1});
    return script;
}

TEST(SharedPath, AloneBothWaysCostTheSame) {
    for (const std::int64_t stride : {4, 8, 128}) {
        const RunResult front = run_on(with_path("front"), chain(20, stride));
        const RunResult own = run_on(with_path("own"), chain(20, stride));
        // A CTA ends when its last access is accepted: by the front a cycle after issue, by the banks at issue.
        EXPECT_EQ(own.cycles + 1, front.cycles) << "stride " << stride;
        EXPECT_EQ(own.stat("sm.shared_bank_cycles"), front.stat("sm.shared_bank_cycles"));
        EXPECT_EQ(own.stat("sm.load_latency"), front.stat("sm.load_latency"));
        EXPECT_EQ(own.stat("sm.loads"), 20u);
    }
}

TEST(SharedPath, BanksServeOneAccessAtATime) {
    // Eight warps, each access takes the banks for 32 cycles: the banks are the bound on either path.
    std::vector<CtaScript> cta = {CtaScript(8, chain(10, 128))};
    for (const char* path : {"front", "own"}) {
        ScriptedWorkload workload(cta);
        const RunResult result = run_on(with_path(path), workload);
        EXPECT_EQ(result.stat("sm.shared_bank_cycles"), 8u * 10 * 32);
        EXPECT_GE(result.cycles, (8u * 10 - 1) * 32) << "up to when the last access is accepted";
        EXPECT_LT(result.cycles, 8u * 10 * 32 + 400) << path;
    }
}

TEST(SharedPath, DoesNotWaitBehindScatteredLoads) {
    WarpScript scattering;
    for (std::uint32_t i = 0; i < 16; ++i)
        scattering.load(static_cast<std::uint16_t>(2 + i % 8), {affine(Addr{i} << 20, 4096)});  // 32 lines each
    const std::vector<CtaScript> cta = {{scattering, chain(30, 4)}};
    const auto latency = [&](const char* path) {
        ScriptedWorkload workload(cta);
        return run_on(with_path(path), workload).stat("sm.load_latency");
    };
    EXPECT_LT(latency("own") + 30 * 20, latency("front")) << "each of the 30 would wait for dozens of lines";
}

}  // namespace
}  // namespace mergelane::testing
