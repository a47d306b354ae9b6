// SPDX-License-Identifier: MIT
// What could be done about the order of a kernel's CTAs.
#pragma once

#include <string>
#include <vector>

#include "dispatch/task_mapping.hpp"
#include "profile/replay.hpp"

namespace mergelane {

struct Candidate {
    enum class How : std::uint8_t {
        as_it_is,
        order,  ///< CTA n does the n-th task of the order: CTAs that run at the same time share the L2
        agents  ///< neighbours in the order run on one SM: they share its L1
    };
    How how = How::as_it_is;
    TaskOrder::Kind kind = TaskOrder::Kind::rows;
    std::uint32_t tile = 1;    ///< of tiles and bands
    std::uint32_t agents = 0;  ///< that work on an SM; 0: as many as fit

    /// "agents by columns, 4 per SM".
    std::string name() const;
    /// Of the machine's configuration.
    std::vector<std::string> overrides() const;
    TaskOrder order_of(const Dim3& grid) const { return {grid, kind, tile}; }
    /// Who does what of a kernel, if `slots` of its CTAs fit on each of `sms`.
    std::unique_ptr<TaskSource> tasks(const Dim3& grid, std::uint32_t sms, std::uint32_t slots) const;
    /// CTAs of an SM that run at the same time.
    std::uint32_t resident(std::uint32_t slots) const;
    bool operator==(const Candidate&) const = default;
};

/// At most forty, the unchanged kernel first, all different for this grid.
std::vector<Candidate> candidates_for(const Dim3& grid, std::uint32_t slots);

}  // namespace mergelane
