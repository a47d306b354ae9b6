// SPDX-License-Identifier: MIT
// How a planned run is sampled: the options of 'run --sample' that its result depends on (docs/sampling.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sampling/sampled_run.hpp"

namespace mergelane::study {

struct SampleChoice {
    double error = sampling::Options{}.error;
    std::uint64_t seed = sampling::Options{}.seed;
    sampling::Selection by = sampling::Selection::stratified;
    std::uint64_t segment = sampling::Options{}.segment_instructions;
};

inline constexpr std::uint64_t kMostSampleSeed = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kMostSegment = std::uint64_t{1} << 48;

/// One text for each choice, which is part of keys and records: "error=0.02 seed=1 by=stratified". An option that is added later is
/// written only if it is not at its default, so that keys stay.
std::string sample_text(const SampleChoice& choice);
/// Throws InputError for a text that sample_text() does not write.
SampleChoice parse_sample(const std::string& text);

/// "2%", "0.5 %" or "0.02"; nothing unless it is from 0.05% to 50%.
std::optional<double> relative_error(std::string_view text);

}  // namespace mergelane::study
