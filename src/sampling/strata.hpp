// SPDX-License-Identifier: MIT
// Divides the launches of a workload into strata of similar ones, by their signatures.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/signature.hpp"

namespace mergelane::sampling {

/// Launches of each stratum in the order of time. Strata are in the order of their first launches.
using Strata = std::vector<std::vector<std::uint32_t>>;

inline constexpr std::size_t kFeatures = 34;
using Features = std::array<double, kFeatures>;

/// Sizes as logarithms to base 2, everything else as shares. A difference of 1 is large.
Features features_of(const Signature& signature);

/// Assigns each point to one of k clusters: k-means++ and Lloyd's algorithm, the best of a few starts. Equal inputs give equal clusters.
std::vector<std::uint32_t> k_means(std::span<const Features> points, std::uint32_t k, std::uint64_t seed);
/// Sum of the squared distances from the centres of the clusters.
double scatter(std::span<const Features> points, std::span<const std::uint32_t> cluster);

/// By kernel, then by k-means within the kernel: as many strata as explain most of the variance, as long as strata are large enough to be
/// sampled. Launches that miss much more in the L2 than others of their stratum, such as the first ones, get a stratum of their own.
/// `missed`: sectors of each launch that a warmed L2 does not hold.
Strata stratify(std::span<const Signature> launches, std::span<const std::uint64_t> missed, std::uint64_t seed);

/// Like Principal Kernel Analysis (Avalos Baddouh et al., MICRO 2021): k-means over all launches with standardised features. The paper
/// takes the number of clusters that predicts the time measured on silicon; here it is the one that explains most of the variance.
Strata pka_clusters(std::span<const Signature> launches, std::uint64_t seed);

/// Like Sieve (Naderan-Tahan et al., ISPASS 2023): by kernel; launches whose instruction counts vary much are divided by that count.
Strata sieve_strata(std::span<const Signature> launches);
/// The launch that stands for a stratum in Sieve: the first one with the most frequent CTA size.
std::uint32_t sieve_representative(std::span<const Signature> launches, std::span<const std::uint32_t> stratum);

}  // namespace mergelane::sampling
