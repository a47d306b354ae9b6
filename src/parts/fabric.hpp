// SPDX-License-Identifier: MIT
// What lies between the clusters' ports and the L2: a network for requests and one for replies, unless a mechanism has stations of its
// own in between. Such a mechanism declares itself by a section that builds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/policies.hpp"
#include "core/section.hpp"
#include "core/wiring.hpp"
#include "parts/address_map.hpp"
#include "parts/l1_spec.hpp"
#include "parts/network.hpp"
#include "parts/replication_meter.hpp"

namespace mergelane {

/// Engine units; of what every network of the machine shares, and of the links between a network and its neighbours.
struct FabricTiming {
    Clock core;
    Time unit = 1;  ///< engine units of a cycle at 1 MHz
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
    Time credit = 0;  ///< of the networks at the L2, as the next four
    Time request_in = 0, request_out = 0, reply_in = 0, reply_out = 0;
    std::uint32_t ports = 0;
    std::uint32_t l2_input = 0;  ///< room of the links to the L2, in packets
    std::uint32_t block_bytes = 128;
    Policies policies;
    ReplicationMeter* meter = nullptr;  ///< wants to see its caches, if there is one
    Network network;                    ///< builds one of the kind its specification names
};

/// Links that the neighbours get.
struct FabricPorts {
    std::vector<Link<Packet>*> from_ports, to_ports;    ///< of the clusters
    std::vector<Link<Packet>*> to_slices, from_slices;  ///< of the L2
};

class Fabric {
public:
    virtual ~Fabric() = default;
    virtual FabricPorts connect(const std::vector<Component*>& ports, const std::vector<Component*>& slices) = 0;
    /// Everything of the previous kernel has been answered.
    virtual void begin_kernel() {}
};

/// The section that declares one: struct MySpec : FabricSpec<MySpec> { ... };
class FabricSection : public Section {
public:
    virtual std::unique_ptr<Fabric> make(const FabricBuild& build) const = 0;
    /// For people, as the networks are described: "40 nodes in 10 clusters, ...".
    virtual std::string description() const = 0;
    /// Clocks that the machine would not have otherwise.
    virtual std::vector<std::uint32_t> clocks_mhz() const { return {}; }
    /// Time that every request spends here instead of in the L2's pipeline, so that windows can be longer.
    virtual Time borrowed_from_l2(const FabricTiming& timing) const = 0;
    /// The shortest latency of a link that leaves a domain.
    virtual Time shortest_link(const FabricTiming& timing) const = 0;
    /// The first-level caches it has instead of the SMs', and how many; 0: SMs keep theirs.
    virtual L1Spec cache(const L1Spec& l1, std::uint32_t ports) const = 0;
    virtual std::uint32_t caches() const = 0;
    /// How the clusters' ports count flits, and which number their requests go to.
    virtual PacketSizes port_sizes(std::uint32_t block_bytes) const = 0;
    virtual AddressMap port_map(const AddressMap& to_slices, std::uint32_t ports) const = 0;
};

template <class T>
class FabricSpec : public FabricSection {
public:
    std::unique_ptr<Section> clone() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

/// The one that is switched on; nullptr: none, requests and replies have a network each.
const FabricSection* fabric_of(const Sections& sections);

}  // namespace mergelane
