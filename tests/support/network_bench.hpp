// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mocks.hpp"
#include "noc/network.hpp"

namespace mergelane::testing {

struct NetworkLayout {
    bool apart = false;  ///< every feeder and taker is a domain of its own
    Time latency = 2;    ///< of the links at the rim, both ways
};

/// A network of any kind between feeders and takers, which share no domain with it.
struct NetworkBench {
    NetworkBench(std::uint32_t sources, std::uint32_t sinks, const NetworkSpec& network, Gate in_gate = {}, Gate out_gate = {},
                 std::uint32_t sink_room = 64, const Registry* registry = nullptr, const NetworkLayout& layout = {})
        : spec(network) {
        Domain* edge = &wiring.domain("edge", Clock{});
        const auto place = [&]() -> Domain& { return layout.apart ? wiring.domain("apart", Clock{}) : *edge; };
        NetworkSide from{"source -> network", {}, spec.input_buffer_flits, layout.latency, layout.latency};
        NetworkSide to{"network -> sink", {}, sink_room, layout.latency, layout.latency};
        for (std::uint32_t i = 0; i < sources; ++i) {
            feeders.push_back(
                &wiring.add<Feeder<Packet>>(place(), "source", "source" + std::to_string(i), Gate{in_gate.seed + i, in_gate.open_percent}));
            from.components.push_back(feeders.back());
        }
        for (std::uint32_t o = 0; o < sinks; ++o) {
            takers.push_back(&wiring.add<Taker<Packet>>(place(), "sink", "sink" + std::to_string(o),
                                                        Gate{out_gate.seed + 100 + o, out_gate.open_percent}));
            to.components.push_back(takers.back());
        }
        const NetworkBuild build{wiring, wiring.domain("network", spec.clock), spec, "", std::move(from), std::move(to)};
        const NetworkPorts ports =
            registry == nullptr ? build_network(build) : build_network(build, Policies(*registry, registry->sections()));
        for (std::uint32_t i = 0; i < sources; ++i) feeders[i]->connect(*ports.from_sources.at(i));
        for (std::uint32_t o = 0; o < sinks; ++o) takers[o]->connect(*ports.to_sinks.at(o));
    }
    void offer(std::uint32_t source, std::uint32_t sink, std::uint32_t flits, Cycle earliest = 0) {
        Packet p;
        p.source = static_cast<std::uint16_t>(source);
        p.destination = static_cast<std::uint16_t>(sink);
        p.tag = static_cast<std::uint16_t>(feeders[source]->items.size());
        feeders[source]->items.push_back({p, flits, earliest});
    }
    /// Simulates all cycles before `until`; `look` is called after every window.
    void run(Cycle until, bool sleep = true, const std::function<void()>& look = {}) {
        if (engine == nullptr) {
            engine = std::make_unique<Engine>(wiring.domains(), EngineOptions{threads, window != 0 ? window : wiring.window(), sleep});
            for (const Wiring::Part& part : wiring.parts()) part.component->wake(0);
        }
        engine->run_until(until, [&](Time) {
            if (look) look();
            return true;
        });
        engine->advance_to(until);
    }
    Cycle now() const { return engine == nullptr ? 0 : engine->time(); }
    std::uint64_t sent() const {
        std::uint64_t sum = 0;
        for (const auto* feeder : feeders) sum += feeder->sent();
        return sum;
    }
    std::uint64_t delivered() const {
        std::uint64_t sum = 0;
        for (const auto* taker : takers) sum += taker->taken.size();
        return sum;
    }
    /// Sum over the network's components; no such statistic is a failure.
    std::uint64_t stat(std::string_view group, std::string_view name) const {
        std::uint64_t sum = 0;
        bool found = false;
        for (const Wiring::Part& part : wiring.parts()) {
            StatFields fields;
            part.component->stats(fields, now());
            for (const StatField& field : fields.list()) {
                if (field.group != group || field.name != name) continue;
                sum += field.value;
                found = true;
            }
        }
        EXPECT_TRUE(found) << group << "." << name;
        return sum;
    }

    const NetworkSpec spec;
    std::uint32_t threads = 1;
    Time window = 0;  ///< 0: the longest
    Wiring wiring;
    std::vector<Feeder<Packet>*> feeders;
    std::vector<Taker<Packet>*> takers;
    std::unique_ptr<Engine> engine;
};

}  // namespace mergelane::testing
