// SPDX-License-Identifier: MIT
#pragma once

#include "mesh_bench.hpp"
#include "noc/packet_coalescing_spec.hpp"
#include "parts/dram_rows.hpp"
#include "run.hpp"

namespace mergelane::testing {

/// A mesh whose routers merge requests. Rows have 2 KB, banks follow each other, and every router could be a memory.
struct CoalescingBench : MeshBench {
    CoalescingBench(std::uint32_t width, std::uint32_t height, const MeshSpec& mesh_spec, const PacketCoalescingSpec& spec,
                    Gate in_gate = {}, Gate out_gate = {}, std::uint32_t sink_room = 64, Cycle rim = 1, std::uint32_t flit_bytes = 32)
        : MeshBench(width, height, mesh_spec, in_gate, out_gate, sink_room, rim) {
        NetworkSpec network;
        network.flit_bytes = flit_bytes;
        mesh->add_unit(spec.make({*mesh, network, &rows, Sections{}}));
    }
    void read(std::uint32_t from, std::uint32_t to, std::uint32_t row, Cycle earliest = 0) {
        put(from, to, 1, PacketKind::read, row, earliest);
    }
    /// Packets are numbered in the order in which they are put.
    void put(std::uint32_t from, std::uint32_t to, std::uint32_t flits, PacketKind kind, std::uint32_t row, Cycle earliest = 0) {
        const std::uint64_t number = offered;
        offer(from, to, flits, earliest);
        Packet& packet = feeders[from]->items.back().value;
        packet.kind = kind;
        packet.address = std::uint64_t{row} << 14;
        packet.read.wanted = static_cast<std::uint32_t>(number);
        meant_for.push_back(static_cast<std::uint16_t>(to));
    }
    /// Runs until all is delivered, or nothing moves any more.
    bool drain() {
        while (delivered() != offered || mesh->held() != 0) {
            const std::uint64_t before = delivered();
            run(now() + 20'000);
            if (delivered() == before) return false;
        }
        run(now() + 100);
        return true;
    }
    std::uint64_t counted(const char* name) const { return stat_of(*mesh, name); }

    DramRows rows{AddressMap(1, 1, 256, "plain"), DramAddressMap("RRRRBBBCCCCCCSSSSS", 8, DramAddressMap::BankHash::none), 1};
    std::vector<std::uint16_t> meant_for;
};

inline PacketCoalescingSpec holding(std::uint32_t delay_per_hop,
                                    PacketCoalescingSpec::Policy policy = PacketCoalescingSpec::Policy::dynamic) {
    PacketCoalescingSpec spec;
    spec.on = true;
    spec.delay_per_hop = delay_per_hop;
    spec.policy = policy;
    return spec;
}

}  // namespace mergelane::testing
