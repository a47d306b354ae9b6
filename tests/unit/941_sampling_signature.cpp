// SPDX-License-Identifier: MIT
// Signatures of launches, and strata of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "core/passing_stream.hpp"
#include "core/rng.hpp"
#include "profile/line_request.hpp"
#include "sampling/coalesce.hpp"
#include "sampling/footprint.hpp"
#include "sampling/line_times.hpp"
#include "sampling/passes.hpp"
#include "sampling/signature.hpp"
#include "sampling/strata.hpp"
#include "scripted.hpp"
#include "workload/suite/cache.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::sampling {
namespace {

namespace fs = std::filesystem;
using testing::affine;
using testing::scattered;

std::vector<Signature> signatures_of(Workload& workload) {
    SignatureTaker taker;
    std::vector<Signature> list;
    while (const KernelSource* kernel = workload.next_kernel()) list.push_back(taker.take(*kernel));
    return list;
}

TEST(SamplingSignature, LinesAreThoseOfTheProfile) {
    Rng rng(1);
    for (int trial = 0; trial < 3000; ++trial) {
        const std::uint32_t active = trial % 3 == 0   ? 0xFFFFFFFFu
                                     : trial % 3 == 1 ? 0x00FFFF00u
                                                      : static_cast<std::uint32_t>(rng.next()) | 1;
        LaneAddresses lanes = affine(rng.below(100000), trial % 5 == 0 ? rng.below(300) : std::int64_t{4} * rng.below(5));
        if (trial % 4 == 0) {
            std::vector<Addr> list;
            for (int lane = 0; lane < 32; ++lane) list.push_back(rng.below(trial % 8 == 0 ? 100000 : 600));
            lanes = scattered(list);
        }
        const std::uint32_t bytes = 1u << rng.below(5);
        std::map<Addr, std::uint32_t> expected, seen;
        LineRequests requests;  // owns what split() returns
        for (const LineRequest& request : requests.split(lanes, active, bytes)) expected[request.line] = request.sectors;
        each_line(lanes, active, bytes, [&](Addr line, std::uint32_t sectors) { seen[line] |= sectors; });
        EXPECT_EQ(seen, expected) << trial;
    }
}

/// Joins each sector with those of the last eight lines, as plainly as possible.
std::vector<std::pair<Addr, std::uint32_t>> plain_lines(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t bytes) {
    std::vector<std::pair<Addr, std::uint32_t>> visits;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        if ((active >> lane & 1) == 0) continue;
        for (Addr sector = lanes.of(lane) / 32; sector <= (lanes.of(lane) + bytes - 1) / 32; ++sector) {
            std::size_t at = visits.size() > 8 ? visits.size() - 8 : 0;
            while (at != visits.size() && visits[at].first != sector / 4) ++at;
            if (at == visits.size()) visits.emplace_back(sector / 4, 0);
            visits[at].second |= 1u << sector % 4;
        }
    }
    return visits;
}

TEST(SamplingSignature, LinesAreVisitedInTheOrderOfTheirFirstLanes) {
    Rng rng(2);
    for (int trial = 0; trial < 3000; ++trial) {
        const std::uint32_t active = trial % 2 == 0 ? 0xFFFFFFFFu : static_cast<std::uint32_t>(rng.next()) | 1;
        LaneAddresses lanes = affine(rng.below(100000) + 10000, std::int64_t{rng.below(600)} - 100);
        if (trial % 3 == 0) {
            std::vector<Addr> list;
            for (int lane = 0; lane < 32; ++lane) list.push_back(rng.below(1u << (8 + trial % 10)));
            lanes = scattered(list);
        }
        const std::uint32_t bytes = 1u << rng.below(6);
        std::vector<std::pair<Addr, std::uint32_t>> visits;
        each_line(lanes, active, bytes, [&](Addr line, std::uint32_t sectors) { visits.emplace_back(line, sectors); });
        EXPECT_EQ(visits, plain_lines(lanes, active, bytes)) << trial;
    }
}

TEST(SamplingSignature, TimesOfLinesAreThoseOfAMap) {
    Rng rng(3);
    LineTimes times;
    std::map<Addr, std::uint64_t> expected;
    std::uint64_t mask = 0;
    for (std::uint64_t now = 1; now < 60000; ++now) {
        const Addr line = rng.below(20000);
        const std::uint64_t hash = mix64(line);
        if ((hash & mask) != 0) continue;
        std::uint64_t& time = times.of(line, hash);
        ASSERT_EQ(time, expected[line]);
        time = expected[line] = now;
        if (now % 20000 != 0) continue;
        mask = mask * 2 + 1;
        times.keep_if([&](std::uint64_t kept) { return (kept & mask) == 0; });
        std::erase_if(expected, [&](const auto& entry) { return (mix64(entry.first) & mask) != 0; });
        ASSERT_EQ(times.size(), expected.size());
    }
}

