// SPDX-License-Identifier: MIT
// Law: of a long launch, some waves of CTAs tell what all of them do, within the interval that they state, and it is the same for any
// number of threads and any window.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "core/rng.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "sampling/sampled_run.hpp"
#include "sampling/waves.hpp"

namespace mergelane::testing {
namespace {

/// Six SMs.
MachineSpec small() {
    MachineSpec spec = icc60_like(3);
    spec.gpu.sms_per_cluster = 2;
    spec.dram.channels = 2;
    spec.l1.size_kib = 6;  // four waves fill it twice
    spec.l1.ways = 6;
    return valid(spec);
}

/// CTA n of `ctas` reads lines of its own and computes in `rounds` + `more` * n / ctas rounds; half of the lines are those of the CTA
/// before.
class Rounds final : public KernelSource {
public:
    Rounds(std::uint32_t ctas, std::uint32_t rounds, std::uint32_t more) : rounds_(rounds), more_(more) {
        info_.name = "rounds";
        info_.grid = {ctas, 1, 1};
        info_.block = {64, 1, 1};
        info_.shared_bytes = 24 * 1024;
        StaticInst load;
        load.op = OpClass::load;
        load.dst_count = load.reg_count = 1;
        load.regs[0] = 1;
        body_.push_back(load);
        for (std::uint16_t i = 0; i < 6; ++i) {
            StaticInst add;
            add.pc = i + 1u;
            add.dst_count = 1;
            add.reg_count = 2;
            add.regs = {2, static_cast<std::uint16_t>(i == 0 ? 1 : 2)};
            body_.push_back(add);
        }
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    Listing listing() const override { return {body_, nullptr}; }

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const Rounds& kernel) : kernel_(kernel) {}
        void open(std::uint64_t cta) override {
            cta_ = cta;
            done_.assign(2, 0);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            if (done_[warp] == kernel_.rounds_ + kernel_.more_ * cta_ / kernel_.info_.ctas()) return false;
            ++done_[warp];
            run = {kernel_.body_.data(), static_cast<std::uint32_t>(kernel_.body_.size()), ~0u};
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst&, std::uint32_t, LaneAddresses& out) override {
            const std::uint64_t round = done_[warp] - 1;
            const std::uint64_t cta = round % 2 == 0 || cta_ == 0 ? cta_ : cta_ - 1;
            out.affine = true;
            out.base = ((cta * 2 + warp) * 64 + round) * 128;
            out.stride = 4;
        }

    private:
        const Rounds& kernel_;
        std::uint64_t cta_ = 0;
        std::vector<std::uint64_t> done_;
    };

    KernelInfo info_;
    std::vector<StaticInst> body_;
    std::uint64_t rounds_, more_;
};

/// Launches the kernel so many times.
class Launches final : public Workload {
public:
    Launches(const KernelSource& kernel, int times) : kernel_(kernel), left_(times) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return left_-- > 0 ? &kernel_ : nullptr; }

private:
    std::string name_ = "launches";
    const KernelSource& kernel_;
    int left_;
};

sampling::Options options_for(const KernelSource& kernel, std::uint64_t waves, int times = 1) {
    sampling::Options options;
    options.waves = waves;
    options.open = [&kernel, times] { return std::make_unique<Launches>(kernel, times); };
    return options;
}

std::uint64_t wave_of(const MachineSpec& spec, const KernelSource& kernel) {
    return sampling::wave_if_long(spec, kernel.info(), 1);
}

void expect_inside(const RunResult& full, const RunResult& sampled, double widest) {
    const Estimate& cycles = sampled.sample.cycles;
    EXPECT_LE(std::abs(cycles.value - static_cast<double>(full.cycles)), cycles.half_width) << full.cycles;
    EXPECT_LT(cycles.relative(), widest);
    for (const char* name :
         {"sm.warp_instructions", "l1.sector_misses", "l2.sector_misses", "l2.sector_hits", "dram.sector_reads", "noc.reply.flits"}) {
        const auto at = std::find_if(full.stats.begin(), full.stats.end(), [&](const StatValue& stat) { return stat.name == name; });
        ASSERT_NE(at, full.stats.end()) << name;
        const Estimate& one = sampled.sample.stats[static_cast<std::size_t>(at - full.stats.begin())];
        EXPECT_LE(std::abs(one.value - static_cast<double>(at->value)), one.half_width + 0.5)
            << name << " " << at->value << " " << one.value;
        EXPECT_LT(one.relative(), widest) << name;
    }
}

TEST(SampledWaves, EqualCtas) {
    const MachineSpec spec = small();
    const Rounds kernel(static_cast<std::uint32_t>(150 * wave_of(spec, Rounds(10000, 1, 0)) + 5), 12, 0);
    Launches all(kernel, 1);
    const RunResult sampled = sampling::run(spec, options_for(kernel, 40));
    expect_inside(run_on(spec, all), sampled, 0.08);
    EXPECT_EQ(sampled.sample.waves, 151u);
    EXPECT_LT(sampled.sample.simulated_waves, 45u);
    EXPECT_EQ(sampled.sample.launches_in_parts, 1u);
    EXPECT_LT(sampled.sample.simulated_instructions, sampled.sample.warp_instructions * 3 / 10);
}

