// SPDX-License-Identifier: MIT
#include "sampling/strata.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "core/rng.hpp"

namespace mergelane::sampling {

namespace {

constexpr double kTight = 0.05;      ///< root mean square distance of similar launches; in sizes, 3.5 %
constexpr double kExplained = 0.98;  ///< share of a kernel's variance
constexpr std::size_t kMostPerKernel = 24;
constexpr std::size_t kLaunchesPerStratum = 8;  ///< at least, on average

/// Logarithm to base 2, linear between powers of two: the same on every host.
double log2_of(std::uint64_t value) {
    const std::uint64_t one_more = value + 1;
    const int power = 63 - std::countl_zero(one_more);
    return power + static_cast<double>(one_more) / static_cast<double>(std::uint64_t{1} << power) - 1;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double distance(const Features& a, const Features& b) {
    double sum = 0;
    for (std::size_t f = 0; f < kFeatures; ++f) sum += (a[f] - b[f]) * (a[f] - b[f]);
    return sum;
}

class KMeans {
public:
    KMeans(std::span<const Features> points, std::span<const double> weights, std::uint32_t k, std::uint64_t seed)
        : points_(points), weights_(weights), rng_(seed), cluster_(points.size()) {
        centres_.reserve(k);
        start(k);
        for (std::uint32_t round = 0; round < 25 && assign(); ++round) move();
    }
    double scatter() const {
        double sum = 0;
        for (std::size_t p = 0; p < points_.size(); ++p) sum += weights_[p] * distance(points_[p], centres_[cluster_[p]]);
        return sum;
    }
    const std::vector<std::uint32_t>& cluster() const { return cluster_; }

private:
    double uniform() { return static_cast<double>(rng_.next() >> 11) * 0x1p-53; }

    /// k-means++ (Arthur and Vassilvitskii, SODA 2007): far points are likely to become centres.
    void start(std::uint32_t k) {
        std::vector<double> nearest(points_.size(), 1);
        while (centres_.size() < k) {
            double sum = 0;
            for (std::size_t p = 0; p < points_.size(); ++p) sum += weights_[p] * nearest[p];
            if (sum <= 0) break;
            double target = uniform() * sum;
            std::size_t chosen = points_.size() - 1;
            for (std::size_t p = 0; p < points_.size(); ++p) {
                target -= weights_[p] * nearest[p];
                if (target < 0) {
                    chosen = p;
                    break;
                }
            }
            centres_.push_back(points_[chosen]);
            for (std::size_t p = 0; p < points_.size(); ++p) {
                const double d = distance(points_[p], centres_.back());
                nearest[p] = centres_.size() == 1 ? d : std::min(nearest[p], d);
            }
        }
    }
    bool assign() {
        bool changed = false;
        for (std::size_t p = 0; p < points_.size(); ++p) {
            std::uint32_t best = 0;
            double least = distance(points_[p], centres_[0]);
            for (std::uint32_t c = 1; c < centres_.size(); ++c) {
                const double d = distance(points_[p], centres_[c]);
                if (d < least) {
                    least = d;
                    best = c;
                }
            }
            changed |= cluster_[p] != best;
            cluster_[p] = best;
        }
        return changed;
    }
    void move() {
        std::vector<Features> sums(centres_.size(), Features{});
        std::vector<double> counts(centres_.size(), 0);
        for (std::size_t p = 0; p < points_.size(); ++p) {
            for (std::size_t f = 0; f < kFeatures; ++f) sums[cluster_[p]][f] += weights_[p] * points_[p][f];
            counts[cluster_[p]] += weights_[p];
        }
        for (std::size_t c = 0; c < centres_.size(); ++c) {
            for (std::size_t f = 0; counts[c] != 0 && f < kFeatures; ++f) centres_[c][f] = sums[c][f] / counts[c];
        }
    }

    std::span<const Features> points_;
    std::span<const double> weights_;
    Rng rng_;
    std::vector<Features> centres_;
    std::vector<std::uint32_t> cluster_;
};

/// Points that occur often are looked at once.
struct Distinct {
    explicit Distinct(std::span<const Features> all) : of(all.size()) {
        std::map<Features, std::uint32_t> known;
        for (std::size_t p = 0; p < all.size(); ++p) {
            const auto [at, is_new] = known.try_emplace(all[p], static_cast<std::uint32_t>(points.size()));
            if (is_new) {
                points.push_back(all[p]);
                weights.push_back(0);
            }
            of[p] = at->second;
            ++weights[at->second];
        }
    }
    std::vector<Features> points;
    std::vector<double> weights;
    std::vector<std::uint32_t> of;
};

Strata in_order(const std::vector<std::uint32_t>& launches, const std::vector<std::uint32_t>& cluster) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (std::size_t i = 0; i < launches.size(); ++i) groups[cluster[i]].push_back(launches[i]);
    Strata strata;
    for (auto& [number, members] : groups) strata.push_back(std::move(members));
    return strata;
}

void sort_by_first(Strata& strata) {
    std::sort(strata.begin(), strata.end(), [](const auto& a, const auto& b) { return a.front() < b.front(); });
}

/// Launches of each kernel, by name and block.
std::vector<std::vector<std::uint32_t>> by_kernel(std::span<const Signature> launches, bool with_block) {
    std::map<std::pair<std::string_view, std::uint64_t>, std::vector<std::uint32_t>> kernels;
    for (std::uint32_t i = 0; i < launches.size(); ++i)
        kernels[{launches[i].kernel, with_block ? launches[i].block.count() : 0}].push_back(i);
    std::vector<std::vector<std::uint32_t>> list;
    for (auto& [name, members] : kernels) list.push_back(std::move(members));
    return list;
}

/// Few clusters that leave at most `allowed` of the scatter.
std::vector<std::uint32_t> fewest_clusters(std::span<const Features> points, std::size_t most, double allowed, std::uint64_t seed) {
    std::vector<std::uint32_t> cluster(points.size(), 0);
    for (std::uint32_t k = 1; k <= most; k += 1 + k / 4) {
        cluster = k_means(points, k, seed);
        if (scatter(points, cluster) <= allowed) break;
    }
    return cluster;
}

}  // namespace

Features features_of(const Signature& s) {
    Features list{};
    std::size_t at = 0;
    const auto put = [&](double value) { list[at++] = value; };
    put(log2_of(s.ctas()));
    put(log2_of(s.block.count()));
    put(log2_of(s.warp_instructions));
    put(log2_of(s.lines()));
    put(log2_of(s.footprint.lines()));
    put(share(s.thread_instructions, s.warp_instructions * kWarpLanes));
    for (const std::uint64_t count : s.mix) put(share(count, s.warp_instructions));
    for (const Signature::Access& access : s.access) {
        put(share(access.lines, s.lines()));
        put(share(access.lines, access.accesses) / kWarpLanes);
        put(share(access.sectors, access.lines * 4));
    }
    const std::uint64_t sampled = std::accumulate(s.reuse.begin(), s.reuse.end(), std::uint64_t{0});
    for (std::size_t b = 4; b < s.reuse.size(); ++b) put(share(s.reuse[b], sampled));
    return list;
}

std::vector<std::uint32_t> k_means(std::span<const Features> points, std::uint32_t k, std::uint64_t seed) {
    constexpr std::uint32_t kStarts = 3;
    const Distinct distinct(points);
    std::vector<std::uint32_t> best;
    double least = 0;
    for (std::uint32_t start = 0; start < kStarts; ++start) {
        const KMeans tried(distinct.points, distinct.weights, k, seed + start);
        if (const double scatter = tried.scatter(); start == 0 || scatter < least) {
            least = scatter;
            best = tried.cluster();
        }
    }
    std::vector<std::uint32_t> cluster(points.size());
    for (std::size_t p = 0; p < points.size(); ++p) cluster[p] = best[distinct.of[p]];
    return cluster;
}

double scatter(std::span<const Features> points, std::span<const std::uint32_t> cluster) {
    std::map<std::uint32_t, std::pair<Features, double>> centres;
    for (std::size_t p = 0; p < points.size(); ++p) {
        auto& [sum, count] = centres[cluster[p]];
        for (std::size_t f = 0; f < kFeatures; ++f) sum[f] += points[p][f];
        ++count;
    }
    for (auto& [number, centre] : centres) {
        for (double& value : centre.first) value /= centre.second;
    }
    double all = 0;
    for (std::size_t p = 0; p < points.size(); ++p) all += distance(points[p], centres[cluster[p]].first);
    return all;
}

/// Cuts a stratum wherever its launches, ordered by what they miss, begin to miss much more.
void cut_by_misses(std::vector<std::uint32_t> members, std::span<const Signature> launches, std::span<const std::uint64_t> missed,
                   Strata& strata) {
    constexpr double kMuch = 1.25;
    constexpr double kSmallShare = 0.02;  // of the lines accessed: so few misses are no difference
    std::stable_sort(members.begin(), members.end(), [&](std::uint32_t a, std::uint32_t b) { return missed[a] < missed[b]; });
    double least = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
        const std::uint32_t launch = members[m];
        const double misses = static_cast<double>(missed[launch]) + kSmallShare * static_cast<double>(launches[launch].lines());
        if (m == 0 || misses > kMuch * least) {
            strata.emplace_back();
            least = misses;
        }
        strata.back().push_back(launch);
    }
}

