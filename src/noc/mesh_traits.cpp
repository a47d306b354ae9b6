// SPDX-License-Identifier: MIT
// Properties of a mesh that the machine, the energy model and `bench network` depend on.
#include <fmt/format.h>

#include <algorithm>

#include "noc/mesh.hpp"
#include "noc/traffic.hpp"

namespace mergelane {

namespace {

/// Every router has a source and a sink.
NetworkPorts build_grid(const NetworkBuild& build, std::uint32_t width, std::uint32_t height, const Sections& sections) {
    Mesh& mesh = build.add<Mesh>("mesh", sections.get<MeshSpec>(), width, height);
    NetworkPorts ports;
    std::vector<std::uint16_t> routers;
    for (std::uint32_t n = 0; n < mesh.routers(); ++n) {
        ports.from_sources.push_back(&build.from_source(n, mesh));
        ports.to_sinks.push_back(&build.to_sink(mesh, n));
        routers.push_back(static_cast<std::uint16_t>(n));
    }
    mesh.connect(build.spec.name, ports.from_sources, routers, ports.to_sinks, routers);
    return ports;
}

std::string describe(std::uint32_t width, std::uint32_t height, const Sections& sections) {
    const MeshSpec& mesh = sections.get<MeshSpec>();
    return fmt::format("mesh of {} x {} routers, {} virtual channels of {} flits, {} routing", width, height, mesh.virtual_channels,
                       mesh.buffer_flits, mesh.routing == MeshSpec::Routing::xy ? "XY" : "YX");
}

/// Every router is a five-port crossbar; a flit passes one per hop. Networks that share links account for half of the routers each.
std::vector<CrossbarSet> routers_of(const CrossbarSet& ends, const Sections& sections) {
    const MeshSpec& mesh = sections.get<MeshSpec>();
    const std::uint32_t routers = mesh_shape(mesh, ends.inputs + ends.outputs).routers() * ends.instances;
    CrossbarSet set = ends;
    set.statistics += ".routers";
    set.instances = std::max(1u, mesh.shared ? routers / 2 : routers);
    set.inputs = set.outputs = Mesh::kPorts;
    set.buffer_flits = mesh.virtual_channels * mesh.buffer_flits;
    return {set};
}

constexpr GridTraits kGrid = {
    build_grid, [](const TrafficMap& map, const Sections& sections) { return map.mesh_bound(sections.get<MeshSpec>().routing); },
    [](const Sections& sections) { return sections.get<MeshSpec>().hop_cycles(); }, describe};

}  // namespace

NetworkTraits mesh_traits() {
    return {.edge_cycles = [](const NocSpec&, const Sections&) { return 1u; },
            .one_clock = false,
            .has_routers = true,
            .counts_ports = true,
            .shares_wires = [](const Sections& sections) { return sections.get<MeshSpec>().shared; },
            .crossbars = routers_of,
            .description =
                [](const CrossbarSet& ends, const Sections& sections) {
                    const MeshLayout shape = mesh_shape(sections.get<MeshSpec>(), ends.inputs + ends.outputs);
                    return describe(shape.width, shape.height, sections);
                },
            .grid = &kGrid};
}

}  // namespace mergelane
