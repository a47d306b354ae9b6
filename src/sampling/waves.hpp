// SPDX-License-Identifier: MIT
// Parts of a launch of many waves (docs/adr/0058-waves-within-launches.md). A wave is as many CTAs as the machine holds at a time. The
// launch is divided into stretches of whole waves. The first and the last are simulated, and some of those in between, each after a warm-up
// and with further CTAs behind it, so that the machine is full while it is measured.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/kernel.hpp"
#include "sampling/estimator.hpp"
#include "sampling/launch_walk.hpp"
#include "sampling/signature.hpp"
#include "sim/simulation.hpp"

namespace mergelane::sampling {

inline constexpr std::uint64_t kFewestWaves = 33;     ///< of a launch that is simulated in parts
inline constexpr std::uint64_t kFewestStretches = 3;  ///< that are simulated between the first and the last

/// What is known of a launch, or of a stretch of it, without timing.
inline constexpr std::size_t kCovariates = 7, kLoadedSectors = 2, kStoredSectors = 3;
using Known = std::array<std::uint64_t, kCovariates>;
Known known_of(const Signature& signature, const L2Traffic& traffic);

/// A launch of more waves than are simulated. Stretches in between are equally long.
struct LongLaunch {
    std::uint64_t wave = 0;     ///< CTAs; 0: the launch is simulated whole
    std::uint64_t warm_up = 0;  ///< waves
    std::vector<CtaRange> ctas;
    std::vector<Known> known;
    std::vector<Footprint> lines;

    bool any() const { return wave != 0; }
    std::uint64_t stretches() const { return ctas.size(); }
    std::uint64_t between() const { return stretches() - 2; }
};
/// CTAs of a wave if the launch has more than `most` of them, else 0.
std::uint64_t wave_if_long(const MachineSpec& spec, const KernelInfo& info, std::uint64_t most);
/// The launch in stretches of `length` waves, the first one longer if `first` is. What is left over belongs to the last one.
std::vector<CtaRange> stretches_of(std::uint64_t ctas, std::uint64_t wave, std::uint64_t first, std::uint64_t length);
/// Waves of the shortest stretches.
inline constexpr std::uint64_t kShortest = 2;
/// Decides how long warm-ups and stretches are, and joins the shortest stretches accordingly. The launch is simulated whole if `waves` are
/// too few then.
void arrange(const MachineSpec& spec, const KernelInfo& info, std::uint64_t waves, LongLaunch& launch);

/// CTAs that are simulated in a row.
struct Piece {
    std::uint64_t walk_from = 0;  ///< CTAs from here on are walked before, so that the L2 is warm
    CtaRange ctas;
    std::vector<std::uint64_t> marks;  ///< CTAs, counted from the launch's first, after whose completion counters are read
};
struct LaunchPlan {
    std::vector<CtaRange> measured;  ///< of the stretches in between, those that were chosen
    std::uint64_t begin = 0;         ///< CTAs of the first stretch
    std::uint64_t end = 0;           ///< first CTA of the last stretch
    std::vector<std::uint32_t> chosen;
    std::vector<Piece> pieces;  ///< none: the launch is simulated whole

    bool any() const { return !pieces.empty(); }
};
/// About `waves` waves of a launch: a random stretch of each of as many equal parts.
LaunchPlan plan_launch(const LongLaunch& launch, std::uint64_t waves, std::uint64_t l2_lines, std::uint64_t seed);

/// Some CTAs of a kernel as a kernel of their own. `kernel` outlives the streams.
class PartOfKernel final : public KernelSource {
public:
    PartOfKernel(const KernelSource& kernel, const CtaRange& ctas);
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;
    Listing listing() const override { return kernel_.listing(); }

private:
    const KernelSource& kernel_;
    KernelInfo info_;
    std::uint64_t first_;
};

/// What happened in a part of a launch. Differences of counters may be negative by a little: a count may have been corrected since.
struct Counts {
    std::uint64_t span = 0;
    std::uint64_t cycles = 0;
    std::vector<std::uint64_t> values;
};

/// A total over stretches, of which some were simulated.
struct PartTotal {
    double value = 0;
    double variance = 0;
    double freedom = 0;  ///< degrees of freedom of the variance
};
/// `values`: of the stretches simulated, one of each of as many equal parts, in their order. The variance is that of the differences of
/// neighbours, so that what changes slowly along the launch does not count.
PartTotal total_of_stretches(std::uint64_t stretches, std::vector<double> values, std::span<const Covariate> covariates);

}  // namespace mergelane::sampling
