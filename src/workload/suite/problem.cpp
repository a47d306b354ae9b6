// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mergelane::suite {

Verdict& Verdict::operator&=(const Verdict& other) {
    if (correct) problem = other.problem;
    correct = correct && other.correct;
    compared += other.compared;
    worst = std::max(worst, other.worst);
    return *this;
}

Verdict compare(std::string_view what, const std::vector<float>& got, const std::vector<double>& want, double relative, double absolute) {
    Verdict verdict;
    verdict.compared = want.size();
    if (got.size() != want.size()) {
        verdict.correct = false;
        verdict.problem = fmt::format("{} has {} values, should have {}", what, got.size(), want.size());
        return verdict;
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double value = got[i];
        const double allowed = absolute + relative * std::abs(want[i]);
        const double error = std::abs(value - want[i]);
        verdict.worst = std::max(verdict.worst, error / allowed);
        if (error <= allowed) continue;  // false for NaN
        if (verdict.correct) verdict.problem = fmt::format("{}[{}] is {}, should be {}", what, i, value, want[i]);
        verdict.correct = false;
    }
    return verdict;
}

std::vector<float> random_floats(Rng& rng, std::size_t count, float low, float high) {
    const float step = (high - low) / 65536.0f;
    std::vector<float> values(count);
    for (float& value : values) value = low + static_cast<float>(rng.next() >> 48) * step;
    return values;
}

}  // namespace mergelane::suite
