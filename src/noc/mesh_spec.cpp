// SPDX-License-Identifier: MIT
#include "noc/mesh_spec.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/error.hpp"
#include "core/result.hpp"
#include "parts/fabric.hpp"

namespace mergelane {

void MeshSpec::fields(SpecFields& f) {
    f.section("noc.mesh");
    f.belongs_to("noc.kind", {"mesh"});
    f.integer("width", width, 0, 64, "routers", "routers per row; 0: the smallest nearly square mesh with a router for every node");
    f.integer("height", height, 0, 64, "routers", "rows of the mesh; 0: as many as required");
    f.text("memory_nodes", memory_nodes, "routers",
           "placement of the L2 slices: \"even\", or a list of routers, numbered row by row, as in \"3,7,10\"");
    f.text("cluster_nodes", cluster_nodes, "routers",
           "placement of the SM clusters: \"rest\", in order on the remaining routers, or a list of routers");
    f.integer("virtual_channels", virtual_channels, 1, 8, "channels",
              "virtual channels per router port; with noc.mesh.shared, half of them for requests");
    f.integer("buffer_flits", buffer_flits, 1, 64, "flits", "buffer size of a virtual channel");
    f.enumeration("routing", routing, {"xy", "yx"}, "dimension-order routing: x first (along the row), or y first");
    f.boolean("shared", shared, "one network for requests and replies, with separate virtual channels");
    f.integer("router_latency", router_latency, 2, 64, "network cycles",
              "router pipeline: buffer write, route computation, VC allocation, switch allocation");
    f.integer("link_latency", link_latency, 1, 64, "network cycles", "link traversal to the next router");
    f.integer("credit_latency", credit_latency, 2, 64, "network cycles",
              "credit round trip: from a flit leaving a buffer until its space can be reused");
}

namespace {

std::vector<std::uint16_t> listed(const std::string& key, const std::string& text, std::uint32_t routers) {
    std::vector<std::uint16_t> list;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t digit = text.find_first_not_of(", ", at);
        if (digit == std::string::npos) break;
        std::uint32_t number = 0;
        const auto [end, error] = std::from_chars(text.data() + digit, text.data() + text.size(), number);
        at = static_cast<std::size_t>(end - text.data());
        if (error != std::errc{} || (at < text.size() && text[at] != ',' && text[at] != ' '))
            throw InputError(
                fmt::format("noc.mesh.{} = \"{}\" is not a list of routers; write numbers with commas, as in \"3,7,10\"", key, text));
        if (number >= routers)
            throw InputError(
                fmt::format("noc.mesh.{} lists router {}, but the mesh has routers 0 to {}; enlarge the mesh (noc.mesh.width, "
                            "noc.mesh.height) or use another router",
                            key, number, routers - 1));
        list.push_back(static_cast<std::uint16_t>(number));
    }
    return list;
}

/// Marks routers as taken; each has one node.
void take(const std::string& key, const std::vector<std::uint16_t>& list, std::uint32_t wanted, std::vector<bool>& taken) {
    if (list.size() != wanted)
        throw InputError(fmt::format("noc.mesh.{} lists {} routers for {} nodes; list one for each", key, list.size(), wanted));
    for (const std::uint16_t router : list) {
        if (taken[router]) throw InputError(fmt::format("noc.mesh.{} lists router {}, which already has a node; use another", key, router));
        taken[router] = true;
    }
}

}  // namespace

MeshLayout mesh_shape(const MeshSpec& spec, std::uint32_t nodes) {
    MeshLayout layout;
    const auto rows = [&](std::uint32_t width) { return (nodes + width - 1) / width; };
    layout.width = spec.width;
    layout.height = spec.height;
    if (spec.width == 0 && spec.height == 0)
        while (layout.width * layout.width < nodes) ++layout.width;
    else if (spec.width == 0)
        layout.width = rows(spec.height);
    if (spec.height == 0) layout.height = rows(layout.width);
    if (layout.routers() < nodes)
        throw InputError(
            fmt::format("a mesh of {} x {} routers has no space for {} nodes; raise noc.mesh.width or noc.mesh.height, or set both to 0",
                        layout.width, layout.height, nodes));
    if (layout.routers() > 4096)
        throw InputError(fmt::format("a mesh of {} x {} routers; at most 4096 are supported", layout.width, layout.height));
    return layout;
}

MeshLayout mesh_layout(const MeshSpec& spec, std::uint32_t clusters, std::uint32_t memories) {
    MeshLayout layout = mesh_shape(spec, clusters + memories);
    const std::uint32_t routers = layout.routers();
    std::vector<bool> taken(routers, false);
    if (spec.cluster_nodes != "rest") {
        layout.clusters = listed("cluster_nodes", spec.cluster_nodes, routers);
        take("cluster_nodes", layout.clusters, clusters, taken);
    }
    std::vector<std::uint16_t> left;
    for (std::uint32_t r = 0; r < routers; ++r) {
        if (!taken[r]) left.push_back(static_cast<std::uint16_t>(r));
    }
    if (spec.memory_nodes != "even") {
        layout.memories = listed("memory_nodes", spec.memory_nodes, routers);
    } else {
        // In the middle of equal intervals of the remaining routers.
        for (std::uint32_t m = 0; m < memories; ++m) layout.memories.push_back(left[(2 * m + 1) * left.size() / (2 * memories)]);
    }
    take("memory_nodes", layout.memories, memories, taken);
    for (std::uint32_t r = 0; r < routers && layout.clusters.size() < clusters; ++r) {
        if (!taken[r]) layout.clusters.push_back(static_cast<std::uint16_t>(r));
    }
    return layout;
}

void MeshSpec::check(const MachineFacts& machine, const Sections& others, Problems& problems) const {
    problems.require(!shared || virtual_channels >= 2, {"noc.mesh.virtual_channels", "noc.mesh.shared"},
                     "noc.mesh.shared requires noc.mesh.virtual_channels of at least 2: with one, requests can block the replies they "
                     "depend on (protocol deadlock); raise it, or set noc.mesh.shared = false");
    problems.require(!shared || fabric_of(others) == nullptr, {"noc.mesh.shared"},
                     "noc.mesh.shared requires a network that directly connects SM clusters and L2, but a mechanism adds nodes in between; "
                     "set it to false");
    if (fabric_of(others) != nullptr) return;  // its networks have other ends
    try {
        static_cast<void>(mesh_layout(*this, machine.clusters / machine.groups, machine.slices / machine.groups));
    } catch (const InputError& error) {
        problems.require(false, {"noc.mesh.width", "noc.mesh.height", "noc.mesh.memory_nodes", "noc.mesh.cluster_nodes"}, error.what());
    }
}

/// Every packet takes a shortest path.
void MeshSpec::laws(LawBook& book) const {
    if (!book.drained()) return;
    for (const std::string name : {"noc.request", "noc.reply"})
        book.balance(name + ".hops = routers on the shortest paths", book(name + ".hops"), book(name + ".shortest_hops"));
}

void MeshSpec::metrics(Metrics& m) const {
    for (const std::string name : {"noc.request", "noc.reply"}) {
        const std::string what = name.substr(4);
        m.add("Mesh", what + " hops", Metrics::ratio(m(name + ".hops"), m(name + ".packets")), "routers", "per packet");
        m.add("Mesh", what + " latency", Metrics::ratio(m(name + ".latency"), m(name + ".packets")), "network cycles",
              "from injection to the sink's link");
    }
}

}  // namespace mergelane
