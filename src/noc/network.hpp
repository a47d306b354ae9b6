// SPDX-License-Identifier: MIT
// A network transports packets from its sources to its sinks: each to the sink whose number is the packet's destination. The network kind
// determines its components and links. All are added to the machine's wiring; neighbours see only the links at the edge.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.hpp"
#include "core/policies.hpp"
#include "core/structure.hpp"
#include "core/wiring.hpp"
#include "noc/noc_spec.hpp"
#include "parts/network.hpp"

namespace mergelane {

class DramRows;
class TrafficMap;

/// What a network kind needs to build a network.
struct NetworkBuild {
    Wiring& wiring;
    Domain& domain;  ///< on the network's clock; a kind may create more
    const NetworkSpec& spec;
    std::string prefix;  ///< of the names of its components
    NetworkSide sources;
    NetworkSide sinks;
    const DramRows* rows = nullptr;  ///< the DRAM rows that requests access

    /// Creates a component of the network from its name ("request_" and `what`) and further arguments.
    template <class C, class... Args>
    C& add(std::string_view what, Args&&... args) const {
        return wiring.add<C>(domain, spec.station(), prefix + spec.short_name() + "_" + std::string(what), std::forward<Args>(args)...);
    }
    Link<Packet>& from_source(std::size_t source, Component& to) const;
    Link<Packet>& to_sink(Component& from, std::size_t sink) const;
    /// Creates a link between two of its components, with credits in flits, since a packet keeps its length; the boundary is the network's
    /// name.
    Link<Packet>& inside(Component& from, Component& to) const;
};

/// Of a kind that can have nodes in rows, each of them a source and a sink: how `bench network` builds it and what to expect of it.
struct GridTraits {
    NetworkPorts (*build)(const NetworkBuild& build, std::uint32_t width, std::uint32_t height, const Sections& sections);
    double (*bound)(const TrafficMap& map, const Sections& sections);  ///< flits per node and cycle that it can carry at most
    std::uint32_t (*hop_cycles)(const Sections& sections);             ///< of a packet that meets nobody, from node to node
    std::string (*description)(std::uint32_t width, std::uint32_t height, const Sections& sections);
};

/// What a machine needs to know of a kind of network. `ends`: sources and sinks of one network, as if it were one crossbar.
struct NetworkTraits {
    using Crossbars = std::function<std::vector<CrossbarSet>(const CrossbarSet& ends, const Sections&)>;
    using Description = std::function<std::string(const CrossbarSet& ends, const Sections&)>;

    /// Network cycles on the links at its edge: all that a crossbar takes, but routers may take time of their own.
    Stated<std::function<std::uint32_t(const NocSpec&, const Sections&)>> edge_cycles;
    Stated<bool> one_clock;                                     ///< whatever it connects must have the network's clock
    Stated<bool> has_routers;                                   ///< that can have units of their own
    Stated<bool> counts_ports;                                  ///< its busiest ones, for noc.meter
    Stated<std::function<bool(const Sections&)>> shares_wires;  ///< requests and replies take the same; nullptr: never
    Stated<Crossbars> crossbars;                                ///< for energy and area; nullptr: no estimate
    Stated<Description> description;                            ///< for people: "12 x 12 crossbar"
    Stated<const GridTraits*> grid;                             ///< nullptr: only sources and sinks apart
};

/// The components of a network together count, under spec.name ("noc.request"): `packets_in` (accepted from a source's link), `packets` and
/// `flits` (delivered to a sink's link), `read_packets`, `multi_flit_packets` and `wait`. They have the gauge `held`: packets inside,
/// including those on links between its components. Invariants use these. Crossbars provide them, given their stage (CrossbarStage).
/// Components tell their NetworkObservers (core/meter.hpp) of every packet that crosses a port, and append their statistics.
struct NetworkKind {
    static constexpr std::string_view kKind = "network kind";
    using Traits = NetworkTraits;
    using Maker = std::function<NetworkPorts(const NetworkBuild&, const Sections&)>;
};

void add_network_kinds(Registry& registry);
/// Builds a network of the kind named in its specification; throws InputError if there is none.
NetworkPorts build_network(const NetworkBuild& build, const Policies& policies = policies_of<add_network_kinds>());

}  // namespace mergelane
