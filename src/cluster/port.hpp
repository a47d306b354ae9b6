// SPDX-License-Identifier: MIT
// What the SMs of a cluster share: a bus into one injection buffer, and one response FIFO back. The cluster units, if any, sit in between
// and see every request and reply.
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
        Link<Packet>* to_network = nullptr;
        Link<Packet>* from_network = nullptr;
    };

    using Units = std::vector<std::unique_ptr<ClusterUnit>>;

    ClusterPort(std::string name, const ClusterSpec& spec, const AddressMap& map, const PacketSizes& sizes, Units units = {},
                std::uint32_t packets_per_cycle = 1);

    void connect(Links links) { links_ = std::move(links); }
    /// All requests of the previous kernel have been answered.
    void begin_kernel();

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void explain(std::vector<Wait>& waits) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    /// Requests waiting to enter the network.
    std::uint64_t held() const override { return injection_.size(); }
    const Units& units() const { return units_; }

private:
    Cycle inject(Cycle now);
    Cycle take_from_bus(Cycle now);
    bool bus_is_stopped() const;
    bool admit(Packet& packet, Cycle now);
    [[gnu::noinline, gnu::cold]] void note_crossing(const Link<Packet>& link, Cycle now);
    [[gnu::noinline, gnu::cold]] void note_response(Cycle now);
    Cycle deliver(Cycle now);
    Cycle deliver_by_units(Cycle now);
    bool begin_delivery(Cycle now);
    void end_delivery(Cycle now);
    ClusterUnit* unit_with_reply() const;

    const AddressMap& map_;
    const PacketSizes& sizes_;
    const std::uint32_t width_;  ///< packets per cycle
    Links links_;
    Ring<Packet> injection_;
    std::uint32_t next_sm_ = 0;
    const Units units_;
    Packet delivering_;                 ///< the reply being delivered
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
