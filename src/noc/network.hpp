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
#include "core/wiring.hpp"
#include "noc/noc_spec.hpp"
#include "parts/network.hpp"

namespace mergelane {

class DramRows;

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

/// The components of a network together count, under spec.name ("noc.request"): `packets_in` (accepted from a source's link), `packets` and
/// `flits` (delivered to a sink's link), `read_packets`, `multi_flit_packets` and `wait`. They have the gauge `held`: packets inside,
/// including those on links between its components. Invariants use these. Crossbars provide them, given their stage (CrossbarStage). With
/// noc.meter also `busiest_input` and `busiest_output`: the flits of the busiest source and sink.
struct NetworkKind {
    static constexpr std::string_view kKind = "network kind";
    using Maker = std::function<NetworkPorts(const NetworkBuild&, const Sections&)>;
};

void add_network_kinds(Registry& registry);
/// Builds a network of the kind named in its specification; throws InputError if there is none.
NetworkPorts build_network(const NetworkBuild& build, const Policies& policies = policies_of<add_network_kinds>());

}  // namespace mergelane