Strata stratify(std::span<const Signature> launches, std::span<const std::uint64_t> missed, std::uint64_t seed) {
    Strata strata;
    for (const std::vector<std::uint32_t>& members : by_kernel(launches, true)) {
        std::vector<Features> points;
        for (const std::uint32_t launch : members) points.push_back(features_of(launches[launch]));
        const std::vector<std::uint32_t> one(points.size(), 0);
        const double tight = kTight * kTight * static_cast<double>(points.size());
        const double allowed = std::max(tight, (1 - kExplained) * scatter(points, one));
        const std::size_t most = std::clamp<std::size_t>(members.size() / kLaunchesPerStratum, 1, kMostPerKernel);
        for (auto& stratum : in_order(members, fewest_clusters(points, most, allowed, seed)))
            cut_by_misses(std::move(stratum), launches, missed, strata);
    }
    for (std::vector<std::uint32_t>& stratum : strata) std::sort(stratum.begin(), stratum.end());
    sort_by_first(strata);
    return strata;
}

Strata pka_clusters(std::span<const Signature> launches, std::uint64_t seed) {
    constexpr std::size_t kMost = 20;  // as in the paper
    constexpr double kOfVariance = 0.90;
    std::vector<Features> points;
    for (const Signature& launch : launches) points.push_back(features_of(launch));
    for (std::size_t f = 0; f < kFeatures; ++f) {
        double sum = 0, squares = 0;
        for (const Features& point : points) sum += point[f];
        const double mean = sum / static_cast<double>(points.size());
        for (const Features& point : points) squares += (point[f] - mean) * (point[f] - mean);
        const double deviation = std::sqrt(squares / static_cast<double>(points.size()));
        for (Features& point : points) point[f] = deviation > 0 ? (point[f] - mean) / deviation : 0;
    }
    const std::vector<std::uint32_t> one(points.size(), 0);
    std::vector<std::uint32_t> all(points.size());
    std::iota(all.begin(), all.end(), 0u);
    Strata strata = in_order(all, fewest_clusters(points, std::min(kMost, points.size()), (1 - kOfVariance) * scatter(points, one), seed));
    sort_by_first(strata);
    return strata;
}

