// SPDX-License-Identifier: MIT
// What routers of a mesh have to merge requests: a table each, and what it takes to unpack Big Packets at their sink. The mesh calls it
// where a head comes in (detector), before channels are given out (scheduler), at the switch (grant holder) and at the sinks.
#pragma once

#include <vector>

#include "core/bits.hpp"
#include "noc/coalescing_spec.hpp"
#include "noc/mesh.hpp"
#include "parts/dram_rows.hpp"

namespace mergelane {

struct Mesh::Coalescing {
    /// Beside a read request's Traveller, with the same number. A Big Packet is the list of its requests and goes by its first one's
    /// number.
    struct Request {
        std::uint64_t row = 0;       ///< and the router it goes to
        std::uint32_t next = kNone;  ///< in the same Big Packet
        Cycle arrived = 0;           ///< at the router where it is
        std::uint16_t hops = 0;      ///< routers on its way
        std::uint16_t passed = 0;    ///< of these, with the one where it is
        std::uint16_t held = 0;      ///< cycles so far, while its way was free
        // Of the first one:
        std::uint32_t last = kNone;
        std::uint32_t count = 1;      ///< requests
        std::uint32_t least = kNone;  ///< the one with the least slack left
        std::uint32_t flits = 1;      ///< on a wire
        std::uint32_t into = kNone;   ///< first one of the entry into which its flits go as they come
        std::uint32_t at = kNone;     ///< router of that entry
    };
    struct Entry {
        std::uint64_t row = 0;
        Cycle expires = 0;
        std::uint32_t first = kNone, last = kNone;
        std::uint32_t count = 0;   ///< requests
        std::uint32_t coming = 0;  ///< packets of which flits are on their way
    };
    struct Station {                      ///< what a router has
        std::vector<Entry> table;         ///< the oldest first
        Cycle next = kNever;              ///< something expires
        bool blocked = false;             ///< what has expired finds no room in the channels behind the table
        std::uint32_t unpacking = kNone;  ///< requests that are still to be handed to the sink
        std::uint32_t unpacking_last = kNone;
        Cycle unpacks_at = kNever;
        std::array<std::uint32_t, kPorts> holder{kNone, kNone, kNone, kNone, kNone};   ///< of an output: input channel of a Big Packet
        std::array<std::uint32_t, kPorts> on_wire{kNone, kNone, kNone, kNone, kNone};  ///< Big Packet of which a part has passed
    };

    Coalescing(const CoalescingSpec& spec, const NetworkSpec& network, const DramRows& rows, std::uint32_t buffer_flits,
               std::uint32_t routers);

    /// Of a Big Packet.
    std::uint32_t flits_of(std::uint32_t count) const {
        return static_cast<std::uint32_t>(divide_up(header_bytes + count * spec.request_bytes, flit_bytes));
    }
    /// Goes over a wire in one piece.
    bool is_long(std::uint32_t index) const { return requests[index].count > 1 && requests[index].flits > 1; }
    std::uint32_t slack_left(const Request& request) const { return spec.slack(request.hops) - request.held; }

    const CoalescingSpec spec;
    const DramRows& rows;
    const std::uint32_t flit_bytes, header_bytes, most;
    std::vector<Request> requests;
    std::vector<Station> stations;
    BitSet holding;    ///< stations with something in their table
    BitSet unpacking;  ///< stations with requests to hand over

    std::uint64_t seen = 0, alone = 0, merged = 0, big_packets = 0, looked_up = 0, table_full = 0, stored = 0;
    std::uint64_t held_cycles = 0, slack_cycles = 0, overdrawn = 0, interleaved = 0;
};

}  // namespace mergelane
