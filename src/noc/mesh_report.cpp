// SPDX-License-Identifier: MIT
// Reports of a mesh: statistics, gauges, and wait chains for deadlock reports.
#include <fmt/format.h>

#include <algorithm>

#include "core/meter.hpp"
#include "noc/router_unit.hpp"

namespace mergelane {

namespace {
constexpr std::array<std::string_view, Mesh::kPorts> kDirection = {"its sink", "the east", "the west", "the north", "the south"};
}

std::uint64_t Mesh::held() const {
    std::uint64_t sum = 0;
    for (const Network& network : networks_) sum += inside(network);
    return sum;
}

std::uint64_t Mesh::credits_out() const {
    std::uint64_t sum = 0;
    for (std::uint32_t r = 0; r < routers(); ++r) {
        for (std::uint32_t port = east; port < kPorts; ++port) {
            if (ahead_[r * kPorts + port] == kNone) continue;
            for (std::uint32_t c = 0; c < channels_; ++c) sum += buffer_flits_ - outputs_[r * kStride + port * kChannels + c].credits;
        }
    }
    for (const Source& source : sources_) {
        for (std::uint32_t c = 0; c < channels_; ++c) sum += buffer_flits_ - source.credits[c];
    }
    return sum;
}

void Mesh::plant_credit_leak(std::uint32_t router, Port output, std::uint32_t channel, std::uint32_t credits) {
    std::uint16_t& left = outputs_[router * kStride + output * kChannels + channel].credits;
    left = static_cast<std::uint16_t>(left - std::min<std::uint32_t>(left, credits));
    if (left == 0) routers_[router].open[output] &= static_cast<Small>(~(1u << channel));
}

void Mesh::observe(const Sections& sections) {
    Network& network = networks_.back();
    network.observers = observers(
        sections, &MeterSection::at_network,
        NetworkPlace{static_cast<std::uint32_t>(network.sources.size()), static_cast<std::uint32_t>(network.destinations.size())});
}

void Mesh::stats(StatFields& f, Cycle now) const {
    for (const Network& n : networks_) {
        const auto of_kind = [&](PacketKind kind) { return n.packets[static_cast<std::size_t>(kind)]; };
        f.group(n.statistics);
        f.add("packets_in", n.packets_in, "packets", "packets that entered a router from a source");
        f.add("packets", n.packets_out, "packets", "packets that reached their sink");
        f.add("flits", n.flits, "flits", "flits of these packets");
        f.add("read_packets", of_kind(PacketKind::read) + of_kind(PacketKind::read_reply), "packets",
              "read requests or read replies among the packets");
        f.add("multi_flit_packets", n.data_packets, "packets", "packets longer than one flit");
        f.add("wait", n.wait, "network cycles", "cycles in addition to the zero-load latency, summed over packets");
        f.add("latency", n.latency, "network cycles", "cycles from injection until the tail leaves the mesh, summed over packets");
        f.add("hops", n.hops, "routers", "routers traversed, summed over delivered packets");
        f.add("shortest_hops", n.shortest_hops, "routers", "routers on the shortest path, summed over injected packets");
        for (const auto& observer : n.observers) observer->stats(f);
        f.group(n.router_statistics);
        f.add("flits", n.switch_flits, "flits", "flits of delivered packets, counted at every router traversed");
    }
    for (const auto& unit : units_) unit->stats(f, now);
}

void Mesh::stages(Stages& out) {
    for (Network& network : networks_) {
        out.group(network.statistics);
        out.add(network.traversal, "traversal", "zero-load latency of the routers on the path, and the flits of the packet");
        if (has_units_) out.add(network.delayed, "delayed", "delayed by a router unit while the output was free");
        out.add(network.contention, "contention", "waiting for virtual channels, for a switch, or for credits");
    }
}

void Mesh::gauges(StatFields& f) const {
    for (const Network& network : networks_) {
        f.group(network.statistics);
        f.add("held", inside(network), "packets", "packets inside the network");
    }
    // Two networks on the same links report under the name of the first.
    f.group(networks_.front().statistics);
    f.add("credits_out", credits_out(), "flits", "buffer space in use, or with credits in flight");
    for (const auto& unit : units_) unit->gauges(f);
}

std::string Mesh::where(std::uint32_t router) const {
    return fmt::format("router {} ({},{})", router, routers_[router].x, routers_[router].y);
}

/// Follows a blocked flit to what it waits for, transitively.
struct Mesh::Chain {
    std::vector<std::uint32_t> seen;  ///< input channels
    std::vector<std::string> steps;
    const Component* sink = nullptr;
    bool lost = false;  ///< ends at missing credits that no flit can return
};

void Mesh::follow(std::uint32_t channel, Chain& chain) const {
    while (true) {
        if (std::find(chain.seen.begin(), chain.seen.end(), channel) != chain.seen.end()) {
            chain.steps.emplace_back("closes the cycle");
            return;
        }
        chain.seen.push_back(channel);
        const std::uint32_t router = channel / kStride;
        const InputChannel& in = inputs_[channel];
        if (in.channel == kNoChannel && in.output == local) {
            chain.steps.push_back(fmt::format("{} has no credits at its sink", where(router)));
            chain.sink = sinks_[router].link->receiver();
            return;
        }
        if (in.channel == kNoChannel) {
            const std::uint32_t first = lowest_bit(networks_[class_of(channel % kChannels)].channels);
            chain.steps.push_back(fmt::format("{} has no free virtual channel to {}", where(router), kDirection[in.output]));
            channel = router * kStride + outputs_[router * kStride + in.output * kChannels + first].owner;
            continue;
        }
        if (in.output == local || outputs_[in.to].credits != 0) return;
        const std::uint32_t next = in.next;
        chain.lost = inputs_[next].count == 0;
        chain.steps.push_back(fmt::format("{} has no credit for virtual channel {} to {}{}", where(router), in.channel,
                                          kDirection[in.output],
                                          chain.lost ? ", though the buffer there is empty: credits were lost" : ""));
        if (chain.lost) return;
        channel = next;
    }
}

void Mesh::explain(std::vector<Wait>& waits) const {
    Chain best;
    for (std::uint32_t channel = 0; channel < inputs_.size() && !best.lost; ++channel) {
        if (inputs_[channel].count == 0) continue;
        Chain chain;
        follow(channel, chain);
        if (best.steps.empty() || chain.lost || (chain.sink != nullptr && best.sink == nullptr)) best = std::move(chain);
    }
    if (best.steps.empty()) {
        if (has_units_ && held() != 0)
            waits.push_back({this, nullptr,
                             fmt::format("{} packets are in the network, but none is in a buffer: router units hold them", held()), false});
        return;
    }
    std::string why;
    for (const std::string& step : best.steps) why += (why.empty() ? "" : "; ") + step;
    waits.push_back({this, best.sink, std::move(why), true});
}

NetworkPorts mesh_network(const NetworkBuild& build, const Sections& sections) {
    const MeshSpec& spec = sections.get<MeshSpec>();
    const bool replies = build.spec.brings_replies();
    const auto sources = static_cast<std::uint32_t>(build.sources.components.size());
    const auto sinks = static_cast<std::uint32_t>(build.sinks.components.size());
    const MeshLayout layout = mesh_layout(spec, replies ? sinks : sources, replies ? sources : sinks);
    Mesh* mesh = nullptr;
    // Replies join the mesh of the requests, which is already there.
    if (spec.shared && !build.domain.components().empty()) mesh = dynamic_cast<Mesh*>(build.domain.components().front());
    if (mesh == nullptr) {
        mesh = &build.add<Mesh>("mesh", spec, layout.width, layout.height, spec.shared ? 2u : 1u);
        add_enabled_units({*mesh, build.spec, build.rows, sections});
    }
    NetworkPorts ports;
    for (std::size_t i = 0; i < sources; ++i) ports.from_sources.push_back(&build.from_source(i, *mesh));
    for (std::size_t o = 0; o < sinks; ++o) ports.to_sinks.push_back(&build.to_sink(*mesh, o));
    mesh->connect(build.spec.name, ports.from_sources, replies ? layout.memories : layout.clusters, ports.to_sinks,
                  replies ? layout.clusters : layout.memories);
    mesh->observe(sections);
    return ports;
}

}  // namespace mergelane
