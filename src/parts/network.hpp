// SPDX-License-Identifier: MIT
// The external view of a network: its shape and the links at its edge. noc/ implements it.
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"

namespace mergelane {

/// What all networks of a machine have in common.
struct NetworkShape {
    enum class Queueing : std::uint8_t { fifo, voq };
    enum class Arbiter : std::uint8_t { round_robin, islip };

    std::string kind = "crossbar";
    std::uint32_t flit_bytes = 32;
    std::uint32_t header_bytes = 8;
    std::uint32_t input_buffer_flits = 32;
    Queueing queueing = Queueing::fifo;
    Arbiter arbiter = Arbiter::round_robin;
    std::uint32_t islip_iterations = 1;
    std::uint32_t stage_inputs = 8;
    std::uint32_t stage_links = 4;
};

/// One network, in one direction.
struct NetworkSpec : NetworkShape {
    std::string name = "noc.request";  ///< prefix of its statistics
    Clock clock;
    std::uint32_t hop_cycles = 1;  ///< between its own components, in cycles of its clock

    /// Its name in messages and component names: "request" of "noc.request".
    std::string short_name() const { return name.substr(name.rfind('.') + 1); }
    std::string station() const { return short_name() + " network"; }
    /// Its sources, not its sinks, are at the memory.
    bool brings_replies() const { return name.ends_with("reply"); }
    /// The length of a packet depends on the network: senders count flits with these sizes.
    PacketSizes sizes(std::uint32_t block_bytes) const { return {flit_bytes, header_bytes, block_bytes}; }
};

/// The components on one side of a network. Each has one link, all with the same parameters. A component with several ports is listed
/// several times.
struct NetworkSide {
    std::string boundary;  ///< the name of its links in invariants, for example "cluster -> request network"
    std::vector<Component*> components;
    std::uint32_t room = 0;  ///< capacity of each link: flits into the network, packets out of it
    Time forward = 0;
    Time credit = 0;
};

/// The links at the edge, for the neighbours.
struct NetworkPorts {
    std::vector<Link<Packet>*> from_sources;  ///< in the order of the sources
    std::vector<Link<Packet>*> to_sinks;
};

}  // namespace mergelane
