// SPDX-License-Identifier: MIT
// A network takes packets from its sources to its sinks: to the one whose number is the packet's destination. Its kind says which
// components and links it is made of; all of them are added to the machine's wiring, and neighbours see only the links at the rim.
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

/// What a kind of network gets to build one.
struct NetworkBuild {
    Wiring& wiring;
    Domain& domain;  ///< on the network's clock; a kind may make further ones
    const NetworkSpec& spec;
    std::string prefix;  ///< of the names of its components
    NetworkSide sources;
    NetworkSide sinks;
    const DramRows* rows = nullptr;  ///< that requests are about in the end

    /// A component of the network, made from its name ("request_" and `what`) and further arguments.
    template <class C, class... Args>
    C& add(std::string_view what, Args&&... args) const {
        return wiring.add<C>(domain, spec.station(), prefix + spec.short_name() + "_" + std::string(what), std::forward<Args>(args)...);
    }
    Link<Packet>& from_source(std::size_t source, Component& to) const;
    Link<Packet>& to_sink(Component& from, std::size_t sink) const;
    /// Between two of its components: counted in flits, since the packet keeps its length; the boundary is the network's name.
    Link<Packet>& inside(Component& from, Component& to) const;
};

/// A kind's components together count, under spec.name ("noc.request"): `packets_in` (taken from a source's link), `packets` and `flits`
/// (handed to a sink's link), `read_packets`, `multi_flit_packets`, `wait`; and have the gauge `held`: packets inside, those on links
/// between its components included. Laws balance with them. Crossbars do so, told which stage of how many each is (CrossbarStage).
/// It tells its NetworkObservers (core/meter.hpp) of every packet that crosses a port, and appends their statistics.
struct NetworkKind {
    static constexpr std::string_view kKind = "network kind";
    using Maker = std::function<NetworkPorts(const NetworkBuild&, const Sections&)>;
};

void add_network_kinds(Registry& registry);
/// Of the kind its specification names; throws InputError if there is none.
NetworkPorts build_network(const NetworkBuild& build, const Policies& policies = policies_of<add_network_kinds>());

}  // namespace mergelane
