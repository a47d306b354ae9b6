// SPDX-License-Identifier: MIT
// In front of a slice of an L2 in two halves. Requests come from the SM clusters of its half. Those whose home is here go to the slice, the
// others over a link to the slice of the same local number in the other half: the peer. With copies, they are first looked up in this
// slice, and the reply of the peer is inserted here.
//
// No slice ever waits for the other half, so the halves cannot block each other: a request that is looked up for a copy has its place in
// the queue to the peer reserved, and a copy that finds no space on the way to the slice is not inserted.
#pragma once

#include "core/component.hpp"
#include "core/journey.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"
#include "core/ring.hpp"
#include "l2/halves_spec.hpp"
#include "parts/address_map.hpp"

namespace mergelane {

/// Marks the address of a request for memory of the other half while it is looked up for a copy, and of a copy to insert. The slice returns
/// a request that it cannot answer.
inline constexpr Addr kCopyMark = Addr{1} << 52;

struct HalfPortStats {
    std::uint64_t requests_in = 0;
    std::uint64_t near = 0;
    std::uint64_t far = 0;
    std::uint64_t far_reads = 0;
    std::uint64_t lookups = 0;
    std::uint64_t copy_hits = 0;
    std::uint64_t copy_misses = 0;
    std::uint64_t copy_fills = 0;
    std::uint64_t copies_dropped = 0;
    std::uint64_t sent = 0;
    std::uint64_t served = 0;
    std::uint64_t to_slice = 0;
    std::uint64_t replies_in = 0;
    std::uint64_t served_replies = 0;
    std::uint64_t answered = 0;
    std::uint64_t replies_out = 0;
    std::uint64_t request_cycles = 0;
    std::uint64_t reply_cycles = 0;
};

class HalfPort final : public Component {
public:
    struct Links {
        Link<Packet>* from_network = nullptr;
        Link<Packet>* to_network = nullptr;
        Link<Packet>* to_slice = nullptr;
        Link<Packet>* from_slice = nullptr;
        Link<Packet>* requests_to_peer = nullptr;
        Link<Packet>* requests_from_peer = nullptr;
        Link<Packet>* replies_to_peer = nullptr;
        Link<Packet>* replies_from_peer = nullptr;
    };

    /// `slice`: its number. `sizes`: in the reply network.
    HalfPort(std::string name, const HalvesSpec& spec, const AddressMap& map, const PacketSizes& sizes, std::uint32_t slice);

    void connect(const Links& links) { links_ = links; }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    /// Requests that wait for the link to the other half.
    std::uint64_t held() const override { return queue_.size(); }

private:
    static constexpr std::uint16_t kOfPeer = 0x8000;  ///< in Packet::source; HalvesSpec::check() limits the ports

    void deliver(Cycle now, Cycle& next);
    bool deliver_from_slice(Cycle now, Cycle& next);
    bool deliver_from_peer(Cycle now, Cycle& next);
    bool send_to_network(const Packet& packet, Cycle since, Cycle now, Cycle& next);
    void accept(Cycle now, Cycle& next);
    bool accept_from_network(Cycle now, Cycle& next, bool slice_is_free);
    bool accept_from_peer(Cycle now, Cycle& next);
    void to_slice(const Packet& packet, Cycle now);
    void send_to_peer(Cycle now, Cycle& next);
    Cycle link_cycles(const Packet& packet) const;
    std::uint64_t far_queued() const { return stats_.far - stats_.copy_hits - stats_.sent; }

    const HalvesSpec& spec_;
    const AddressMap& map_;
    const PacketSizes& sizes_;
    const std::uint32_t slice_;
    Links links_;
    Ring<Packet> queue_;          ///< requests for the peer
    Cycle requests_free_at_ = 0;  ///< when the link can take the next one
    Cycle replies_free_at_ = 0;
    Cycle network_full_at_ = kNever;   ///< when a reply did not fit
    bool peer_replies_next_ = false;   ///< replies of the slice and of the peer alternate
    bool peer_requests_next_ = false;  ///< likewise requests
    HalfPortStats stats_;
    Stage waiting_, linking_, replying_;
};

}  // namespace mergelane
