// SPDX-License-Identifier: MIT
// A router unit extends every router of a mesh: it sees the head of each packet that arrives, may hold packets, let them travel within one
// another, send them on from an input port of its own, and veto flits at the switch. A section of the configuration declares it and makes
// one for each mesh while it is enabled. Units are asked in the order in which their sections were registered; a packet that one of them
// holds is not shown to the next.
#pragma once

#include <memory>

#include "core/section.hpp"
#include "noc/mesh.hpp"

namespace mergelane {

class DramRows;

/// What a unit is made from.
struct RouterContext {
    Mesh& mesh;
    const NetworkSpec& network;      ///< the first network of the mesh: "noc.request", "noc.reply", ...
    const DramRows* rows = nullptr;  ///< DRAM rows of addresses; nullptr for a network without a machine
    const Sections& sections;
};

class RouterUnit {
public:
    /// Packets inside a mesh are numbered. Numbers are small and are used again, so that state per packet fits into a vector.
    using PacketId = std::uint32_t;
    using Router = std::uint32_t;
    static constexpr PacketId kNoPacket = ~0u;
    using Flit = Mesh::Flit;

    explicit RouterUnit(const RouterContext& context) : mesh_(context.mesh) {}
    virtual ~RouterUnit() = default;
    RouterUnit(const RouterUnit&) = delete;
    RouterUnit& operator=(const RouterUnit&) = delete;

    /// A packet enters the mesh.
    virtual void enter(PacketId) {}
    /// The head of a packet has arrived and has its route. True: the unit holds the packet; its flits leave the buffer as they arrive. The
    /// packet must fit into a buffer, and the unit must send it later or let it join one that it sends.
    virtual bool arrive(Router, PacketId, Cycle) { return false; }
    /// Every cycle of the mesh, after arrivals and before virtual channels are allocated: the time to send.
    virtual void step(Cycle) {}
    /// The next cycle in which step() has something to do.
    virtual Cycle next(Cycle) const { return kNever; }
    /// Input channels that may compete for the switch, of those that are ready. A bit is port * Mesh::kChannels + virtual channel.
    virtual std::uint64_t may_switch(Router, std::uint64_t ready) { return ready; }
    /// A flit of an input channel passes the switch.
    virtual void switched(Router, std::uint32_t /*input*/, Flit) {}
    /// A packet has reached its sink, with those that travel within it.
    virtual void leave(Router, PacketId) {}
    virtual void stats(StatFields& out, Cycle now) const = 0;
    /// As Component::gauges.
    virtual void gauges(StatFields&) const {}

protected:
    // The mesh.
    std::uint32_t routers() const { return mesh_.routers(); }
    std::uint32_t buffer_flits() const { return mesh_.buffer_flits_; }

    // A packet.
    const Packet& packet(PacketId id) const { return mesh_.travellers_[id].packet; }
    /// Of the networks on this mesh: 0 is the one it was made for, 1 the replies that share its wires.
    std::uint32_t network(PacketId id) const { return mesh_.travellers_[id].network; }
    Router destination(PacketId id) const { return mesh_.travellers_[id].router; }
    /// Routers on its path, first and last included.
    std::uint32_t hops(PacketId id) const { return mesh_.travellers_[id].hops; }
    /// Its length on a wire.
    std::uint32_t flits(PacketId id) const { return mesh_.rides_[id].flits; }
    /// Packets that travel as this one, itself included.
    std::uint32_t packets(PacketId id) const { return mesh_.rides_[id].packets; }
    /// Of a held packet: those that will travel as this one when it is sent.
    std::uint32_t packets_held(PacketId id) const { return mesh_.rides_[id].packets + mesh_.rides_[id].joined; }
    /// The packet after this one among those that travel together, or kNoPacket.
    PacketId next_within(PacketId id) const { return mesh_.rides_[id].next; }
    /// Of a held packet: all flits have arrived, those of packets that joined it included.
    bool whole(PacketId id) const { return mesh_.rides_[id].arriving == 0; }

    // What a unit does with packets it holds.
    /// From now on `id`, which arrives or is whole, travels within `leader`. The mesh separates them at the sink, one per cycle.
    void join(PacketId leader, PacketId id) { mesh_.join(leader, id); }
    /// Sends a whole packet of `flits` flits from the unit's port of `router`. False: none of its virtual channels has space; that changes
    /// when a flit of input port Mesh::kUnitPort is switched.
    bool send(Router router, PacketId id, std::uint32_t flits) { return mesh_.send_from_unit(router, id, flits); }

    /// The unit has delayed a packet for so many cycles, which its journey reports as such.
    void delayed(PacketId id, std::uint32_t cycles) { mesh_.rides_[id].delayed += cycles; }

    // An input channel that is ready for the switch.
    Flit front(Router router, std::uint32_t input) const { return {mesh_.front(router * Mesh::kStride + input)}; }
    std::uint32_t output(Router router, std::uint32_t input) const { return mesh_.inputs_[router * Mesh::kStride + input].output; }
    /// Of the virtual channel it sends to; meaningless at the sink.
    std::uint32_t credits(Router router, std::uint32_t input) const {
        return mesh_.outputs_[mesh_.inputs_[router * Mesh::kStride + input].to].credits;
    }
    /// Not ready until a credit of that channel returns.
    void wait_for_credit(Router router, std::uint32_t input) { mesh_.routers_[router].ready &= ~bit(input); }

private:
    Mesh& mesh_;
};

/// The section that declares a unit: struct MySpec : RouterUnitSpec<MySpec> { ... };
class RouterUnitSection : public Section {
public:
    /// nullptr: meshes of this network have none.
    virtual std::unique_ptr<RouterUnit> make(const RouterContext& context) const = 0;
};

template <class T>
using RouterUnitSpec = SectionOf<T, RouterUnitSection>;

/// Gives a mesh the units that are enabled.
void add_enabled_units(const RouterContext& context);

/// The units of this folder.
void add_router_units(Registry& registry);

}  // namespace mergelane
