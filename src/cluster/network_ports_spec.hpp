// SPDX-License-Identifier: MIT
// cluster.network_ports: how many ports of the networks an SM cluster has.
#pragma once

#include "core/section.hpp"

namespace mergelane {

/// SM n of a cluster uses port n mod ports. What the SMs share is then only the port's bus and its units.
struct NetworkPortsSpec final : SectionOf<NetworkPortsSpec> {
    std::uint32_t ports = 1;

    void fields(SpecFields& f) override;
    bool enabled() const override { return ports != 1; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
};

}  // namespace mergelane
