// SPDX-License-Identifier: MIT
// What the SMs of a cluster share: a bus into one injection buffer, and one response FIFO back. Between the two, if wanted,
// sits intra-cluster coalescing, which sees every request and every reply.
#pragma once

#include <memory>
#include <vector>

#include "cluster/cluster_spec.hpp"
#include "cluster/icc_unit.hpp"
#include "cluster/locality_meter.hpp"
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

    ClusterPort(std::string name, const ClusterSpec& spec, const AddressMap& map, const PacketSizes& sizes);

    void connect(Links links);
    /// Everything of the previous kernel has been answered.
    void begin_kernel();

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return queued() + waiting(); }
    /// Requests on their way into the network.
    std::uint64_t queued() const { return injection_.size(); }
    /// Requests that are not sent but will be answered here, and tracked ones.
    std::uint64_t waiting() const { return icc_ == nullptr ? 0 : icc_->waiting(); }
    std::uint64_t entries_in_use() const { return icc_ == nullptr ? 0 : icc_->in_use(); }
    const IccUnit* icc() const { return icc_.get(); }

private:
    Cycle inject(Cycle now);
    Cycle take_from_bus(Cycle now);
    bool admit(Packet& packet, Cycle now);
    Cycle deliver(Cycle now);
    Cycle deliver_coalesced(Cycle now);

    const AddressMap& map_;
    const PacketSizes& sizes_;
    Links links_;
    Ring<Packet> injection_;
    std::uint32_t next_sm_ = 0;
    bool watched_ = false;  ///< one of the two below exists
    std::unique_ptr<IccUnit> icc_;
    std::unique_ptr<LocalityMeter> locality_;
    Packet delivering_;           ///< the reply being handed out
    IccUnit::Delivery delivery_;  ///< who still has to get it
    bool from_cache_ = false;     ///< it is, or was last, a hit of the coalesced cache
    std::uint64_t requests_in_ = 0;
    std::uint64_t requests_out_ = 0;
    std::uint64_t replies_ = 0;
    const ClusterSpec spec_;
};

}  // namespace mergelane
