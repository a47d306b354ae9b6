// SPDX-License-Identifier: MIT
// Packet coalescing: the routers of a mesh hold read requests in a table, merge those for one DRAM row into a Big Packet and send that in
// one piece. The parts have the paper's names: detector and coalescing table where a head arrives, scheduler before virtual channels are
// allocated, grant holder at the switch. The mesh unpacks Big Packets at their sink.
#pragma once

#include <array>
#include <vector>

#include "noc/packet_coalescing_spec.hpp"
#include "noc/router_unit.hpp"
#include "parts/dram_rows.hpp"

namespace mergelane {

class PacketCoalescing final : public RouterUnit {
public:
    PacketCoalescing(const PacketCoalescingSpec& spec, const RouterContext& context);

    void enter(PacketId packet) override;
    bool arrive(Router router, PacketId packet, Cycle now) override;
    void step(Cycle now) override;
    Cycle next(Cycle now) const override;
    std::uint64_t may_switch(Router router, std::uint64_t ready) override;
    void switched(Router router, std::uint32_t input, Flit flit) override;
    void leave(Router router, PacketId packet) override;
    void stats(StatFields& out, Cycle now) const override;

private:
    static constexpr std::uint32_t kNone = ~0u;

    struct Request {                 ///< of a packet, under its number
        std::uint64_t row = 0;       ///< and the router of its memory
        Cycle arrived = 0;           ///< at the router where it is
        std::uint16_t hops = 0;      ///< routers on its path
        std::uint16_t passed = 0;    ///< of these, the one where it is included
        std::uint16_t held = 0;      ///< cycles so far, while its path was free
        PacketId least = kNoPacket;  ///< of a Big Packet: the request with the least slack left
    };
    struct Entry {
        std::uint64_t row = 0;
        Cycle expires = 0;
        PacketId packet = kNoPacket;  ///< its first; the others travel within it
    };
    struct RouterState {
        std::vector<Entry> table;  ///< the oldest first
        Cycle next = kNever;       ///< an entry expires
        bool blocked = false;      ///< an expired entry finds no space in the channels behind the table
        std::array<std::uint32_t, Mesh::kPorts> holder{kNone, kNone, kNone, kNone, kNone};  ///< of an output: input channel of a Big Packet
        std::array<PacketId, Mesh::kPorts> on_wire{kNone, kNone, kNone, kNone, kNone};      ///< Big Packet of which a part has passed
        std::uint32_t held_outputs = 0;                                                     ///< outputs with a holder, a bit each
    };

    bool is_read(PacketId id) const { return packet(id).kind == PacketKind::read && network(id) == 0; }
    /// Passes a wire in one piece.
    bool is_long(PacketId id) const { return packets(id) > 1 && flits(id) > 1; }
    std::uint32_t flits_of(std::uint32_t requests) const;
    std::uint32_t slack_left(const Request& request) const { return spec_.slack(request.hops) - request.held; }
    void release_one(Router router, Cycle now);
    void leave_table(const Entry& entry);

    const PacketCoalescingSpec spec_;
    const DramRows& rows_;
    const std::uint32_t flit_bytes_, header_bytes_;
    const std::uint32_t most_;  ///< requests of a Big Packet
    std::vector<Request> requests_;
    std::vector<RouterState> states_;
    BitSet holding_;  ///< routers with something in their table

    std::uint64_t seen_ = 0, alone_ = 0, merged_ = 0, big_packets_ = 0, looked_up_ = 0, table_full_ = 0, stored_ = 0;
    std::uint64_t held_cycles_ = 0, slack_cycles_ = 0, overdrawn_ = 0, interleaved_ = 0;
};

}  // namespace mergelane
