// SPDX-License-Identifier: MIT
// What the SMs of a cluster share: a bus into one injection buffer, and one response FIFO back; or several of both, one for each of its
// ports into the networks. The cluster units, if any, sit in between and see every request and reply.
#pragma once

#include <memory>
#include <vector>

#include "cluster/cluster_spec.hpp"
#include "cluster/cluster_unit.hpp"
#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"
#include "core/ring.hpp"
#include "parts/address_map.hpp"

namespace mergelane {

class ClusterPort final : public Component {
public:
    struct Links {
        std::vector<Link<Packet>*> from_sms;
        std::vector<Link<Packet>*> to_sms;
        std::vector<Link<Packet>*> to_networks;    ///< one for each network port
        std::vector<Link<Packet>*> from_networks;  ///< likewise
    };

    using Units = std::vector<std::unique_ptr<ClusterUnit>>;

    /// `first_port`: the number of its first network port, which replies are sent to.
    ClusterPort(std::string name, const ClusterSpec& spec, const AddressMap& map, const PacketSizes& sizes, Units units = {},
                std::uint32_t packets_per_cycle = 1, std::uint32_t first_port = 0);

    void connect(Links links);
    /// All requests of the previous kernel have been answered.
    void begin_kernel();

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void explain(std::vector<Wait>& waits) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    /// Requests waiting to enter the network.
    std::uint64_t held() const override;
    const Units& units() const { return units_; }

private:
    struct NetworkPort {
        Link<Packet>* to = nullptr;
        Link<Packet>* from = nullptr;
        Ring<Packet> injection;
    };

    Cycle step_wide(Cycle now);
    Cycle inject(NetworkPort& port, Cycle now);
    template <bool kSeveral>
    Cycle take_from_bus(Cycle now);
    bool bus_is_stopped() const;
    bool admit(Packet& packet, Cycle now);
    [[gnu::noinline, gnu::cold]] void note_crossing(const Link<Packet>& link, Cycle now);
    [[gnu::noinline, gnu::cold]] void note_response(const Link<Packet>& link, Cycle now);
    Cycle deliver(NetworkPort& port, Cycle now);
    Cycle deliver_by_units(Cycle now);
    NetworkPort* port_with_reply(Cycle now);
    Cycle next_reply() const;
    bool begin_delivery(Cycle now);
    void end_delivery(Cycle now);
    ClusterUnit* unit_with_reply() const;

    const AddressMap& map_;
    const PacketSizes& sizes_;
    const std::uint32_t width_;  ///< packets per cycle
    const std::uint32_t injection_buffer_;
    const std::uint32_t first_port_;
    std::uint32_t port_width_ = 0;  ///< packets per cycle of each network port
    Links links_;
    std::vector<NetworkPort> networks_;
    std::uint32_t next_sm_ = 0;
    std::size_t next_network_ = 0;  ///< whose reply is next, with units
    const Units units_;
    Packet delivering_;  ///< the reply being delivered
    NetworkPort* delivering_port_ = nullptr;
    std::uint64_t deliver_to_ = 0;      ///< SMs that have not received it yet
    Cycle delivered_since_ = 0;         ///< when it arrived
    ClusterUnit* deliverer_ = nullptr;  ///< the unit whose reply it is, or which makes the copies
    bool own_reply_ = false;            ///< the current or last reply is one of a unit's own
    std::uint64_t requests_in_ = 0;
    std::uint64_t requests_out_ = 0;
    std::uint64_t kept_ = 0;
    std::uint64_t network_replies_ = 0;
    std::uint64_t replies_ = 0;
    Stage bus_, injecting_, response_;
};

}  // namespace mergelane
