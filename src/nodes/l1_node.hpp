// SPDX-License-Identifier: MIT
// A decoupled L1: a cache with queues to its SMs and to the L2. One lookup per lane and cycle. A node on a network has one lane; a node
// wired directly to its SMs has one lane per SM.
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "core/packet_sizes.hpp"
#include "core/ring.hpp"
#include "nodes/dcl1_spec.hpp"
#include "parts/address_map.hpp"
#include "parts/l1_cache.hpp"

namespace mergelane {

class L1Node final : public Component {
public:
    struct Links {
        Link<Packet>* from_cores = nullptr;  ///< queue 1 is its receiving end
        Link<Packet>* to_cores = nullptr;
        Link<Packet>* to_l2 = nullptr;
        Link<Packet>* from_l2 = nullptr;  ///< queue 4 is its receiving end
        std::uint16_t source = 0;         ///< its number in the network to the L2
    };
    /// Shared by all nodes of a machine; outlives them.
    struct Shared {
        DcL1Spec spec;
        L1Spec cache;
        PacketSizes to_cores;
        PacketSizes to_l2;
        std::uint32_t hit_cycles;
        std::uint32_t cores_per_cluster;
        bool direct;
        AddressMap homes;  ///< number of the home node of a line within its cluster
        AddressMap far;    ///< number of a line's slice in the node's network to the L2
        Policies policies;
    };

    struct Counts {
        std::uint64_t requests = 0;
        std::uint64_t beside = 0;
        std::uint64_t replies = 0;
        std::uint64_t requests_out = 0;
        std::uint64_t network_replies = 0;
        std::uint64_t blocked = 0;
        std::uint64_t misrouted = 0;
    };

    /// `index`: number of the node within its cluster.
    L1Node(std::string name, const Shared& shared, std::uint32_t index);

    void connect(std::vector<Links> lanes);
    void begin_kernel() { cache_.begin_kernel(0); }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return waiting(); }
    const Counts& counts() const { return counts_; }
    L1Cache& cache() { return cache_; }

private:
    static constexpr std::uint16_t kPassing = 0x8000;  ///< tag bit: the reply belongs to a single request, not to an MSHR entry
    static constexpr std::size_t kMaxWaiting = 0x8000;

    /// The requester, while the answer is in flight.
    struct Asked {
        ReadFields read = {};
        std::uint16_t port = 0;
        std::uint16_t tag = 0;
        std::uint8_t sm = 0;
        std::uint8_t lane = 0;
    };
    struct Hit {
        Packet reply;
        Cycle ready = 0;
    };
    struct Lane : Links {
        Ring<Packet> to_cores_queue;           ///< queue 2
        Ring<Packet> to_l2_queue;              ///< queue 3
        Ring<Hit> hits;                        ///< the cache pipeline
        std::vector<std::uint16_t> answering;  ///< further requesters of the most recently arrived block
        Addr answered_block = 0;
        bool answered = false;         ///< queue 2 received an L2 reply in this cycle
        Cycle blocked_since = kNever;  ///< the head of queue 1 is stalled
    };

    void take_reply(Lane& lane, Cycle now);
    void join_journeys(Lane& lane, Cycle now);
    bool can_answer(const Lane& lane, Cycle now) const;
    void answer_next(Lane& lane, Cycle now);
    Cycle finish_hit(Lane& lane, Cycle now);
    Cycle send_to_cores(Lane& lane, Cycle now);
    Cycle send_to_l2(Lane& lane, Cycle now);
    bool look_up(Lane& lane, std::uint8_t number, Cycle now);
    bool read(Lane& lane, std::uint8_t number, const Packet& packet, Cycle now);
    bool pass(Lane& lane, std::uint8_t number, Packet packet, Cycle now);
    void forward(Lane& lane, Packet packet, std::uint16_t tag, Cycle now);
    std::uint16_t remember(const Packet& packet, std::uint8_t lane, Cycle now);
    Packet answer_to(const Asked& asked, PacketKind kind, Addr block) const;
    std::uint32_t reply_flits(const Packet& reply) const;
    bool full() const { return free_.empty() && asked_.size() == kMaxWaiting; }
    std::uint64_t waiting() const;

    const Shared& shared_;
    const std::uint32_t index_;
    L1Cache cache_;
    std::vector<Lane> lanes_;
    std::vector<Asked> asked_;
    std::vector<std::uint16_t> free_;  ///< of those that were ever used
    Counts counts_;
    Stage lookup_, sending_, returned_, replying_;
};

}  // namespace mergelane