TEST(SampledWaves, CtasThatGetHeavierAlongTheGrid) {
    const MachineSpec spec = small();
    const Rounds kernel(static_cast<std::uint32_t>(150 * wave_of(spec, Rounds(10000, 1, 0))), 8, 24);
    Launches all(kernel, 1);
    expect_inside(run_on(spec, all), sampling::run(spec, options_for(kernel, 80)), 0.1);
}

TEST(SampledWaves, ThreadsAndWindowsChangeNothing) {
    const MachineSpec spec = small();
    const Rounds kernel(static_cast<std::uint32_t>(80 * wave_of(spec, Rounds(10000, 1, 0))), 6, 6);
    std::string digest;
    for (const auto& [threads, window, sleep] : {std::tuple{1u, 0u, true}, std::tuple{2u, 0u, true}, std::tuple{4u, 0u, true},
                                                 std::tuple{1u, 3u, true}, std::tuple{2u, 1u, true}, std::tuple{1u, 0u, false}}) {
        sampling::Options options = options_for(kernel, 40, 2);
        options.run.threads = threads;
        options.run.window_cycles = window;
        options.run.sleep = sleep;
        const RunResult result = sampling::run(spec, options);
        EXPECT_EQ(result.sample.launches_in_parts, result.sample.simulated);
        if (digest.empty()) digest = result.digest;
        EXPECT_EQ(result.digest, digest) << threads << " threads, window " << window;
    }
}

TEST(SampledWaves, KeptSegmentsEndWithTheSameResult) {
    MachineSpec spec = small();
    spec.l2.size_kib = spec.l2.ways * spec.l2.line_bytes / 1024 * 2;  // each launch fills it, so that there are segments
    const Rounds kernel(static_cast<std::uint32_t>(60 * wave_of(spec, Rounds(10000, 1, 0))), 6, 0);
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("mergelane-waves-{}", ::getpid());
    sampling::Options options = options_for(kernel, 40, 16);
    options.segment_instructions = 1000;
    const std::string alone = sampling::run(spec, options).digest;
    options.keep = folder.string();
    options.identity = "rounds";
    EXPECT_EQ(sampling::run(spec, options).digest, alone);
    EXPECT_EQ(sampling::run(spec, options).digest, alone) << "from what was kept";
    ASSERT_TRUE(std::filesystem::remove(folder / "pass-1-segment-2"));
    EXPECT_EQ(sampling::run(spec, options).digest, alone) << "without a segment";
    std::filesystem::remove(folder / "signatures");
    EXPECT_EQ(sampling::run(spec, options).digest, alone) << "without the signatures";
    options.waves = 41;
    EXPECT_THROW(sampling::run(spec, options), InputError);
    std::filesystem::remove_all(folder);
}

TEST(SampledWaves, ShortLaunchesAreSimulatedWhole) {
    const MachineSpec spec = small();
    const Rounds kernel(static_cast<std::uint32_t>(40 * wave_of(spec, Rounds(10000, 1, 0))), 4, 0);
    const RunResult with = sampling::run(spec, options_for(kernel, 40)), without = sampling::run(spec, options_for(kernel, 0));
    EXPECT_EQ(with.digest, without.digest);
    EXPECT_EQ(with.sample.launches_in_parts, 0u);
}

TEST(SampledWaves, LaunchesWhoseWarmUpTakesTooLongAreSimulatedWhole) {
    MachineSpec spec = small();
    spec.l1.size_kib = 12;
    const Rounds kernel(static_cast<std::uint32_t>(80 * wave_of(spec, Rounds(10000, 1, 0))), 12, 0);
    EXPECT_EQ(sampling::run(spec, options_for(kernel, 24)).sample.launches_in_parts, 0u);
    EXPECT_EQ(sampling::run(spec, options_for(kernel, 60)).sample.launches_in_parts, 1u);
    spec.l1.size_kib = 48;
    EXPECT_EQ(sampling::run(valid(spec), options_for(kernel, 60)).sample.launches_in_parts, 0u);
}

TEST(SampledWaves, OrdersThatAreNotThatOfTheGridAreRefused) {
    MachineSpec spec = small();
    const Rounds kernel(static_cast<std::uint32_t>(80 * wave_of(spec, Rounds(10000, 1, 0))), 12, 0);
    for (const char* scheduler : {"distributed", "distributed_block", "greedy", "rr_strict"}) {
        spec.dispatch.scheduler = scheduler;
        EXPECT_THROW(sampling::run(valid(spec), options_for(kernel, 40)), InputError) << scheduler;
    }
    for (const char* scheduler : {"two_level_rr", "random_per_turnaround"}) {
        spec.dispatch.scheduler = scheduler;
        EXPECT_EQ(sampling::run(valid(spec), options_for(kernel, 40)).sample.launches_in_parts, 1u) << scheduler;
    }
    spec = small();
    spec.dispatch.transform = "agents";
    EXPECT_THROW(sampling::run(valid(spec), options_for(kernel, 40)), InputError);
}

