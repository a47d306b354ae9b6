// SPDX-License-Identifier: MIT
#include "noc/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/registry.hpp"
#include "core/rng.hpp"
#include "core/wiring.hpp"
#include "noc/mesh.hpp"

namespace mergelane {

TrafficMap::TrafficMap(TrafficPattern pattern, std::uint32_t width, std::uint32_t height)
    : pattern_(pattern), width_(width), height_(height), fixed_(std::size_t{width} * height) {
    if (pattern == TrafficPattern::transpose && width != height)
        throw InputError(
            fmt::format("transpose requires a square mesh, but this one is {} x {}; use as many rows as columns", width, height));
    const auto half_way = [](std::uint32_t at, std::uint32_t size) { return (at + (size + 1) / 2 - 1) % size; };
    for (std::uint32_t node = 0; node < nodes(); ++node) {
        const std::uint32_t x = node % width, y = node / width;
        switch (pattern) {
            case TrafficPattern::uniform: break;
            case TrafficPattern::transpose: fixed_[node] = x * width + y; break;
            case TrafficPattern::bit_complement: fixed_[node] = nodes() - 1 - node; break;
            case TrafficPattern::tornado: fixed_[node] = half_way(y, height) * width + half_way(x, width); break;
            case TrafficPattern::hotspot: fixed_[node] = height / 2 * width + width / 2; break;
        }
    }
}

double TrafficMap::mesh_bound(MeshSpec::Routing routing) const {
    // Load of every link if each node sends one flit per cycle: four directions plus the one to the sink.
    std::vector<double> load(std::size_t{nodes()} * Mesh::kPorts, 0);
    const auto walk = [&](std::uint32_t from, std::uint32_t to, double share) {
        const auto along = [&](std::uint32_t& at, std::uint32_t goal, std::uint32_t step, std::uint32_t up, std::uint32_t down,
                               auto place) {
            while (place(at) != place(goal)) {
                const bool forward = place(at) < place(goal);
                load[at * Mesh::kPorts + (forward ? up : down)] += share;
                at = forward ? at + step : at - step;
            }
        };
        std::uint32_t at = from;
        const auto row = [&] { along(at, to, 1, Mesh::east, Mesh::west, [&](std::uint32_t n) { return n % width_; }); };
        const auto column = [&] { along(at, to, width_, Mesh::south, Mesh::north, [&](std::uint32_t n) { return n / width_; }); };
        if (routing == MeshSpec::Routing::xy)
            row(), column();
        else
            column(), row();
        load[to * Mesh::kPorts + Mesh::local] += share;
    };
    for (std::uint32_t from = 0; from < nodes(); ++from) {
        if (!random()) {
            walk(from, fixed_[from], 1);
            continue;
        }
        for (std::uint32_t to = 0; to < nodes(); ++to) walk(from, to, 1.0 / nodes());
    }
    return 1 / std::max(1.0, *std::max_element(load.begin(), load.end()));
}

double TrafficMap::rim_bound() const {
    if (random()) return 1;
    std::vector<std::uint32_t> load(nodes(), 0);
    for (const std::uint32_t to : fixed_) ++load[to];
    return 1.0 / *std::max_element(load.begin(), load.end());
}

namespace {

/// A packet carries its creation time in place of an address.
class TrafficSource final : public Component {
public:
    TrafficSource(std::uint32_t node, const TrafficLoad& load, const TrafficMap& map)
        : Component(fmt::format("node{}", node)),
          node_(node),
          load_(load),
          map_(map),
          rng_(mix64(load.seed) + (std::uint64_t{node} << 40)) {
        // As a fraction of 2^32, so that the same packets are created on every host.
        threshold_ = static_cast<std::uint64_t>(std::llround(std::min(1.0, load.rate / load.flits) * 4294967296.0));
        next_birth(0);
    }
    void connect(Link<Packet>& link) { link_ = &link; }
    Cycle step(Cycle now) override {
        while (birth_ <= now) {
            if (!link_->can_send(now, load_.flits)) return std::max(link_->next_credit(), now + 1);
            Packet packet;
            packet.address = birth_;
            packet.source = static_cast<std::uint16_t>(node_);
            packet.destination = static_cast<std::uint16_t>(map_.destination(node_, rng_.next()));
            link_->send(now, packet, load_.flits);
            if (birth_ >= load_.warm_up && birth_ < load_.warm_up + load_.measured) ++measured_;
            next_birth(birth_ + 1);
        }
        return birth_;
    }
    void stats(StatFields&, Cycle) const override {}
    std::uint64_t measured() const { return measured_; }
    /// Whether a packet that was created during measurement still waits to be sent.
    bool behind() const { return birth_ < load_.warm_up + load_.measured; }

private:
    /// Packet creation does not depend on what could be sent.
    void next_birth(Cycle from) {
        if (threshold_ == 0) {
            birth_ = kNever;
            return;
        }
        while (rng_.next() >> 32 >= threshold_) ++from;
        birth_ = from;
    }

