// SPDX-License-Identifier: MIT
#include "nodes/dcl1_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"

namespace mergelane {

namespace {

/// Crossbars in one domain are stepped by one thread; more domains than this cost more in synchronisation than they gain.
constexpr std::uint32_t kDomainsPerDirection = 10;

L1Node::Shared shared_of(const DcL1Spec& spec, const FabricBuild& build, const DcL1Layout& layout, const LocalTiming& local) {
    std::vector<std::uint16_t> far;
    for (std::uint32_t index = 0; index < layout.slices; ++index)
        far.push_back(static_cast<std::uint16_t>(layout.split() ? index % layout.slices_per_network() : build.map.slice_at(index)));
    return {spec,
            spec.cache(build.l1, build.sms),
            spec.port_sizes(build.block_bytes),
            build.request.sizes(build.block_bytes),
            local.hit_cycles,
            layout.cores_per_cluster(),
            spec.local == DcL1Spec::Local::direct,
            spec.port_map(build.map, layout.cores),
            build.map.numbered(std::move(far)),
            build.policies};
}

}  // namespace

DcL1Fabric::DcL1Fabric(const DcL1Spec& spec, const FabricBuild& build)
    : build_(build),
      layout_(spec, build.ports, build.map.slices()),
      local_(spec, build.timing),
      shared_(shared_of(spec, build, layout_, local_)) {
    Wiring& wiring = build.wiring;
    const std::string& prefix = build.prefix;
    const auto domains = [&](std::vector<Domain*>& list, std::string_view what, std::uint32_t networks, Clock clock) {
        for (std::uint32_t d = 0; d < std::min(networks, kDomainsPerDirection); ++d)
            list.push_back(&wiring.domain(fmt::format("{}{}{}", prefix, what, d), clock));
    };
    if (!shared_.direct) {
        domains(request_domains_, "local_request_network", layout_.clusters, local_.clock);
        domains(reply_domains_, "local_reply_network", layout_.clusters, local_.clock);
    }
    // Nodes of a cluster share a domain, up to a limit.
    Domain* domain = nullptr;
    for (std::uint32_t n = 0; n < layout_.nodes; ++n) {
        const std::uint32_t index = n % layout_.nodes_per_cluster();
        if (index % 4 == 0) domain = &wiring.domain(fmt::format("{}nodes{}", prefix, n), build.timing.core);
        nodes_.push_back(&wiring.add<L1Node>(*domain, "node", fmt::format("{}node{}", prefix, n), shared_, index));
        if (spec.sets == DcL1Spec::Sets::local)
            nodes_.back()->cache().share_lines(layout_.share(build.map.interleave_bytes(), shared_.cache.line_bytes));
    }
    for (L1Meter* meter : build.meters) {
        if (!spec.caching) break;  // the SMs have the L1s
        for (L1Node* node : nodes_) meter->watch(node->cache(), build.timing.core);
        meter->allow(layout_.clusters);
    }
    links_.resize(nodes_.size());
    domains(far_request_domains_, "request_network", layout_.far_networks(), build.request.clock);
    domains(far_reply_domains_, "reply_network", layout_.far_networks(), build.reply.clock);
}

void DcL1Fabric::begin_kernel() {
    for (L1Node* node : nodes_) node->begin_kernel();
}

NetworkSpec DcL1Fabric::local_network(std::string_view name) const {
    NetworkSpec network = build_.request;  // the same allocators and buffers
    network.name = name;
    network.kind = "crossbar";
    network.clock = local_.clock;
    network.flit_bytes = shared_.spec.local_flit_bytes;
    network.header_bytes = shared_.spec.local_header_bytes;
    return network;
}

/// Capacity: the queue plus what its link has in flight.
std::uint32_t DcL1Fabric::room(Time forward, Time credit, Clock clock) const {
    return shared_.spec.queue + static_cast<std::uint32_t>(divide_up(forward + credit, clock.period));
}

FabricPorts DcL1Fabric::connect(const std::vector<Component*>& ports, const std::vector<Component*>& slices) {
    FabricPorts rim;
    for (std::vector<L1Node::Links>& lanes : links_) lanes.resize(shared_.direct ? layout_.cores_per_cluster() : 1);
    if (shared_.direct)
        connect_directly(ports, rim);
    else
        connect_local(ports, rim);
    connect_far(slices, rim);
    for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[n]->connect(std::move(links_[n]));
    return rim;
}

/// One crossbar in each direction for every node cluster.
void DcL1Fabric::connect_local(const std::vector<Component*>& ports, FabricPorts& rim) {
    const NetworkSpec request = local_network("noc.local_request");
    const NetworkSpec reply = local_network("noc.local_reply");
    const std::uint32_t cores = layout_.cores_per_cluster();
    const std::uint32_t nodes = layout_.nodes_per_cluster();
    for (std::uint32_t c = 0; c < layout_.clusters; ++c) {
        const std::vector<Component*> mine(ports.begin() + c * cores, ports.begin() + (c + 1) * cores);
        const std::vector<Component*> at(nodes_.begin() + c * nodes, nodes_.begin() + (c + 1) * nodes);
        const std::string prefix = fmt::format("{}cluster{}.", build_.prefix, c);
        const NetworkPorts there =
            build_.network(*request_domains_[c % request_domains_.size()], request, prefix,
                           {"cluster -> local request network", mine, request.input_buffer_flits, local_.request_in, local_.credit},
                           {"local request network -> node", at, room(local_.request_out, local_.credit, local_.clock), local_.request_out,
                            local_.credit});
        const NetworkPorts back = build_.network(
            *reply_domains_[c % reply_domains_.size()], reply, prefix,
            {"node -> local reply network", at, reply.input_buffer_flits, local_.reply_in, local_.credit},
            {"local reply network -> cluster", mine, room(local_.reply_out, local_.credit, local_.clock), local_.reply_out, local_.credit});
        rim.from_ports.insert(rim.from_ports.end(), there.from_sources.begin(), there.from_sources.end());
        rim.to_ports.insert(rim.to_ports.end(), back.to_sinks.begin(), back.to_sinks.end());
        for (std::uint32_t n = 0; n < nodes; ++n) {
            links_[c * nodes + n][0].from_cores = there.to_sinks[n];
            links_[c * nodes + n][0].to_cores = back.from_sources[n];
        }
    }
}

/// One port per SM at the only node of its cluster.
void DcL1Fabric::connect_directly(const std::vector<Component*>& ports, FabricPorts& rim) {
    const std::uint32_t cores = layout_.cores_per_cluster();
    const Clock core = build_.timing.core;
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
        L1Node& node = *nodes_[p / cores];
        L1Node::Links& lane = links_[p / cores][p % cores];
        // The port counts flits; on these wires all flits of a packet travel in parallel.
        const std::uint32_t flits = shared_.to_cores.max_flits();
        lane.from_cores = &build_.wiring.link<Packet>(
            "cluster -> node", *ports[p], node, flits * room(local_.request_out, local_.credit, core), local_.request_out, local_.credit);
        lane.to_cores = &build_.wiring.link<Packet>("node -> cluster", node, *ports[p], room(local_.reply_out, local_.credit, core),
                                                    local_.reply_out, local_.credit);
        rim.from_ports.push_back(lane.from_cores);
        rim.to_ports.push_back(lane.to_cores);
    }
}

