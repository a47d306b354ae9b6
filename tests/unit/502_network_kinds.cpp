// SPDX-License-Identifier: MIT
// User-defined network kinds: registered and built like the built-in ones.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/registry.hpp"
#include "network_bench.hpp"
#include "noc/crossbar.hpp"

namespace mergelane::testing {
namespace {

/// All sources to all sinks through a row of three crossbars with one link between neighbours.
NetworkPorts row_of_three(const NetworkBuild& build, const Sections&) {
    Crossbar& first = build.add<Crossbar>("first", build.spec, CrossbarStage{1, 3});
    Crossbar& middle = build.add<Crossbar>("middle", build.spec, CrossbarStage{2, 3});
    Crossbar& last = build.add<Crossbar>("last", build.spec, CrossbarStage{3, 3});
    NetworkPorts ports;
    const std::size_t sinks = build.sinks.components.size();
    Crossbar::Routes direct;
    for (std::size_t i = 0; i < build.sources.components.size(); ++i) ports.from_sources.push_back(&build.from_source(i, first));
    for (std::size_t o = 0; o < sinks; ++o) {
        ports.to_sinks.push_back(&build.to_sink(last, o));
        direct.push_back(static_cast<std::uint16_t>(o));
    }
    Link<Packet>& one = build.inside(first, middle);
    Link<Packet>& two = build.inside(middle, last);
    first.connect(ports.from_sources, {&one}, Crossbar::Routes(sinks));
    middle.connect({&one}, {&two}, Crossbar::Routes(sinks));
    last.connect({&two}, ports.to_sinks, direct);
    return ports;
}

TEST(NetworkKinds, CanComeFromOutside) {
    Registry registry;
    add_network_kinds(registry);
    registry.add<NetworkKind>("row_of_three", "a row of three crossbars", registry.traits<NetworkKind>("crossbar"), row_of_three);
    NetworkSpec spec;
    spec.name = "noc.local";
    spec.kind = "row_of_three";
    NetworkBench bench(3, 3, spec, {}, {}, 64, &registry);
    for (int n = 0; n < 5; ++n) bench.offer(0, 2, 5);
    bench.run(100);
    const auto& taken = bench.takers[2]->taken;
    ASSERT_EQ(taken.size(), 5u);
    EXPECT_EQ(taken[0].at, 2u + 1 + 1 + 4 + 2) << "in, two hops, four more flits, out";
    for (std::size_t n = 1; n < 5; ++n) EXPECT_EQ(taken[n].at, taken[n - 1].at + 5) << "five flits, three times";
    EXPECT_EQ(bench.stat("noc.local", "packets_in"), 5u);
    EXPECT_EQ(bench.stat("noc.local", "flits"), 25u);
    EXPECT_EQ(bench.stat("noc.local.stage1", "flits"), 25u);
    EXPECT_EQ(bench.stat("noc.local.stage2", "packets"), 5u);
    EXPECT_EQ(bench.wiring.held("local network"), 0u);
    EXPECT_NE(bench.wiring.find_link("local_first -> local_middle"), nullptr);
}

TEST(NetworkKinds, AreAskedForByName) {
    EXPECT_EQ(policies_of<add_network_kinds>().registry().names<NetworkKind>(),
              (std::vector<std::string_view>{"crossbar", "two_stage", "output_queues", "mesh"}));
    Registry registry;
    add_network_kinds(registry);
    Wiring wiring;
    NetworkSpec spec;
    spec.kind = "crosbar";
    try {
        build_network({wiring, wiring.domain("network", Clock{}), spec, "", {}, {}}, Policies(registry, registry.sections()));
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("did you mean 'crossbar'"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace mergelane::testing