TEST(SamplingSignature, FootprintsAreAboutRightAndAddUpAsSets) {
    for (const std::uint64_t lines : {1ull, 40ull, 700ull, 30000ull, 2000000ull}) {
        Footprint one, other;
        for (std::uint64_t line = 0; line < lines; ++line) {
            (line % 3 == 0 ? one : other).add(mix64(line));
            one.add(mix64(line / 2));
        }
        one.merge(other);
        EXPECT_NEAR(static_cast<double>(one.lines()), static_cast<double>(lines), 1 + 0.14 * static_cast<double>(lines));
    }
}

TEST(SamplingSignature, CountsWhatALaunchDoes) {
    testing::WarpScript script;
    script.load(1, {affine(4096)}).compute(OpClass::fp_mad, 2, {1}).store({affine(8192, 128), 0xFFFF});
    testing::ScriptedWorkload workload({{script}}, 3);
    const std::vector<Signature> list = signatures_of(workload);
    ASSERT_EQ(list.size(), 1u);
    const Signature& s = list.front();
    EXPECT_EQ(s.warp_instructions, 9u);
    EXPECT_EQ(s.mix[Signature::global], 6u);
    EXPECT_EQ(s.mix[Signature::floating], 3u);
    EXPECT_EQ(s.thread_instructions, 3u * (32 + 32 + 16));
    EXPECT_EQ(s.access[0].lines, 3u);
    EXPECT_EQ(s.access[0].sectors, 12u);
    EXPECT_EQ(s.access[1].lines, 48u);
    EXPECT_EQ(s.access[1].sectors, 48u);
    EXPECT_NEAR(static_cast<double>(s.footprint.lines()), 17, 3);
}

TEST(SamplingSignature, IsTheSameForExecutionAndRecording) {
    const fs::path folder = fs::temp_directory_path() / ("mergelane_signatures_" + std::to_string(getpid()));
    fs::create_directories(folder);
    for (const char* name : {"lud", "spmv", "histogram"}) {
        const auto executed = suite::make_suite_workload(name, suite::Size::tiny, 1, {});
        const std::vector<Signature> first = signatures_of(*executed);
        for (int time = 0; time < 2; ++time) {
            const auto kept = suite::make_cached_suite_workload(name, suite::Size::tiny, 1, {}, folder);
            EXPECT_EQ(signatures_of(*kept), first) << name;
        }
    }
    fs::remove_all(folder);
}

/// Reads everything of a kernel twice, once without the addresses of those instructions that `passed` names.
template <class Passed>
void expect_the_same_without(const KernelSource& kernel, const Passed& passed) {
    const std::unique_ptr<CtaStream> all = kernel.make_stream(), some = kernel.make_stream();
    auto* const passing = dynamic_cast<PassingStream*>(some.get());
    ASSERT_NE(passing, nullptr);
    LaneAddresses expected, read;
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        all->open(cta);
        some->open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            for (mergelane::Run run, same; all->next_run(warp, run);) {
                ASSERT_TRUE(some->next_run(warp, same));
                ASSERT_EQ(run.first, same.first);
                for (std::uint32_t i = 0; i < run.count && run.active != 0; ++i) {
                    const StaticInst& inst = run.first[i];
                    if (!is_memory(inst)) continue;
                    all->addresses(warp, inst, run.active, expected);
                    if (passed(inst)) {
                        passing->pass_addresses(warp, inst, run.active);
                        continue;
                    }
                    some->addresses(warp, inst, run.active, read);
                    for (LaneAddresses* lanes : {&expected, &read}) {
                        if (lanes->run_count != 0) lanes->affine = false;
                        lanes->expand(run.active);
                    }
                    for (std::uint32_t left = run.active; left != 0; left &= left - 1)
                        ASSERT_EQ(read.of(lowest_bit(left)), expected.of(lowest_bit(left)));
                }
            }
        }
    }
}

TEST(SamplingSignature, AddressesThatArePassedOverChangeNoOthers) {
    for (const char* name : {"histogram", "spmv", "bfs", "lud"}) {
        const auto workload = suite::make_suite_workload(name, suite::Size::tiny, 1, {});
        while (const KernelSource* kernel = workload->next_kernel()) {
            expect_the_same_without(*kernel, [](const StaticInst& inst) { return inst.space == Space::shared; });
            for (const std::uint32_t odd : {0u, 1u}) {
                const StaticInst* const first = kernel->listing().instructions.data();
                expect_the_same_without(*kernel, [&](const StaticInst& inst) { return (&inst - first) % 2 == odd; });
            }
        }
    }
}

