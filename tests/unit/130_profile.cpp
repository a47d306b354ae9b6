// SPDX-License-Identifier: MIT
// Profiles of small kernels with known results.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "profile/profile.hpp"
#include "profile/touched_memory.hpp"
#include "scripted.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

Profile profile_of(std::vector<CtaScript> ctas, std::uint32_t count = 0, const ProfileOptions& options = {}) {
    ScriptedWorkload workload(std::move(ctas), count);
    return profile_workload(workload, options);
}

Access at(const LaneAddresses& lanes, std::uint32_t active = 0xFFFFFFFFu, std::uint8_t bytes = 4, Space space = Space::global) {
    Access access;
    access.lanes = lanes;
    access.active = active;
    access.lane_bytes = bytes;
    access.space = space;
    return access;
}

std::uint64_t kind(const ProfileCounts& counts, std::string_view name) {
    for (std::uint32_t k = 0; k < kInstructionKinds; ++k) {
        if (kind_name(k) == name) return counts.kinds[k];
    }
    ADD_FAILURE() << name;
    return 0;
}
std::uint64_t mapped(const ProfileCounts& counts, Mapping mapping) {
    return counts.mapping[static_cast<std::size_t>(mapping)];
}

TEST(Profile, CountsInstructionsByClassAndLanes) {
    WarpScript script;
    script.compute(OpClass::fp_mad, 1, {2}).compute(OpClass::fp_mad, 1, {2}).load(3, at(affine(0), 0xFFFF)).store(at(affine(0), 0xF));
    script.load(3, at(affine(0), ~0u, 4, Space::shared)).load(3, at(affine(0), ~0u, 4, Space::local)).atomic(3, at(affine(0), 0)).barrier();
    const ProfileCounts c = profile_of({{script}}).total;
    EXPECT_EQ(c.warp_instructions, 8u);
    EXPECT_EQ(c.thread_instructions, 5 * 32u + 16 + 4);
    EXPECT_EQ(c.full_warps, 5u);
    EXPECT_EQ(kind(c, "fp_mad"), 2u);
    EXPECT_EQ(kind(c, "load_global"), 1u);
    EXPECT_EQ(kind(c, "load_shared"), 1u);
    EXPECT_EQ(kind(c, "load_local"), 1u);
    EXPECT_EQ(kind(c, "store_global"), 1u);
    EXPECT_EQ(kind(c, "atomic_global"), 1u);
    EXPECT_EQ(kind(c, "barrier"), 1u);
    EXPECT_EQ(c.access[0].accesses, 1u);
    EXPECT_EQ(c.access[1].accesses, 1u);
    EXPECT_EQ(c.access[2].accesses, 0u) << "no lane is active";
    EXPECT_EQ(c.all_accesses().bytes, 20u * 4);
}