    const std::uint32_t node_;
    const TrafficLoad& load_;
    const TrafficMap& map_;
    Rng rng_;
    std::uint64_t threshold_ = 0;
    Link<Packet>* link_ = nullptr;
    Cycle birth_ = 0;
    std::uint64_t measured_ = 0;
};

struct Tally {
    std::uint64_t delivered = 0;  ///< packets of the whole run
    std::uint64_t all_hops = 0;   ///< of them
    std::uint64_t packets = 0;    ///< created during measurement
    std::uint64_t hops = 0;
    std::uint64_t latency = 0;
    std::vector<std::uint64_t> from;  ///< per node: packets that arrived during measurement
};

class TrafficSink final : public Component {
public:
    TrafficSink(std::uint32_t node, const TrafficLoad& load, const TrafficMap& map)
        : Component(fmt::format("sink{}", node)), node_(node), load_(load), width_(map.width()) {
        tally.from.assign(map.nodes(), 0);
    }
    void connect(Link<Packet>& link) { link_ = &link; }
    Cycle step(Cycle now) override {
        while (link_->has(now)) {
            const Packet packet = link_->pop_and_release(now);
            const Cycle end = load_.warm_up + load_.measured;
            if (now >= load_.warm_up && now < end) ++tally.from[packet.source];
            const auto apart = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
            const std::uint32_t hops = 1 + apart(packet.source % width_, node_ % width_) + apart(packet.source / width_, node_ / width_);
            ++tally.delivered;
            tally.all_hops += hops;
            if (packet.address < load_.warm_up || packet.address >= end) continue;
            ++tally.packets;
            tally.hops += hops;
            tally.latency += now - packet.address;
        }
        return link_->head_arrival();
    }
    void stats(StatFields&, Cycle) const override {}

    Tally tally;

private:
    const std::uint32_t node_;
    const TrafficLoad& load_;
    const std::uint32_t width_;
    Link<Packet>* link_ = nullptr;
};

constexpr Time kRim = 1;  ///< cycles of the links at the edge

/// Everything is in one domain: there is one thread and no synchronisation.
struct Arrangement {
    Arrangement(const TrafficBench& bench, const TrafficLoad& load, const TrafficMap& map) : domain(wiring.domain("network", Clock{})) {
        NetworkSide from{"source -> network", {}, std::max(bench.shape.input_buffer_flits, load.flits), kRim, kRim};
        NetworkSide to{"network -> sink", {}, 64, kRim, kRim};
        for (std::uint32_t n = 0; n < map.nodes(); ++n) {
            sources.push_back(&wiring.add<TrafficSource>(domain, "source", n, load, map));
            sinks.push_back(&wiring.add<TrafficSink>(domain, "sink", n, load, map));
            from.components.push_back(sources.back());
            to.components.push_back(sinks.back());
        }
        NetworkSpec spec;
        static_cast<NetworkShape&>(spec) = bench.shape;
        const NetworkBuild build{wiring, domain, spec, "", std::move(from), std::move(to)};
        const Policies policies(*bench.registry, bench.sections);
        const GridTraits* const grid = *bench.registry->traits<NetworkKind>(bench.shape.kind).grid;
        const NetworkPorts ports =
            grid != nullptr ? grid->build(build, bench.width, bench.height, bench.sections) : build_network(build, policies);
        for (std::uint32_t n = 0; n < map.nodes(); ++n) {
            sources[n]->connect(*ports.from_sources[n]);
            sinks[n]->connect(*ports.to_sinks[n]);
        }
        for (const Wiring::Part& part : wiring.parts()) part.component->wake(0);
    }
    void run(Cycle until) {
        for (; now < until; now += 512) domain.run(now, now + 512, true, window++);
    }

