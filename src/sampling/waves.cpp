// SPDX-License-Identifier: MIT
#include "sampling/waves.hpp"

#include <algorithm>

#include "core/bits.hpp"
#include "core/rng.hpp"
#include "sampling/coalesce.hpp"

namespace mergelane::sampling {

namespace {

// In waves. Found on the training programs of docs/sampling.md.
constexpr double kL1Fills = 2;  ///< in a warm-up: sets fill unevenly
constexpr std::uint64_t kShortestWarmUp = 4, kLongestWarmUp = 16;
constexpr std::uint64_t kBehind = 1;

/// Waves of the first and the last stretch with what belongs to them, and of each one in between.
std::uint64_t ends_of(std::uint64_t warm_up, std::uint64_t first, std::uint64_t length) {
    return first + kBehind + warm_up + length + (length + 1) / 2;
}
std::uint64_t each_of(std::uint64_t warm_up, std::uint64_t length) {
    return warm_up + length + kBehind;
}

/// Lines of the L1s while the kernel runs.
double l1_lines(const MachineSpec& spec, const KernelInfo& info) {
    if (!spec.l1.enabled) return 0;
    const std::uint64_t shared_kib = std::uint64_t{residency(spec.sm, info).ctas} * info.shared_bytes / 1024;
    const std::uint64_t kib =
        spec.l1.unified_kib == 0 ? spec.l1.size_kib : spec.l1.unified_kib - std::min<std::uint64_t>(spec.l1.unified_kib, shared_kib);
    return static_cast<double>(kib * 1024 / kLineBytes * spec.sms());
}

class PartStream final : public CtaStream {
public:
    PartStream(std::unique_ptr<CtaStream> inner, std::uint64_t first) : inner_(std::move(inner)), first_(first) {}
    void open(std::uint64_t cta) override { inner_->open(first_ + cta); }
    bool next_run(std::uint32_t warp, Run& run) override { return inner_->next_run(warp, run); }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        inner_->addresses(warp, inst, active, out);
    }
    std::uint64_t task(std::uint32_t warp, std::uint64_t opened) const override { return inner_->task(warp, first_ + opened); }

private:
    const std::unique_ptr<CtaStream> inner_;
    const std::uint64_t first_;
};

/// From where the CTAs before `end` touch twice as many lines as the L2 holds (sets fill unevenly), but not from before `begin`.
std::uint64_t walk_from(const LongLaunch& launch, std::uint64_t begin, std::uint64_t end, std::uint64_t l2_lines) {
    Footprint lines;
    std::size_t s = launch.ctas.size();
    while (s != 0 && launch.ctas[s - 1].first >= end) --s;
    std::uint64_t from = end;
    while (s != 0 && from > begin && lines.lines() < 2 * l2_lines) {
        --s;
        lines.merge(launch.lines[s]);
        from = launch.ctas[s].first;
    }
    return std::max(from, begin);
}

}  // namespace

Known known_of(const Signature& s, const L2Traffic& t) {
    return {s.warp_instructions, s.lines(),     s.access[0].sectors, s.access[1].sectors + s.access[2].sectors, t.missed,
            t.fetched,           t.written_back};
}

std::uint64_t wave_if_long(const MachineSpec& spec, const KernelInfo& info, std::uint64_t most) {
    if (most == 0 || info.cluster_ctas() > 1) return 0;
    const std::uint64_t wave = std::uint64_t{residency(spec.sm, info).ctas} * spec.sms();
    return wave != 0 && info.ctas() > most * wave ? wave : 0;
}

std::vector<CtaRange> stretches_of(std::uint64_t ctas, std::uint64_t wave, std::uint64_t first, std::uint64_t length) {
    std::vector<CtaRange> list = {{0, std::max(first, length) * wave}};
    while (list.back().end + 2 * length * wave <= ctas) list.push_back({list.back().end, list.back().end + length * wave});
    list.push_back({list.back().end, ctas});
    return list;
}

