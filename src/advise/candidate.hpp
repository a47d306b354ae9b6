// SPDX-License-Identifier: MIT
// Candidate changes to the order of a kernel's CTAs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dispatch/task_mapping.hpp"
#include "profile/replay.hpp"

namespace mergelane {

struct Candidate {
    enum class How : std::uint8_t {
        as_it_is,
        order,  ///< CTA n does the n-th task of the order: concurrent CTAs share the L2
        agents  ///< neighbours in the order run on one SM and share its L1
    };
    How how = How::as_it_is;
    TaskOrder::Kind kind = TaskOrder::Kind::rows;
    std::uint32_t tile = 1;                                             ///< of tiles and bands
    std::uint32_t agents = 0;                                           ///< active agents per SM; 0: as many as fit
    std::shared_ptr<const std::vector<std::uint64_t>> table = nullptr;  ///< of kind table: CTAs in order
    std::vector<std::uint32_t> past_l1 = {};                            ///< loads (program counters) that bypass the L1

    const char* order() const;  ///< as in clustering.order
    bool tiled() const { return kind == TaskOrder::Kind::tiles || kind == TaskOrder::Kind::bands; }
    /// "agents by columns, 4 per SM".
    std::string name() const;
    /// "columns, 4/SM": short form for chart labels.
    std::string short_name() const;
    /// Overrides of the machine's configuration.
    std::vector<std::string> overrides() const;
    TaskOrder order_of(const Dim3& grid) const;
    /// The assignment of tasks of a kernel, if `slots` of its CTAs fit on each of `sms`.
    std::unique_ptr<TaskSource> tasks(const Dim3& grid, std::uint32_t sms, std::uint32_t slots) const;
    /// Concurrent CTAs per SM.
    std::uint32_t resident(std::uint32_t slots) const;
    bool operator==(const Candidate&) const = default;
};

/// At most 36, the unchanged kernel first, without duplicates for this grid.
std::vector<Candidate> candidates_for(const Dim3& grid, std::uint32_t slots);

/// Candidates whose loads may bypass the L1: the unchanged kernel, agents by rows and by columns. Three more, and one by table: forty.
bool may_go_past(const Candidate& candidate);

}  // namespace mergelane
