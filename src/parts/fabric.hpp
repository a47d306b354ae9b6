// SPDX-License-Identifier: MIT
// The fabric between cluster ports and L2: a request network and a reply network, unless a mechanism places its own stages in between. Such
// a mechanism declares itself with a section that builds them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/meter.hpp"
#include "core/policies.hpp"
#include "core/wiring.hpp"
#include "parts/address_map.hpp"
#include "parts/l1_spec.hpp"
#include "parts/network.hpp"

namespace mergelane {

/// Latencies in engine units: those shared by all networks of the machine, and those of the links between a network and its neighbours.
struct FabricTiming {
    Clock core;
    Time unit = 1;  ///< engine units per cycle at 1 MHz
    Time injection = 0;
    Time ejection = 0;
    std::uint32_t traversal_cycles = 1;
    std::uint32_t credit_cycles = 1;

    Clock clock_of(std::uint32_t mhz) const { return {static_cast<std::uint32_t>(unit / mhz)}; }
};

/// What a fabric is built from. Everything outlives it.
struct FabricBuild {
    using Network =
        std::function<NetworkPorts(Domain&, const NetworkSpec&, const std::string& prefix, NetworkSide sources, NetworkSide sinks)>;

    Wiring& wiring;
    const std::string& prefix;  ///< of the names of its components
    const AddressMap& map;
    const L1Spec& l1;
    const NetworkSpec& request;  ///< at the L2
    const NetworkSpec& reply;
    FabricTiming timing;
    Time credit = 0;  ///< of the networks at the L2, as are the next four
    Time request_in = 0, request_out = 0, reply_in = 0, reply_out = 0;
    std::uint32_t ports = 0;
    std::uint32_t sms = 0;       ///< that share these ports
    std::uint32_t l2_input = 0;  ///< capacity of the links to the L2, in packets
    std::uint32_t block_bytes = 128;
    Policies policies;
    std::vector<L1Meter*> meters;  ///< observe its caches
    Network network;               ///< builds a network of the kind named in its specification
};

/// Links for the neighbours of the fabric.
struct FabricPorts {
    std::vector<Link<Packet>*> from_ports, to_ports;    ///< of the clusters
    std::vector<Link<Packet>*> to_slices, from_slices;  ///< of the L2
};

class Fabric {
public:
    virtual ~Fabric() = default;
    virtual FabricPorts connect(const std::vector<Component*>& ports, const std::vector<Component*>& slices) = 0;
    /// All requests of the previous kernel have been answered.
    virtual void begin_kernel() {}
};

/// The section that declares a fabric: struct MySpec : FabricSpec<MySpec> { ... };
class FabricSection : public Section {
public:
    virtual std::unique_ptr<Fabric> make(const FabricBuild& build) const = 0;
    /// For people, as the networks are described: "40 nodes in 10 clusters, ...".
    virtual std::string description() const = 0;
    /// Clocks that the machine would not have otherwise.
    virtual std::vector<std::uint32_t> clocks_mhz() const { return {}; }
    /// Latency that every request incurs here instead of in the L2 pipeline, so that windows can be longer.
    virtual Time borrowed_from_l2(const FabricTiming& timing) const = 0;
    /// The shortest latency of a link that leaves a domain.
    virtual Time shortest_link(const FabricTiming& timing) const = 0;
    /// The first-level caches that replace those of the SMs, and their number; 0: SMs keep theirs.
    virtual L1Spec cache(const L1Spec& l1, std::uint32_t sms) const = 0;
    virtual std::uint32_t caches() const = 0;
    /// How cluster ports count flits, and the destination numbers of their requests.
    virtual PacketSizes port_sizes(std::uint32_t block_bytes) const = 0;
    virtual AddressMap port_map(const AddressMap& to_slices, std::uint32_t ports) const = 0;
};

template <class T>
using FabricSpec = SectionOf<T, FabricSection>;

/// The enabled fabric; nullptr: one request network and one reply network.
inline const FabricSection* fabric_of(const Sections& sections) {
    const std::vector<const FabricSection*> fabrics = sections.enabled<FabricSection>();
    return fabrics.empty() ? nullptr : fabrics.front();
}

}  // namespace mergelane
