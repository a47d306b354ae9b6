// SPDX-License-Identifier: MIT
// The [noc.mesh] section of a configuration: routers, links, and the placement of nodes.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/section.hpp"

namespace mergelane {

struct MeshSpec final : SectionOf<MeshSpec> {
    enum class Routing : std::uint8_t { xy, yx };

    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::string memory_nodes = "even";
    std::string cluster_nodes = "rest";
    std::uint32_t virtual_channels = 4;
    std::uint32_t buffer_flits = 8;
    Routing routing = Routing::xy;
    bool shared = false;
    std::uint32_t router_latency = 4;
    std::uint32_t link_latency = 1;
    std::uint32_t credit_latency = 2;

    void fields(SpecFields& f) override;
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;

    /// Zero-load latency of a head flit from a router's buffer to the next router's, or to its sink.
    std::uint32_t hop_cycles() const { return router_latency + link_latency; }
};

/// Routers are numbered row by row, from the north-west corner.
struct MeshLayout {
    std::uint32_t width = 1;
    std::uint32_t height = 1;
    std::vector<std::uint16_t> clusters;  ///< router of each
    std::vector<std::uint16_t> memories;

    std::uint32_t routers() const { return width * height; }
};

/// As the registry has it.
struct NetworkTraits;
NetworkTraits mesh_traits();

/// Throws InputError if there are fewer routers than nodes.
MeshLayout mesh_shape(const MeshSpec& spec, std::uint32_t nodes);  ///< width and height alone
MeshLayout mesh_layout(const MeshSpec& spec, std::uint32_t clusters, std::uint32_t memories);

}  // namespace mergelane
