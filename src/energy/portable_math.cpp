// SPDX-License-Identifier: MIT
#include "energy/portable_math.hpp"

#include <cmath>

namespace mergelane {

namespace {
constexpr double kLn2 = 0.693147180559945309417;
}

double portable_log(double x) {
    // frexp and ldexp only move the binary point, so they are exact everywhere.
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    // ln m = 2 artanh s; |s| < 0.172, so 13 terms reach beyond double precision.
    const double s = (m - 1) / (m + 1);
    const double square = s * s;
    double sum = 0;
    for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
    return 2 * s * sum + exponent * kLn2;
}

double portable_exp(double x) {
    const double whole = std::floor(x / kLn2 + 0.5);
    const double rest = x - whole * kLn2;
    double sum = 1;
    for (int k = 18; k >= 1; --k) sum = 1 + sum * rest / k;
    return std::ldexp(sum, static_cast<int>(whole));
}

}  // namespace mergelane