Strata sieve_strata(std::span<const Signature> launches) {
    constexpr double kMostVariation = 0.4;  // coefficient of variation, as in the paper
    Strata strata;
    for (std::vector<std::uint32_t>& members : by_kernel(launches, false)) {
        // Cut where counts grow so much that a stratum would vary too much. The paper cuts at minima of a density estimate.
        std::stable_sort(members.begin(), members.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return launches[a].warp_instructions < launches[b].warp_instructions; });
        for (std::size_t begin = 0; begin < members.size();) {
            double count = 0, sum = 0, squares = 0;
            std::size_t end = begin;
            for (; end < members.size(); ++end) {
                const auto instructions = static_cast<double>(launches[members[end]].warp_instructions);
                ++count;
                sum += instructions;
                squares += instructions * instructions;
                if (squares / count - sum / count * (sum / count) >= kMostVariation * kMostVariation * (sum / count) * (sum / count) &&
                    end != begin)
                    break;
            }
            strata.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(begin), members.begin() + static_cast<std::ptrdiff_t>(end));
            std::sort(strata.back().begin(), strata.back().end());
            begin = end;
        }
    }
    sort_by_first(strata);
    return strata;
}

std::uint32_t sieve_representative(std::span<const Signature> launches, std::span<const std::uint32_t> stratum) {
    std::map<std::uint64_t, std::uint32_t> frequency;
    for (const std::uint32_t launch : stratum) ++frequency[launches[launch].block.count()];
    const auto most =
        std::max_element(frequency.begin(), frequency.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return *std::find_if(stratum.begin(), stratum.end(),
                         [&](std::uint32_t launch) { return launches[launch].block.count() == most->first; });
}

}  // namespace mergelane::sampling
