// SPDX-License-Identifier: MIT
// One benchmark at one size: seeded inputs, the host program that launches its kernels, and verification against a CPU reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.hpp"
#include "workload/suite/device.hpp"

namespace mergelane::suite {

enum class Size : std::uint8_t {
    tiny,   ///< seconds in tests
    paper,  ///< at least four waves of CTAs on 60 to 80 SMs where the algorithm has them
    large   ///< several times that
};

/// Whether the device computed the correct result.
struct Verdict {
    bool correct = true;
    std::uint64_t compared = 0;  ///< values
    double worst = 0;            ///< largest error, as a fraction of what is tolerated
    std::string problem;         ///< the first wrong value, empty when correct

    /// Both must be correct.
    Verdict& operator&=(const Verdict& other);
};

class Problem {
public:
    virtual ~Problem() = default;
    /// The host program: uploads inputs, launches kernels, keeps the results.
    virtual void run(Device& device) = 0;
    /// Compares the results of the last run with a reference computed on the CPU.
    virtual Verdict verify() const = 0;
};

using MakeProblem = std::unique_ptr<Problem> (*)(Size size, std::uint64_t seed);

/// |got - want| <= absolute + relative * |want|, for every value.
Verdict compare(std::string_view what, const std::vector<float>& got, const std::vector<double>& want, double relative, double absolute);

template <class T>
Verdict compare_exact(std::string_view what, const std::vector<T>& got, const std::vector<T>& want) {
    Verdict verdict;
    verdict.compared = want.size();
    verdict.correct = got.size() == want.size();
    if (!verdict.correct) verdict.problem = std::string(what) + ": wrong number of values";
    for (std::size_t i = 0; verdict.correct && i < want.size(); ++i) {
        if (got[i] == want[i]) continue;
        verdict.correct = false;
        verdict.problem =
            std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", should be " + std::to_string(want[i]);
    }
    return verdict;
}

/// One of three values.
template <class T>
constexpr T by_size(Size size, T tiny, T paper, T large) {
    return size == Size::tiny ? tiny : size == Size::paper ? paper : large;
}

/// `count` multiples of (high - low) / 65536, the same on every host: the arithmetic is exact up to the last addition.
std::vector<float> random_floats(Rng& rng, std::size_t count, float low = 0.0f, float high = 1.0f);

constexpr std::uint32_t ceil_div(std::uint32_t value, std::uint32_t by) {
    return (value + by - 1) / by;
}

}  // namespace mergelane::suite
