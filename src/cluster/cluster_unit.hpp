// SPDX-License-Identifier: MIT
// A unit at the cluster port. It sees every request and reply, and may merge them, answer them or only count them. A unit is declared by
// its configuration section, which creates one per cluster if it is enabled. Units are called in the order in which their sections were
// registered.
#pragma once

#include <memory>

#include "core/component.hpp"
#include "core/observers.hpp"
#include "core/packet.hpp"
#include "core/policies.hpp"

namespace mergelane {

class ClusterUnit {
public:
    virtual ~ClusterUnit() = default;

    /// All requests of the previous kernel have been answered.
    virtual void begin_kernel() {}

    // Requests, at most one per cycle.
    /// No request may cross the bus now. Checked again after each reply that was delivered.
    virtual bool stops_bus() const { return false; }
    /// An outgoing request, which the unit may modify. Returns false if the unit keeps it and will answer it.
    virtual bool request(Packet& /*packet*/, Cycle /*now*/) { return true; }

    // Replies, one at a time: begin, one copy per SM, end.
    /// Handles the next network reply. Returns the SMs that receive a copy, one bit each; 0: the unit does not handle it.
    virtual std::uint64_t begin_delivery(const Packet& /*reply*/) { return 0; }
    /// Called for the unit that returned SMs.
    virtual Packet copy_for(const Packet& reply, std::uint32_t /*sm*/) { return reply; }
    virtual void end_delivery(const Packet& /*reply*/, Cycle /*now*/) {}
    /// The unit's own next reply; these alternate with network replies.
    virtual const Packet* own_reply() const { return nullptr; }
    virtual void own_reply_sent() {}

    /// Declares the stages it notes in journeys of the requests it keeps.
    virtual void stages(Stages& /*out*/) {}
    /// Observer of the cluster's SMs, or nullptr.
    virtual SmObserver* sm_observer() { return nullptr; }
    virtual void stats(StatFields& out, Cycle now) const = 0;
    /// See Component::gauges.
    virtual void gauges(StatFields& /*out*/) const {}
};

/// What a unit is built from.
struct ClusterContext {
    std::uint32_t sms = 1;  ///< SMs in the cluster
    std::uint32_t block_bytes = 128;
    Policies policies;  ///< available policies, and the machine's sections
};

/// The section that declares a unit: struct MySpec : ClusterUnitSpec<MySpec> { ... };
class ClusterUnitSection : public Section {
public:
    virtual std::unique_ptr<ClusterUnit> make(const ClusterContext& context) const = 0;
    /// Core cycles that it adds to every request and reply.
    virtual std::uint32_t request_delay() const { return 0; }
    virtual std::uint32_t reply_delay() const { return 0; }
};

template <class T>
using ClusterUnitSpec = SectionOf<T, ClusterUnitSection>;

/// Total latency added by the enabled units.
struct ClusterDelay {
    std::uint32_t request = 0;
    std::uint32_t reply = 0;
};
ClusterDelay cluster_delay(const Sections& sections);
std::vector<std::unique_ptr<ClusterUnit>> make_cluster_units(const ClusterContext& context);

/// The built-in units.
void add_cluster_units(Registry& registry);

}  // namespace mergelane