    Wiring wiring;
    Domain& domain;
    std::vector<TrafficSource*> sources;
    std::vector<TrafficSink*> sinks;
    Cycle now = 0;
    std::uint64_t window = 0;
};

/// All sinks together.
Tally sum_of(const Arrangement& all) {
    Tally sum;
    sum.from.assign(all.sinks.size(), 0);
    for (const TrafficSink* sink : all.sinks) {
        const Tally& tally = sink->tally;
        sum.delivered += tally.delivered;
        sum.all_hops += tally.all_hops;
        sum.packets += tally.packets;
        sum.hops += tally.hops;
        sum.latency += tally.latency;
        for (std::size_t n = 0; n < sum.from.size(); ++n) sum.from[n] += tally.from[n];
    }
    return sum;
}

TrafficResult result_of(const TrafficLoad& load, const Tally& sum, bool drained) {
    const auto per_cycle = [&](double packets) { return packets * load.flits / static_cast<double>(load.measured); };
    double total = 0;
    for (const std::uint64_t packets : sum.from) total += static_cast<double>(packets);
    TrafficResult result;
    result.offered = load.rate;
    result.accepted = per_cycle(total) / static_cast<double>(sum.from.size());
    result.lowest = per_cycle(static_cast<double>(*std::min_element(sum.from.begin(), sum.from.end())));
    result.drained = drained;
    result.packets = sum.packets;
    result.delivered = sum.delivered;
    result.hops = sum.all_hops;
    if (sum.packets != 0) result.latency = static_cast<double>(sum.latency) / static_cast<double>(sum.packets);
    return result;
}

}  // namespace

std::string TrafficBench::description() const {
    const GridTraits* const grid = *registry->traits<NetworkKind>(shape.kind).grid;
    return grid != nullptr ? grid->description(width, height, sections)
                           : fmt::format("{} of {} sources and sinks", shape.kind, width * height);
}

double TrafficBench::bound(TrafficPattern pattern) const {
    const TrafficMap map(pattern, width, height);
    const GridTraits* const grid = *registry->traits<NetworkKind>(shape.kind).grid;
    return grid != nullptr ? grid->bound(map, sections) : map.rim_bound();
}

TrafficResult TrafficBench::run(const TrafficLoad& load) const {
    const TrafficMap map(load.pattern, width, height);
    Arrangement all(*this, load, map);
    const Cycle end = load.warm_up + load.measured;
    all.run(end);
    // Packets created during measurement may arrive later; if they still have not, the network is saturated.
    std::uint64_t born = 0, arrived = 0;
    bool behind = true;
    for (Cycle later = end; later <= end + load.measured && (behind || arrived != born); later += 512) {
        all.run(later + 512);
        born = arrived = 0;
        behind = false;
        for (const TrafficSource* source : all.sources) {
            born += source->measured();
            behind = behind || source->behind();
        }
        for (const TrafficSink* sink : all.sinks) arrived += sink->tally.packets;
    }
    const Tally sum = sum_of(all);
    TrafficResult result = result_of(load, sum, !behind && arrived == born);
    const GridTraits* const grid = *registry->traits<NetworkKind>(shape.kind).grid;
    if (grid != nullptr && sum.packets != 0)
        result.zero_load =
            2 * kRim + load.flits - 1 + grid->hop_cycles(sections) * static_cast<double>(sum.hops) / static_cast<double>(sum.packets);
    return result;
}

}  // namespace mergelane
