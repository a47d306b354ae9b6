// SPDX-License-Identifier: MIT
#pragma once

#include "core/fields.hpp"
#include "core/law_book.hpp"
#include "core/section.hpp"

namespace mergelane {

struct ClusterSpec {
    std::uint32_t injection_buffer = 8;
    std::uint32_t response_fifo = 8;

    void fields(SpecFields& f);
    void laws(LawBook& book) const;
};

/// SM clusters of unequal size, such as the GPCs of a GPU with disabled SMs. 0: all have gpu.sms_per_cluster.
struct ClusterSizesSpec final : SectionOf<ClusterSizesSpec> {
    std::vector<std::uint32_t> sizes = {0};

    void fields(SpecFields& f) override;
    bool enabled() const override { return sizes != std::vector<std::uint32_t>{0}; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    /// Number of the first SM of each cluster, and the number of SMs; empty if all clusters have the same size.
    std::vector<std::uint32_t> first_sms() const;
};

/// How many packets the port of an SM cluster moves per cycle in each direction.
struct ClusterWidthSpec final : SectionOf<ClusterWidthSpec> {
    std::uint32_t packets_per_cycle = 1;

    void fields(SpecFields& f) override;
    bool enabled() const override { return packets_per_cycle != 1; }
};

}  // namespace mergelane
