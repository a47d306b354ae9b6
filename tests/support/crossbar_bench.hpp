// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "mocks.hpp"
#include "noc/crossbar.hpp"

namespace mergelane::testing {

/// A crossbar between feeders and takers.
struct CrossbarBench : TestBench {
    CrossbarBench(std::uint32_t inputs, std::uint32_t outputs, const NetworkSpec& network, Gate in_gate = {}, Gate out_gate = {},
                  std::uint32_t output_room = 64)
        : spec(network) {
        crossbar = &add<Crossbar>("crossbar", spec);
        for (std::uint32_t i = 0; i < inputs; ++i) {
            in.push_back(&loose_link<Packet>("in" + std::to_string(i), spec.input_buffer_flits));
            feeders.push_back(&add<Feeder<Packet>>("feeder", *in[i], Gate{in_gate.seed + i, in_gate.open_percent}));
            in[i]->connect(*feeders[i], *crossbar);
        }
        for (std::uint32_t o = 0; o < outputs; ++o) {
            out.push_back(&loose_link<Packet>("out" + std::to_string(o), output_room));
            takers.push_back(&add<Taker<Packet>>("taker", *out[o], Gate{out_gate.seed + 100 + o, out_gate.open_percent}));
            out[o]->connect(*crossbar, *takers[o]);
        }
        Crossbar::Routes routes(outputs);
        std::iota(routes.begin(), routes.end(), std::uint16_t{0});
        crossbar->connect(in, out, routes);
    }
    void offer(std::uint32_t input, std::uint32_t output, std::uint32_t flits, Cycle earliest = 0) {
        Packet p;
        p.source = static_cast<std::uint16_t>(input);
        p.destination = static_cast<std::uint16_t>(output);
        p.tag = static_cast<std::uint16_t>(feeders[input]->items.size());
        feeders[input]->items.push_back({p, flits, earliest});
    }
    std::uint64_t delivered() const {
        std::uint64_t sum = 0;
        for (const auto* taker : takers) sum += taker->taken.size();
        return sum;
    }

    const NetworkSpec spec;
    Crossbar* crossbar;
    std::vector<Link<Packet>*> in, out;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
};

inline NetworkSpec noc(std::string_view queueing, std::string_view arbiter, std::uint32_t iterations = 1) {
    NetworkSpec s;
    s.queueing = queueing == "voq" ? NetworkShape::Queueing::voq : NetworkShape::Queueing::fifo;
    s.arbiter = arbiter == "islip" ? NetworkShape::Arbiter::islip : NetworkShape::Arbiter::round_robin;
    s.islip_iterations = iterations;
    s.input_buffer_flits = 64;
    return s;
}

}  // namespace mergelane::testing
