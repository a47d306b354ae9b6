// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "mocks.hpp"
#include "noc/mesh.hpp"

namespace mergelane::testing {

inline MeshSpec mesh_of(std::uint32_t virtual_channels, std::uint32_t buffer_flits = 8) {
    MeshSpec spec;
    spec.virtual_channels = virtual_channels;
    spec.buffer_flits = buffer_flits;
    return spec;
}

/// A mesh with a feeder and a taker at every router; their links take `rim` cycles.
struct MeshBench : TestBench {
    MeshBench(std::uint32_t width, std::uint32_t height, const MeshSpec& spec, Gate in_gate = {}, Gate out_gate = {},
              std::uint32_t sink_room = 64, Cycle rim = 1) {
        mesh = &add<Mesh>("mesh", spec, width, height);
        std::vector<std::uint16_t> routers(mesh->routers());
        std::iota(routers.begin(), routers.end(), std::uint16_t{0});
        for (std::uint32_t r = 0; r < routers.size(); ++r) {
            in.push_back(&loose_link<Packet>("in", 64, rim, rim));
            feeders.push_back(&add<Feeder<Packet>>("feeder", *in[r], Gate{in_gate.seed + r, in_gate.open_percent}));
            in[r]->connect(*feeders[r], *mesh);
            out.push_back(&loose_link<Packet>("out", sink_room, rim, rim));
            takers.push_back(&add<Taker<Packet>>("taker", *out[r], Gate{out_gate.seed + 100 + r, out_gate.open_percent}));
            out[r]->connect(*mesh, *takers[r]);
        }
        mesh->connect("noc.request", in, routers, out, routers);
    }
    void offer(std::uint32_t from, std::uint32_t to, std::uint32_t flits, Cycle earliest = 0) {
        Packet p;
        p.address = offered++;
        p.source = static_cast<std::uint16_t>(from);
        p.destination = static_cast<std::uint16_t>(to);
        p.tag = static_cast<std::uint16_t>(feeders[from]->items.size());
        feeders[from]->items.push_back({p, flits, earliest});
        feeders[from]->wake(std::max(earliest, now()));
    }
    std::uint64_t delivered() const {
        std::uint64_t sum = 0;
        for (const auto* taker : takers) sum += taker->taken.size();
        return sum;
    }

    Mesh* mesh;
    std::uint64_t offered = 0;
    std::vector<Link<Packet>*> in, out;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
};

}  // namespace mergelane::testing