/// To the L2: one network for the first node of every cluster, one for the second, ..., or a single one for all.
void DcL1Fabric::connect_far(const std::vector<Component*>& slices, FabricPorts& rim) {
    rim.to_slices.resize(slices.size());
    rim.from_slices.resize(slices.size());
    const std::uint32_t networks = layout_.far_networks();
    for (std::uint32_t k = 0; k < networks; ++k) {
        std::vector<Component*> nodes;
        std::vector<L1Node::Links*> lanes;
        for (std::uint32_t n = k; n < layout_.nodes; n += networks) {
            for (L1Node::Links& lane : links_[n]) {
                lane.source = static_cast<std::uint16_t>(nodes.size());
                nodes.push_back(nodes_[n]);
                lanes.push_back(&lane);
            }
        }
        std::vector<std::uint32_t> numbers;  // of its slices
        for (std::uint32_t i = 0; i < layout_.slices_per_network(); ++i)
            numbers.push_back(networks == 1 && !layout_.split() ? i : build_.map.slice_at(k * layout_.slices_per_network() + i));
        std::vector<Component*> at;
        for (const std::uint32_t number : numbers) at.push_back(slices[number]);
        const std::string prefix = networks == 1 ? build_.prefix : fmt::format("{}part{}.", build_.prefix, k);
        const NetworkPorts there =
            build_.network(*far_request_domains_[k % far_request_domains_.size()], build_.request, prefix,
                           {"node -> request network", nodes, build_.request.input_buffer_flits, build_.request_in, build_.credit},
                           {"request network -> l2", at, build_.l2_input, build_.request_out, build_.credit});
        const NetworkPorts back = build_.network(
            *far_reply_domains_[k % far_reply_domains_.size()], build_.reply, prefix,
            {"l2 -> reply network", at, build_.reply.input_buffer_flits, build_.reply_in, build_.credit},
            {"reply network -> node", nodes, room(build_.reply_out, build_.credit, build_.reply.clock), build_.reply_out, build_.credit});
        for (std::size_t l = 0; l < lanes.size(); ++l) {
            lanes[l]->to_l2 = there.from_sources[l];
            lanes[l]->from_l2 = back.to_sinks[l];
        }
        for (std::size_t s = 0; s < numbers.size(); ++s) {
            rim.to_slices[numbers[s]] = there.to_sinks[s];
            rim.from_slices[numbers[s]] = back.from_sources[s];
        }
    }
}

}  // namespace mergelane
