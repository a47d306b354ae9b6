// SPDX-License-Identifier: MIT
// What sits at a cluster's port and sees every request and every reply: merges them, answers them, or only counts. A unit is declared by
// its section of the configuration, which makes one for each cluster while it is switched on; units are asked in the order in which
// their sections were registered.
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

    /// Everything of the previous kernel has been answered.
    virtual void begin_kernel() {}

    // Requests, one per cycle at most.
    /// No request may cross the bus now. It is asked again after each reply that was handed out.
    virtual bool stops_bus() const { return false; }
    /// A request on its way out, which the unit may change. False: it goes no further and the unit sees to its answer.
    virtual bool request(Packet& packet, Cycle now) {
        static_cast<void>(packet);
        static_cast<void>(now);
        return true;
    }

    // Replies, one at a time: begin, a copy for each SM, end.
    /// A reply of the network has its turn. The SMs that shall have a copy, a bit each; 0: the unit leaves it as it is.
    virtual std::uint64_t begin_delivery(const Packet& reply) {
        static_cast<void>(reply);
        return 0;
    }
    /// Asked of the unit that named SMs.
    virtual Packet copy_for(const Packet& reply, std::uint32_t sm) {
        static_cast<void>(sm);
        return reply;
    }
    virtual void end_delivery(const Packet& reply, Cycle now) {
        static_cast<void>(reply);
        static_cast<void>(now);
    }
    /// The next of the unit's own replies; they take turns with those of the network.
    virtual const Packet* own_reply() const { return nullptr; }
    virtual void own_reply_sent() {}

    /// Observes the SMs of the cluster, if the unit wants that.
    virtual SmObserver* sm_observer() { return nullptr; }
    virtual void stats(StatFields& out, Cycle now) const = 0;
    /// As Component::gauges.
    virtual void gauges(StatFields& out) const { static_cast<void>(out); }
};

/// What a unit is made from.
struct ClusterContext {
    std::uint32_t sms = 1;  ///< of the cluster
    std::uint32_t block_bytes = 128;
    Policies policies;  ///< what there is by name, and the machine's sections
};

/// The section that declares a unit: struct MySpec : ClusterUnitSpec<MySpec> { ... };
class ClusterUnitSection : public Section {
public:
    virtual std::unique_ptr<ClusterUnit> make(const ClusterContext& context) const = 0;
    /// Core cycles it adds to the way of every request and reply.
    virtual std::uint32_t request_delay() const { return 0; }
    virtual std::uint32_t reply_delay() const { return 0; }
};

template <class T>
class ClusterUnitSpec : public ClusterUnitSection {
public:
    std::unique_ptr<Section> clone() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

/// What the units that are switched on add to the way.
struct ClusterDelay {
    std::uint32_t request = 0;
    std::uint32_t reply = 0;
};
ClusterDelay cluster_delay(const Sections& sections);
std::vector<std::unique_ptr<ClusterUnit>> make_cluster_units(const ClusterContext& context);

/// The units of this folder.
void add_cluster_units(Registry& registry);

}  // namespace mergelane