void arrange(const MachineSpec& spec, const KernelInfo& info, std::uint64_t waves, LongLaunch& launch) {
    // CTAs find in the L1 what others have loaded. As many waves as it takes to fill it are its memory.
    double lines = 0;
    for (std::size_t s = 0; s < launch.stretches(); ++s) {
        const auto loaded = static_cast<double>(launch.known[s][kLoadedSectors]),
                   stored = static_cast<double>(launch.known[s][kStoredSectors]);
        if (loaded > 0) lines += static_cast<double>(launch.lines[s].lines()) * loaded / (loaded + stored);
    }
    const double of_wave = std::max(lines * static_cast<double>(launch.wave) / static_cast<double>(info.ctas()), 1.0);
    const auto fill = static_cast<std::uint64_t>(std::min(kL1Fills * l1_lines(spec, info) / of_wave, 1e6)) + 1;
    launch.warm_up = std::clamp(fill, kShortestWarmUp, kLongestWarmUp);
    // A long warm-up is worth a longer stretch. The first one holds what the launch itself needs to warm up.
    const std::uint64_t length = kShortest * std::max<std::uint64_t>(launch.warm_up / 4, 1);
    const std::uint64_t first = divide_up(launch.warm_up, kShortest) * kShortest;
    if (waves < ends_of(launch.warm_up, std::max(first, length), length) + kFewestStretches * each_of(launch.warm_up, length)) {
        launch = {};
        return;
    }
    LongLaunch joined;
    joined.ctas = stretches_of(info.ctas(), launch.wave, first, length);
    joined.known.resize(joined.stretches());
    joined.lines.resize(joined.stretches());
    std::size_t to = 0;
    for (std::size_t s = 0; s < launch.stretches(); ++s) {
        while (launch.ctas[s].first >= joined.ctas[to].end) ++to;
        for (std::size_t which = 0; which < kCovariates; ++which) joined.known[to][which] += launch.known[s][which];
        joined.lines[to].merge(launch.lines[s]);
    }
    launch.ctas = std::move(joined.ctas);
    launch.known = std::move(joined.known);
    launch.lines = std::move(joined.lines);
}

LaunchPlan plan_launch(const LongLaunch& launch, std::uint64_t waves, std::uint64_t l2_lines, std::uint64_t seed) {
    LaunchPlan plan;
    if (!launch.any()) return plan;
    const std::vector<CtaRange>& stretches = launch.ctas;
    const std::uint64_t wave = launch.wave, ctas = stretches.back().end;
    plan.begin = stretches.front().end;
    plan.end = stretches.back().first;
    const auto add = [&](std::uint64_t first, std::uint64_t end, std::initializer_list<std::uint64_t> marks) {
        const std::uint64_t done = plan.pieces.empty() ? 0 : plan.pieces.back().ctas.end;
        if (plan.pieces.empty() || first > done) plan.pieces.push_back({walk_from(launch, done, first, l2_lines), {first, end}, {}});
        Piece& piece = plan.pieces.back();
        piece.ctas.end = std::max(piece.ctas.end, end);
        for (const std::uint64_t mark : marks) {
            if (piece.marks.empty() || piece.marks.back() != mark) piece.marks.push_back(mark);
        }
    };
    const std::uint64_t behind = kBehind * wave, warm_up = launch.warm_up * wave;
    add(0, plan.begin + behind, {plan.begin});
    const std::uint64_t between = launch.between();
    const std::uint64_t length = (stretches[1].end - stretches[1].first) / wave;
    const std::uint64_t ends = ends_of(launch.warm_up, plan.begin / wave, length), each = each_of(launch.warm_up, length);
    const std::uint64_t count = std::min(between, std::max(kFewestStretches, (std::max(waves, ends) - ends) / each));
    Rng rng(seed);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t from = i * between / count, to = (i + 1) * between / count;
        const std::uint64_t number = 1 + from + rng.below(static_cast<std::uint32_t>(to - from));
        const CtaRange& stretch = stretches[number];
        plan.chosen.push_back(static_cast<std::uint32_t>(number));
        plan.measured.push_back(stretch);
        add(stretch.first - std::min(stretch.first, warm_up), stretch.end + behind, {stretch.first, stretch.end});
    }
    add(plan.end - std::min(plan.end, warm_up), ctas, {plan.end});
    return plan;
}

PartOfKernel::PartOfKernel(const KernelSource& kernel, const CtaRange& ctas) : kernel_(kernel), info_(kernel.info()), first_(ctas.first) {
    info_.grid = {static_cast<std::uint32_t>(ctas.end - ctas.first), 1, 1};
}

std::unique_ptr<CtaStream> PartOfKernel::make_stream() const {
    return std::make_unique<PartStream>(kernel_.make_stream(), first_);
}

PartTotal total_of_stretches(std::uint64_t stretches, std::vector<double> values, std::span<const Covariate> covariates) {
    PartTotal total;
    if (values.empty()) return total;
    std::vector<StratumSample> sample(1);
    sample.front().launches = stretches;
    sample.front().values = std::move(values);
    sample = explained(std::move(sample), covariates);
    const std::vector<double>& rest = sample.front().values;
    const auto all = static_cast<double>(stretches), n = static_cast<double>(rest.size());
    total.value = all * sample.front().whole_mean();
    if (sample.front().complete() || rest.size() < 2) return total;
    double squares = 0;
    for (std::size_t i = 1; i < rest.size(); ++i) squares += (rest[i] - rest[i - 1]) * (rest[i] - rest[i - 1]);
    total.variance = all * (all - n) / n * squares / (2 * (n - 1));
    // Differences of neighbours are correlated: the variance of their mean square is larger by (3n - 4) / (2n - 2).
    total.freedom = 2 * (n - 1) * (n - 1) / (3 * n - 4);
    return total;
}

}  // namespace mergelane::sampling
