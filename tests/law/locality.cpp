// SPDX-License-Identifier: MIT
// Invariant: the locality of a cluster equals the result of comparing every read with all reads of the window.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "core/rng.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

struct Wanted {
    std::uint64_t cta = 0;
    std::uint32_t words = 0;
};
Wanted wants(std::uint64_t cta, std::uint32_t words) {
    return {cta, words};
}
struct Meter : LocalityMeter {
    Meter() : LocalityMeter(1, false) {}
    using LocalityMeter::see;
    void see(Addr block, const Wanted& wanted, Cycle now) { see(block, wanted.cta, wanted.words, now); }
};

TEST(Locality, TellsLineSharingFromDataSharing) {
    Meter meter;
    meter.see(128, wants(0, 0x1), 0);
    meter.see(128, wants(1, 0x2), 400);  // the line, another word
    meter.see(128, wants(2, 0x1), 900);  // a word of CTA 0, 900 cycles ago; the line 500 ago
    meter.see(128, wants(2, 0x1), 901);  // its own word 1 ago, CTA 0's 901 ago
    meter.see(256, wants(2, 0x1), 950);
    EXPECT_EQ(meter.reads(), 5u);
    EXPECT_EQ(meter.line_sharing(0), 3u);
    EXPECT_EQ(meter.data_sharing(0), 0u);
    EXPECT_EQ(meter.line_sharing(1), 1u);
    EXPECT_EQ(meter.data_sharing(1), 2u);
}

TEST(Locality, TheWindowEndsWhereItSays) {
    Meter meter;
    meter.see(0, wants(0, 1), 1000);
    meter.see(0, wants(1, 1), 3000);
    EXPECT_EQ(meter.data_sharing(3), 1u) << "2000 cycles ago is inside";
    meter.see(0, wants(2, 1), 5001);
    EXPECT_EQ(meter.data_sharing(3) + meter.line_sharing(3), 1u) << "2001 is not";
    meter.begin_kernel();
    meter.see(0, wants(0, 1), 5002);
    EXPECT_EQ(meter.data_sharing(3) + meter.line_sharing(3), 1u) << "another kernel's CTAs are others";
}

TEST(Locality, AgreesWithExhaustiveComparison) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        struct Seen {
            Addr block;
            Cycle at;
            Wanted note;
        };
        std::vector<Seen> all;
        Meter meter;
        std::array<std::uint64_t, 4> line{}, data{};
        Rng rng(seed);
        const std::uint32_t blocks = seed % 2 == 0 ? 3000 : 200, gap = seed % 3 == 0 ? 1 : 8, ctas = seed % 2 == 0 ? 50 : 3;
        Cycle now = 0;
        for (int n = 0; n < 12'000; ++n) {
            now += 1 + (gap == 1 ? 0 : rng.below(gap));
            const Addr block = Addr{rng.below(blocks)} * 128;
            const Wanted note = wants(rng.below(ctas), 1u << rng.below(32) | 1u << rng.below(32));
            for (std::size_t w = 0; w < 4; ++w) {
                bool same_line = false, same_word = false;
                for (std::size_t i = all.size(); i > 0 && now - all[i - 1].at <= LocalityMeter::kWindows[w]; --i) {
                    if (all[i - 1].block != block) continue;
                    same_line = true;
                    same_word |= all[i - 1].note.cta != note.cta && (all[i - 1].note.words & note.words) != 0;
                }
                if (same_line) ++(same_word ? data : line)[w];
            }
            all.push_back({block, now, note});
            meter.see(block, note, now);
        }
        for (std::size_t w = 0; w < 4; ++w) {
            EXPECT_EQ(meter.line_sharing(w), line[w]) << "seed " << seed << " window " << w;
            EXPECT_EQ(meter.data_sharing(w), data[w]) << "seed " << seed << " window " << w;
        }
        EXPECT_GT(data[3], 0u);
    }
}

TEST(Locality, MasksOfBytesBecomeMasksOfWords) {
    Rng rng(3);
    for (int n = 0; n < 2000; ++n) {
        ByteMask mask;
        std::uint32_t expected = 0;
        for (std::uint32_t k = rng.below(6); k > 0; --k) {
            const std::uint32_t first = rng.below(128), count = 1 + rng.below(128 - first);
            mask.set_range(first, count);
            for (std::uint32_t b = first; b < first + count; ++b) expected |= 1u << b / 4;
        }
        ASSERT_EQ(mask.touched_words(), expected);
    }
}

MachineSpec measured() {
    MachineSpec s = icc60_like(1);
    s.gpu.sms_per_cluster = 2;
    s.section<LocalitySpec>().on = true;
    return valid(s);
}

TEST(Locality, OnTheMachineCountsL1ReadMissesOfGlobalMemory) {
    WarpScript first, second;
    first.load(1, {affine(0)}).load(2, {affine(1 << 20), 0x0000FFFF}).load(3, {affine(1 << 21), ~0u, 4, Space::local}).use(1).use(2).use(3);
    second.load(1, {affine(0)}).load(2, {affine(1 << 20), 0xFFFF0000}).store({affine(1 << 22)}).load(3, {affine(0)}, {1}).use(3);
    ScriptedWorkload workload(std::vector<CtaScript>{{first}, {second}});
    const RunResult result = run_on(measured(), workload);
    EXPECT_EQ(result.stat("locality.reads"), 4u) << "not the L1 hit, the store and the local load";
    EXPECT_EQ(result.stat("locality.data_sharing_500"), 1u);
    EXPECT_EQ(result.stat("locality.line_sharing_500"), 1u) << "the same line, different halves";
}

TEST(Locality, MeasuringChangesNothing) {
    for (const bool icc : {false, true}) {
        MachineSpec s = measured();
        s.section<IccSpec>().on = icc;
        WarpScript script;
        for (std::uint32_t i = 0; i < 40; ++i) script.load(1, {affine(Addr{i % 7} * 4096 + i)}, {1});
        ScriptedWorkload with({{script}}, 30);
        const RunResult on = run_on(s, with);
        s.section<LocalitySpec>().on = false;
        ScriptedWorkload without({{script}}, 30);
        const RunResult off = run_on(s, without);
        EXPECT_EQ(on.cycles, off.cycles);
        EXPECT_EQ(on.stat("l2.reads"), off.stat("l2.reads"));
        EXPECT_TRUE(on.has_stat("locality.reads"));
        EXPECT_FALSE(off.has_stat("locality.reads"));
    }
}

}  // namespace
}  // namespace mergelane::testing
