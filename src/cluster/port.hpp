// SPDX-License-Identifier: MIT
// What the SMs of a cluster share: a bus into one injection buffer, and one response FIFO back. Merging mechanisms of
// the cluster sit between the two (docs/architecture.md).
#pragma once

#include <vector>

#include "cluster/cluster_spec.hpp"
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

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return injection_.size(); }

private:
    Cycle inject(Cycle now);
    Cycle take_from_bus(Cycle now);
    Cycle deliver(Cycle now);

    const AddressMap& map_;
    const PacketSizes& sizes_;
    Links links_;
    Ring<Packet> injection_;
    std::uint32_t next_sm_ = 0;
    std::uint64_t requests_in_ = 0;
    std::uint64_t requests_out_ = 0;
    std::uint64_t replies_ = 0;
};

}  // namespace mergelane