TEST(SampledWaves, PiecesHoldWhatIsMeasuredWithAWaveBeforeAndBehind) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        const std::uint64_t wave = 1 + rng.below(50), waves = 20 + rng.below(60), ctas = (waves + 1 + rng.below(200)) * wave + rng.below(7);
        sampling::LongLaunch launch;
        launch.wave = wave;
        launch.warm_up = 1 + rng.below(3);
        launch.ctas = sampling::stretches_of(ctas, wave, 2 + rng.below(3), 2);
        launch.known.resize(launch.stretches());
        launch.lines.resize(launch.stretches());
        const sampling::LaunchPlan plan = sampling::plan_launch(launch, waves, 1000, seed);
        ASSERT_GE(plan.chosen.size(), 3u);
        std::uint64_t done = 0, simulated = 0;
        for (const sampling::Piece& piece : plan.pieces) {
            EXPECT_LE(done, piece.walk_from);
            EXPECT_LE(piece.walk_from, piece.ctas.first);
            EXPECT_TRUE(std::is_sorted(piece.marks.begin(), piece.marks.end()));
            EXPECT_EQ(std::adjacent_find(piece.marks.begin(), piece.marks.end()), piece.marks.end());
            for (const std::uint64_t mark : piece.marks) {
                EXPECT_TRUE(mark == plan.begin || mark >= piece.ctas.first + launch.warm_up * wave || piece.ctas.first == 0);
                EXPECT_TRUE(mark == plan.end || mark + wave <= piece.ctas.end);
            }
            for (const sampling::CtaRange& ctas_measured : plan.measured) {
                if (ctas_measured.first < piece.ctas.first || ctas_measured.end > piece.ctas.end) continue;
                EXPECT_TRUE(std::binary_search(piece.marks.begin(), piece.marks.end(), ctas_measured.first));
                EXPECT_TRUE(std::binary_search(piece.marks.begin(), piece.marks.end(), ctas_measured.end));
                ++simulated;
            }
            done = piece.ctas.end;
        }
        EXPECT_EQ(done, ctas);
        EXPECT_EQ(simulated, plan.measured.size());
    }
}

TEST(SampledWaves, IntervalsOfStretchesHoldTheTotal) {
    Rng rng(3);
    constexpr int kTrials = 1000, kStretches = 90, kChosen = 8;
    for (const double trend : {0.0, 1.0}) {
        int held = 0;
        for (int trial = 0; trial < kTrials; ++trial) {
            std::vector<double> all;
            for (int s = 0; s < kStretches; ++s) {
                double noise = 0;
                for (int k = 0; k < 12; ++k) noise += static_cast<double>(rng.below(1000)) / 1000 - 0.4995;
                all.push_back(1000 * (1 + trend * s / kStretches + 0.05 * noise));
            }
            std::vector<double> chosen;
            for (int i = 0; i < kChosen; ++i) {
                const int from = i * kStretches / kChosen, to = (i + 1) * kStretches / kChosen;
                chosen.push_back(all[static_cast<std::size_t>(from) + rng.below(static_cast<std::uint32_t>(to - from))]);
            }
            const sampling::PartTotal total = sampling::total_of_stretches(kStretches, chosen, {});
            const double half = sampling::t_quantile(total.freedom) * std::sqrt(total.variance);
            held += std::abs(total.value - std::accumulate(all.begin(), all.end(), 0.0)) <= half;
        }
        EXPECT_GE(held, kTrials * 93 / 100) << trend;
    }
}

TEST(SampledWaves, TwoStagesWidenTheInterval) {
    // Two of four launches, each an estimate with a variance of 9 and 4 degrees of freedom.
    std::vector<sampling::StratumSample> strata(1);
    strata[0].launches = 4;
    strata[0].values = {100, 104};
    const double alone = sampling::Estimator(strata, 0).total().half_width;
    EXPECT_NEAR(alone, sampling::t_quantile(1) * std::sqrt(4.0 * 2 / 2 * 8), 1e-6);
    strata[0].within = 18;
    strata[0].within_squares = 2 * 81 / 4.0;
    const double between = 4.0 * 2 / 2 * 8, inside = 4.0 / 2 * 18;
    const double freedom = (between + inside) * (between + inside) / (between * between + 4 * strata[0].within_squares);
    EXPECT_NEAR(sampling::Estimator(strata, 0).total().half_width, sampling::t_quantile(freedom) * std::sqrt(between + inside), 1e-6);
    // All launches: what is within them remains.
    strata[0].values = {100, 104, 100, 104};
    strata[0].within = 36;
    strata[0].within_squares = 81;
    EXPECT_NEAR(sampling::Estimator(strata, 0).total().half_width, sampling::t_quantile(16) * 6, 1e-6);
    EXPECT_EQ(sampling::Estimator(strata, 0).allocate(0.0001, {}), std::vector<std::uint64_t>{4});
}

}  // namespace
}  // namespace mergelane::testing
