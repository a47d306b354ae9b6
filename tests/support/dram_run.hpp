// SPDX-License-Identifier: MIT
// Plays requests into one DRAM channel of either kind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dram/channel.hpp"
#include "dram/detailed_channel.hpp"
#include "mocks.hpp"

namespace mergelane::testing {

enum class Traffic { streaming, random, mixed, sequential_reads, sequential_writes };

inline DramRequest request_of(Traffic traffic, std::uint64_t n, std::uint64_t seed, std::uint32_t slice) {
    if (traffic == Traffic::sequential_reads || traffic == Traffic::sequential_writes)
        return {(n * 2 + slice) * 128, 0xF, static_cast<std::uint16_t>(n % 1024), static_cast<std::uint8_t>(slice),
                traffic == Traffic::sequential_writes};
    DramRequest r;
    Rng rng(mix64(seed + slice) + n);
    const bool local = traffic == Traffic::streaming || (traffic == Traffic::mixed && rng.below(100) < 60);
    r.address = local ? (n * 2 + slice) * 128 : rng.next() % (Addr{1} << 26) / 128 * 128;
    r.sectors = rng.below(3) == 0 ? 1u + rng.below(15) : 0xFu;
    r.write = traffic == Traffic::streaming ? n / 64 % 4 == 3 : rng.below(100) < 35;
    r.slice = static_cast<std::uint8_t>(slice);
    r.tag = static_cast<std::uint16_t>(n % 1024);
    return r;
}

struct ChannelRun {
    std::vector<DramCommand> log;
    std::vector<std::pair<Cycle, std::uint32_t>> answers;  ///< time and tag, slice by slice
    std::uint64_t reads = 0;
    std::uint64_t replies = 0;
    Cycle end = 0;
};

/// A channel and the settings it refers to.
struct DramSetup {
    DramSpec spec;
    DramControllerSpec controller{};  ///< enabled: the detailed channel
};

struct ChannelLoad {
    Traffic traffic = Traffic::mixed;
    std::uint64_t requests = 10'000;
    std::uint32_t percent = 100;  ///< of the cycles have an arrival, per slice
    std::uint32_t slices = 2;
    std::uint64_t seed = 7;
    bool sleep = true;
    std::vector<Feeder<DramRequest>::Item> items{};  ///< these instead, through one slice
};

inline ChannelRun run_channel(const DramSetup& setup, const ChannelLoad& load) {
    Registry registry;
    add_request_orders(registry);
    Sections sections = registry.sections();
    sections.get<DramControllerSpec>() = setup.controller;
    const Policies policies(registry, sections);
    TestBench bench;
    ChannelRun run;
    MemoryChannel* channel = nullptr;
    if (setup.controller.enabled())
        channel = &bench.add<DetailedChannel>("channel", setup.spec, policies);
    else
        channel = &bench.add<DramChannel>("channel", setup.spec, policies);
    channel->log_commands(&run.log);
    std::vector<Link<DramRequest>*> in, out;
    std::vector<Taker<DramRequest>*> takers;
    for (std::uint32_t s = 0; s < load.slices; ++s) {
        in.push_back(&bench.loose_link<DramRequest>("in", 64));
        out.push_back(&bench.loose_link<DramRequest>("out", 4096));
        auto& feeder = bench.add<Feeder<DramRequest>>("feeder", *in[s], Gate{s + 1, load.percent});
        feeder.items = load.items;
        for (std::uint64_t n = 0; load.items.empty() && n < load.requests / load.slices; ++n)
            feeder.items.push_back({request_of(load.traffic, n, load.seed, s)});
        for (const auto& item : feeder.items) run.reads += item.value.write ? 0 : 1;
        takers.push_back(&bench.add<Taker<DramRequest>>("taker", *out[s]));
        in[s]->connect(feeder, *channel);
        out[s]->connect(*channel, *takers[s]);
    }
    channel->connect(in, out);
    // Until everything is answered; the bound only stops a broken channel.
    for (Cycle until = 100'000; until < 400'000'000; until += 100'000) {
        bench.run(until, load.sleep);
        std::uint64_t inside = 0;
        for (const auto* link : in) inside += link->in_flight();
        for (const Component* component : bench.domain.components()) inside += component->held();
        if (inside == 0) break;
    }
    bench.run(bench.now() + 1000, load.sleep);
    for (const auto* taker : takers) {
        run.replies += taker->taken.size();
        for (const auto& arrival : taker->taken) {
            run.answers.emplace_back(arrival.at, arrival.value.tag);
            run.end = std::max(run.end, arrival.at);
        }
    }
    return run;
}

}  // namespace mergelane::testing
