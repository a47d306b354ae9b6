// SPDX-License-Identifier: MIT
// What a machine did when, for the eye: CTAs and sampled requests on every SM, and the depth of queues. Kernels are in the result.
// Collected by sim/, drawn by report/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/types.hpp"

namespace mergelane {

struct Timeline {
    struct Cta {
        std::uint64_t number;
        Cycle start, end;
        std::uint32_t slot;
    };
    struct Step {
        Time until;
        std::uint8_t stage;  ///< of RunResult::stages
    };
    /// A load whose last value came from a request, from issue until the value is available. Its steps fill that time.
    struct Request {
        Time issued;
        std::uint64_t served_by;  ///< the request that brought the value, which several loads may have waited for
        std::uint32_t pc;
        std::uint16_t steps;
        std::uint8_t warp;
        bool merged;  ///< it waited for the request of another load
    };
    struct Sm {
        std::string name;
        std::vector<Cta> ctas;
        std::uint64_t ctas_left_out = 0;  ///< the last ones
        std::vector<Request> requests;
        std::vector<Step> steps;  ///< of all requests, one after the other
    };
    struct Gauge {
        std::string name;
        std::string unit;
    };

    std::vector<Sm> sms;
    std::uint32_t followed_one_of = 1;  ///< lines whose loads are followed
    std::uint32_t sampled_one_of = 1;   ///< requests for these lines that are listed
    Intervals intervals;
    std::vector<Gauge> gauges;
    std::vector<std::uint64_t> depths;  ///< of each gauge, at the end of each interval but the last
};

}  // namespace mergelane