TEST(Profile, CanBeInterruptedWithinACta) {
    WarpScript script;
    for (int i = 0; i < 100'000; ++i) script.compute(OpClass::fp_mad, 1, {2});
    ProfileOptions options;
    options.progress = [](std::uint64_t, std::uint64_t done, std::uint64_t) {
        if (done == 0) throw Interrupted{};
    };
    EXPECT_THROW(profile_of({{script, script}}, 0, options), Interrupted);
}

TEST(Profile, HoldsALimitedNumberOfLines) {
    LineSet lines;
    for (Addr line = 0; line < LineSet::kMost; ++line) lines.insert(line);
    EXPECT_EQ(lines.size(), LineSet::kMost);
    EXPECT_THROW(lines.insert(LineSet::kMost), InputError);
}

TEST(Profile, CountsLinesSectorsAndBytes) {
    WarpScript script;
    script.load(1, at(affine(0x1000)));               // 1 line, 4 sectors
    script.load(1, at(affine(0x1010)));               // misaligned by 16: 2 lines, 5 sectors
    script.load(1, at(affine(0x4000, 128)));          // 32 lines, a sector each
    script.load(1, at(affine(0x1000, 0)));            // 1 line, 1 sector
    script.load(1, at(affine(0x1000, 16), ~0u, 16));  // 4 lines, 16 sectors
    script.load(1, at(affine(0x107E, 0), 1, 4));      // torn between two lines
    const ProfileCounts c = profile_of({{script}}).total;
    EXPECT_EQ(c.access[0].lines, 1u + 2 + 32 + 1 + 4 + 2);
    EXPECT_EQ(c.access[0].sectors, 4u + 5 + 32 + 1 + 16 + 2);
    EXPECT_EQ(c.by_lines, (std::array<std::uint64_t, 6>{2, 2, 1, 0, 0, 1}));
    EXPECT_EQ(c.footprint_lines, 4u + 32);
    EXPECT_EQ(c.footprint_sectors, 16u + 32);
}

TEST(Profile, TellsHowLanesMapToWords) {
    WarpScript script;
    script.load(1, at(affine(0x1000)));               // consecutive
    script.load(1, at(affine(0x1040)));               // two ranges
    script.load(1, at(affine(0x1008, 0)));            // broadcast
    script.load(1, at(affine(0x1008), 1u << 9));      // single
    script.load(1, at(affine(0x1000), 0x00FFFF00));   // range
    script.load(1, at(affine(0x1000), 0x00FF0F00));   // a gap: other
    script.load(1, at(affine(0x107C, -4)));           // backwards: other
    script.load(1, at(affine(0x1000, 16), ~0u, 16));  // four ranges in units of 16 bytes
    script.load(1, at(affine(0x1000, 0), ~0u, 16));   // several lanes on one wide unit: other
    script.load(1, at(affine(0x1000, 1), ~0u, 1));    // bytes: other
    script.load(1, at(affine(0x2000, 128)));          // 32 single
    const ProfileCounts c = profile_of({{script}}).total;
    EXPECT_EQ(mapped(c, Mapping::consecutive), 1u);
    EXPECT_EQ(mapped(c, Mapping::broadcast), 1u);
    EXPECT_EQ(mapped(c, Mapping::single), 1u + 32);
    EXPECT_EQ(mapped(c, Mapping::range), 2u + 1 + 4);
    EXPECT_EQ(mapped(c, Mapping::other), 4u);
}

TEST(Profile, TellsReuseWithinACtaFromReuseBetweenCtas) {
    // Each CTA reads line A twice and a line of its own three times.
    std::vector<CtaScript> ctas;
    for (Addr own = 1; own <= 4; ++own) {
        WarpScript script;
        script.load(1, at(affine(0))).load(1, at(affine(own * 128))).load(1, at(affine(0)));
        script.load(1, at(affine(own * 128))).store(at(affine(own * 128)));
        ctas.push_back({script});
    }
    for (const std::uint32_t sms : {1u, 2u, 15u}) {
        ProfileOptions options;
        options.sms = sms;
        const ProfileCounts c = profile_of(ctas, 4, options).total;
        EXPECT_EQ(c.footprint_lines, 5u);
        EXPECT_EQ(c.inter_cta_reuses, 3u);
        EXPECT_EQ(c.intra_cta_reuses, 4u * (1 + 2));
        EXPECT_EQ(c.ctas, 4u);
    }
}

TEST(Profile, FootprintOfSeveralKernelsIsTheirUnion) {
    const auto script = [](Addr base) { return std::vector<CtaScript>{{WarpScript().load(1, at(affine(base)))}}; };
    ScriptedWorkload workload(script(0));
    workload.then(script(0), 1);
    workload.then(script(1 << 20), 1);
    const Profile profile = profile_workload(workload, {});
    ASSERT_EQ(profile.kernels.size(), 3u);
    for (const KernelProfile& kernel : profile.kernels) EXPECT_EQ(kernel.counts.footprint_lines, 1u);
    EXPECT_EQ(profile.total.footprint_lines, 2u);
    EXPECT_EQ(profile.total.inter_cta_reuses, 0u) << "another kernel is no reuse";
}

TEST(WindowStudy, RemovesWhatTheWindowStillHolds) {
    WindowStudy study;
    for (const Addr line : {1, 1, 2, 1, 3, 4, 1}) study.request(line);
    // W=1: 1 (1) 2 1 3 4 1 -> 6 left; W=2: 1 (1) 2 (1) 3 4 1 -> 5 left; W=4: the last 1 is still there -> 4 left.
    EXPECT_EQ(study.left()[0], 7u);
    EXPECT_EQ(study.left()[1], 6u);
    EXPECT_EQ(study.left()[2], 5u);
    EXPECT_EQ(study.left()[3], 4u);
    EXPECT_EQ(study.left().back(), 4u);
    study.start();
    study.request(1);
    EXPECT_EQ(study.left().back(), 5u) << "another SM has seen nothing";
}

TEST(WindowStudy, WarpsThatReadTheSameLineMergeAcrossWarps) {
    // Eight warps read the same two lines: with turns, eight requests for one line follow each other.
    const WarpScript script = WarpScript().load(1, at(affine(0))).load(1, at(affine(4096)));
    const ProfileCounts c = profile_of({CtaScript(8, script)}).total;
    EXPECT_EQ(c.window_left[0], 16u);
    EXPECT_EQ(c.window_left[1], 2u);
}

TEST(WindowStudy, AgreesWithAPlainSearch) {
    WindowStudy study;
    std::array<std::vector<Addr>, kStudyWindows.size()> survivors;
    std::uint64_t state = 7;
    for (int k = 0; k < 20000; ++k) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const Addr line = (state >> 33) % (k % 3 == 0 ? 20 : 3000);
        study.request(line);
        for (std::size_t w = 0; w < kStudyWindows.size(); ++w) {
            auto& list = survivors[w];
            const std::size_t from = list.size() > kStudyWindows[w] ? list.size() - kStudyWindows[w] : 0;
            if (std::find(list.begin() + static_cast<std::ptrdiff_t>(from), list.end(), line) == list.end()) list.push_back(line);
        }
    }
    for (std::size_t w = 0; w < kStudyWindows.size(); ++w) EXPECT_EQ(study.left()[w], survivors[w].size()) << kStudyWindows[w];
}

TEST(TouchedMemory, LineSetForgetsAndGrows) {
    LineSet set;
    for (int round = 0; round < 3; ++round) {
        set.clear();
        for (Addr line = 0; line < 1000; ++line) set.insert(line * 977 % 500);
        EXPECT_EQ(set.size(), 500u);
    }
}

TEST(Profile, ReportsSayTheSame) {
    const auto workload = make_synthetic("tiled", [] {
        SyntheticParams params = synthetic_defaults("tiled");
        params.ctas = 32;
        return params;
    }());
    const Profile profile = profile_workload(*workload, {});
    EXPECT_NE(profile_json(profile).find("\"inter_cta_reuse_share\""), std::string::npos);
    EXPECT_NE(profile_csv(profile).find(",locality,footprint,"), std::string::npos);
    EXPECT_NE(profile_summary(profile).find("Inter-warp window"), std::string::npos);
    EXPECT_GT(profile.total.inter_cta_reuses, 0u);
}

}  // namespace
}  // namespace mergelane::testing
