// SPDX-License-Identifier: MIT
// Rooflines of warp instructions: instructions per second over instructions per byte, for each level of the memory path.
#pragma once

#include <span>
#include <string>

#include "report/loose_json.hpp"

namespace mergelane::report {

struct Roof {
    std::string level;
    double bytes_per_second = 0;
};
struct RooflinePoint {
    std::string kernel, level;
    double per_byte = 0;    ///< warp instructions per byte
    double per_second = 0;  ///< warp instructions per second
    double share = 0;       ///< of the time of the run
};

/// As a Vega-Lite specification. `issue_rate`: warp instructions per second that all schedulers can issue. All values are positive.
Json roofline(std::span<const Roof> roofs, std::span<const RooflinePoint> points, double issue_rate);
std::string roofline_table(std::span<const Roof> roofs, std::span<const RooflinePoint> points, double issue_rate);

}  // namespace mergelane::report