std::vector<Features> clouds(std::uint32_t count) {
    Rng rng(5);
    std::vector<Features> points(count);
    for (std::uint32_t p = 0; p < count; ++p) {
        points[p][0] = 10.0 * (p % 3) + 0.01 * rng.below(10);
        points[p][5] = 0.01 * rng.below(10);
    }
    return points;
}

TEST(SamplingStrata, ClustersAreFoundAndAlwaysTheSame) {
    const std::vector<Features> points = clouds(300);
    const std::vector<std::uint32_t> cluster = k_means(points, 3, 1);
    for (std::size_t p = 3; p < points.size(); ++p) EXPECT_EQ(cluster[p], cluster[p % 3]);
    EXPECT_NE(cluster[0], cluster[1]);
    EXPECT_NE(cluster[1], cluster[2]);
    EXPECT_EQ(k_means(points, 3, 1), cluster);
    EXPECT_LT(scatter(points, cluster), 0.001 * scatter(points, std::vector<std::uint32_t>(points.size(), 0)));
    EXPECT_EQ(k_means(std::vector<Features>(10, points[0]), 4, 1), std::vector<std::uint32_t>(10, 0)) << "no four different points";
}

std::vector<Signature> launches_of(std::initializer_list<std::uint64_t> instructions, const char* kernel = "k") {
    std::vector<Signature> list;
    for (const std::uint64_t count : instructions) {
        Signature& s = list.emplace_back();
        s.kernel = kernel;
        s.warp_instructions = count;
        s.mix[Signature::integer] = count;
    }
    return list;
}

TEST(SamplingStrata, KernelsAndSizesAreKeptApart) {
    std::vector<Signature> launches;
    for (int i = 0; i < 40; ++i) {
        for (Signature& s : launches_of({1000, 64000})) launches.push_back(s);
        for (Signature& s : launches_of({1000}, "other")) launches.push_back(s);
    }
    const std::vector<std::uint64_t> missed(launches.size(), 0);
    const Strata strata = stratify(launches, missed, 1);
    ASSERT_EQ(strata.size(), 3u);
    for (const auto& stratum : strata) {
        EXPECT_EQ(stratum.size(), 40u);
        for (const std::uint32_t launch : stratum) EXPECT_EQ(launch % 3, stratum.front() % 3);
    }
    EXPECT_EQ(sieve_strata(launches).size(), 3u);
    EXPECT_LE(pka_clusters(launches, 1).size(), 3u);
}

TEST(SamplingStrata, SieveDividesCountsThatVaryMuch) {
    const std::vector<Signature> launches = launches_of({100, 1000, 110, 1100, 90, 5000});
    const Strata strata = sieve_strata(launches);
    EXPECT_EQ(strata, (Strata{{0, 2, 4}, {1, 3}, {5}}));
    EXPECT_EQ(sieve_representative(launches, strata[1]), 1u);
}

TEST(SamplingPasses, SegmentsEndWhereNoEarlierLaunchIsNeeded) {
    std::vector<Signature> launches(9);
    for (Signature& launch : launches) launch.warp_instructions = 10;
    const std::vector<std::uint32_t> chosen = {0, 3, 4, 8}, from = {0, 2, 2, 6};
    using Ends = std::vector<std::size_t>;
    EXPECT_EQ(segment_ends(launches, chosen, from, 0), (Ends{4}));
    EXPECT_EQ(segment_ends(launches, chosen, from, 10), (Ends{1, 3, 4}));
    EXPECT_EQ(segment_ends(launches, chosen, from, 20), (Ends{3, 4}));
    EXPECT_EQ(segment_ends(launches, chosen, from, 31), (Ends{4}));
}

TEST(SamplingPasses, WarmingStartsWhereTheL2IsFull) {
    std::vector<Signature> launches(10);
    for (std::uint64_t i = 0; i < launches.size(); ++i) {
        for (std::uint64_t line = 0; line < 1000; ++line) launches[i].footprint.add(mix64(i / 2 * 1000 + line));  // pairs share their lines
    }
    const std::vector<std::uint32_t> chosen = {0, 5, 9};
    EXPECT_EQ(warm_from(launches, chosen, 100000), (std::vector<std::uint32_t>{0, 0, 0}));
    const std::vector<std::uint32_t> from = warm_from(launches, chosen, 700);
    EXPECT_EQ(from[1], 3u);
    EXPECT_EQ(from[2], 7u);
}

}  // namespace
}  // namespace mergelane::sampling
