// SPDX-License-Identifier: MIT
// The [clustering] section: how kernels are transformed so that CTAs with common data run on one SM (dispatch.transform = "redirect",
// "agents").
#pragma once

#include <string>

#include "core/section.hpp"
#include "dispatch/task_mapping.hpp"

namespace mergelane {

struct ClusteringSpec : SectionOf<ClusteringSpec> {
    enum class AgentId : std::uint8_t { slot, atomic };

    TaskOrder::Kind order = TaskOrder::Kind::rows;
    std::uint32_t tile = 2;
    std::string table = "none";
    std::uint32_t clusters = 0;
    std::uint32_t agents = 0;
    AgentId agent_id = AgentId::slot;
    std::uint32_t cta_instructions = 12;
    std::uint32_t agent_instructions = 10;
    std::uint32_t task_instructions = 8;
    std::string bypass = "none";
    std::uint32_t prefetch = 0;

    void fields(SpecFields& f) override;
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    std::optional<Publication> publication() const override;

    TaskOrder order_of(const Dim3& grid) const { return {grid, order, tile, numbers()}; }

private:
    std::vector<std::uint64_t> numbers() const { return table == "none" ? std::vector<std::uint64_t>() : task_table(table); }
};

}  // namespace mergelane
