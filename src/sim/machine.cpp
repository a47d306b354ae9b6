// SPDX-License-Identifier: MIT
#include "sim/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/network_ports_spec.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {

const MachineSpec& checked(const MachineSpec& spec) {
    const std::vector<SpecProblem> problems = check(spec);
    if (!problems.empty()) throw InputError(problems.front().text);
    return spec;
}

/// With a fabric that has L1s, the SMs have none.
L1Spec sm_l1(const MachineSpec& spec, bool elsewhere) {
    L1Spec l1 = spec.l1;
    if (elsewhere) l1.enabled = false;
    return l1;
}

}  // namespace

/// One group under construction: its components, and the links each of them will receive.
struct Machine::Group {
    std::string prefix;  ///< of its names
    Dispatcher* dispatcher = nullptr;
    std::vector<L1Meter*> meters;  ///< of whatever L1s it has
    std::vector<Sm*> sms;
    std::vector<ClusterPort*> ports;
    Domain* request_network = nullptr;
    Domain* reply_network = nullptr;
    Fabric* fabric = nullptr;  ///< instead of these
    std::vector<L2Slice*> slices;
    std::vector<RequestCoalescer*> coalescers;  ///< of the slices, if they have any
    std::vector<HalfPort*> half_ports;          ///< likewise
    std::vector<Component*> l2_ports;           ///< what the networks lead to: the slices, or what lies in front of them
    std::vector<MemoryChannel*> channels;

    std::vector<Sm::Links> sm_links;
    std::vector<ClusterPort::Links> port_links;
    std::vector<L2Slice::Links> slice_links;
};

Machine::Machine(const MachineSpec& spec)
    : spec_(checked(spec)),
      timing_(spec_),
      buffers_(spec_, timing_),
      request_network_(spec_.noc.network("noc.request", timing_.noc)),
      reply_network_(spec_.noc.network("noc.reply", timing_.noc)),
      request_sizes_(request_network_.sizes(spec_.lsu.block_bytes)),
      reply_sizes_(reply_network_.sizes(spec_.lsu.block_bytes)),
      map_(spec_.dram.channels, spec_.l2.slices_per_channel, spec_.l2.interleave_bytes, spec_.l2.slice_hash),
      rows_(map_, spec_.dram.map(), spec_.l2.slices_per_channel),
      fabric_(fabric_of(spec_.sections)),
      sm_l1_(sm_l1(spec_, fabric_ != nullptr && fabric_->caches() != 0)),
      port_sizes_(fabric_ != nullptr ? fabric_->port_sizes(spec_.lsu.block_bytes) : request_sizes_),
      port_maps_(port_maps()),
      port_width_(spec_.section<ClusterWidthSpec>().packets_per_cycle),
      network_ports_(spec_.section<NetworkPortsSpec>().ports),
      transform_(spec_.policies().make<KernelTransform>(spec_.dispatch.transform, spec_.dispatch)),
      dispatchers_(wiring_.all<Dispatcher>()),
      sms_(wiring_.all<Sm>()),
      ports_(wiring_.all<ClusterPort>()),
      slices_(wiring_.all<L2Slice>()) {
    for (std::uint32_t g = 0; g < spec_.gpu.groups; ++g) {
        Group group;
        if (spec_.gpu.groups > 1) group.prefix = fmt::format("group{}.", g);
        add_stations(group);
        connect_dispatch(group);
        connect_clusters(group);
        if (spec_.section<GpcSpec>().enabled()) connect_gpcs(group);
        group.fabric != nullptr ? connect_fabric(group) : connect_networks(group);
        connect_memory(group);
        hand_out_links(group);
    }
    wiring_.declare_stages();
}

/// How cluster ports number destinations. Of an L2 in two halves, the clusters of each half know only its slices.
std::vector<AddressMap> Machine::port_maps() const {
    if (fabric_ != nullptr) return {fabric_->port_map(map_, spec_.gpu.clusters)};
    if (!spec_.section<HalvesSpec>().enabled()) return {map_};
    const std::uint32_t half = spec_.slices() / 2;
    std::vector<AddressMap> maps;
    for (const std::uint32_t first : {0u, half}) {
        std::vector<std::uint16_t> numbers;
        for (std::uint32_t index = 0; index < map_.slices(); ++index)
            numbers.push_back(static_cast<std::uint16_t>(first + map_.slice_at(index) % half));
        maps.push_back(map_.numbered(std::move(numbers)));
    }
    return maps;
}

/// In the order of the memory path. Each SM cluster, network, slice and channel is a separate domain.
void Machine::add_stations(Group& group) {
    const std::string& prefix = group.prefix;
    group.dispatcher = &wiring_.add<Dispatcher>(wiring_.domain(prefix + "dispatch", timing_.core), "dispatch", prefix + "dispatcher",
                                                spec_.dispatch, spec_.gpu.clusters, spec_.gpu.sms_per_cluster,
                                                spec_.section<ClusterSizesSpec>().first_sms(), spec_.policies());
    group.meters = observers(spec_.sections, &MeterSection::at_l1s, L1Place{wiring_, group.dispatcher->domain(), prefix, timing_.core});
    l1_meters_.insert(l1_meters_.end(), group.meters.begin(), group.meters.end());
    for (std::uint32_t c = 0; c < spec_.gpu.clusters; ++c) add_cluster(group, c);
    if (fabric_ != nullptr) {
        group.fabric = fabrics_.emplace_back(make_fabric(group)).get();
    } else {
        group.request_network = &wiring_.domain(prefix + "request_network", request_network_.clock);
        const auto& shares_wires = *spec_.network_traits().shares_wires;
        group.reply_network = shares_wires != nullptr && shares_wires(spec_.sections)
                                  ? group.request_network
                                  : &wiring_.domain(prefix + "reply_network", reply_network_.clock);
    }
    for (std::uint32_t s = 0; s < spec_.slices(); ++s) add_slice(group, s);
    for (std::uint32_t c = 0; c < spec_.dram.channels; ++c) {
        const std::string name = fmt::format("{}dram.channel{}", prefix, c);
        group.channels.push_back(&add_channel(name));
    }
    group.sm_links.resize(group.sms.size());
    group.port_links.resize(group.ports.size());
    group.slice_links.resize(group.slices.size());
}

void Machine::add_slice(Group& group, std::uint32_t index) {
    const std::string name = fmt::format("{}l2.slice{}", group.prefix, index);
    Domain& domain = wiring_.domain(name, timing_.l2);
    group.slices.push_back(
        &wiring_.add<L2Slice>(domain, "l2", name, spec_.l2, map_, reply_sizes_, index % spec_.l2.slices_per_channel, spec_.policies()));
    if (const auto& residency = spec_.section<ResidencySpec>(); residency.enabled()) group.slices.back()->use_hints(residency);
    Component* port = group.slices.back();
    if (const auto& halves = spec_.section<HalvesSpec>(); halves.enabled()) {
        if (halves.copies()) group.slices.back()->hold_copies();
        group.half_ports.push_back(&wiring_.add<HalfPort>(domain, "halves", name + ".half_port", halves, map_, reply_sizes_, index));
        port = group.half_ports.back();
    }
    if (const auto& lrc = spec_.section<RequestCoalescerSpec>(); lrc.enabled()) {
        group.coalescers.push_back(
            &wiring_.add<RequestCoalescer>(domain, "lrc", name + ".coalescer", lrc, reply_sizes_, spec_.l2.line_bytes));
        port = group.coalescers.back();
    }
    group.l2_ports.push_back(port);
}

MemoryChannel& Machine::add_channel(const std::string& name) {
    Domain& domain = wiring_.domain(name, timing_.dram);
    MemoryChannel* channel = nullptr;
    if (spec_.sections.get<DramControllerSpec>().enabled())
        channel = &wiring_.add<DetailedChannel>(domain, "dram", name, spec_.dram, spec_.policies());
    else
        channel = &wiring_.add<DramChannel>(domain, "dram", name, spec_.dram, spec_.policies());
    return *channels_.emplace_back(channel);
}

void Machine::add_cluster(Group& group, std::uint32_t index) {
    const std::uint32_t first = spec_.first_sm(index);
    const std::uint32_t size = spec_.sms_in(index);
    Domain& domain = wiring_.domain(fmt::format("{}cluster{}", group.prefix, index), timing_.core);
    for (std::uint32_t s = 0; s < size; ++s) {
        Sm& sm = wiring_.add<Sm>(domain, "sm", fmt::format("{}sm{}", group.prefix, first + s), spec_.sm, spec_.lsu, sm_l1_, index, s,
                                 spec_.policies());
        if (!sm_l1_.enabled && fabric_ != nullptr) sm.describe_reads();
        group.sms.push_back(&sm);
        for (L1Meter* meter : group.meters) {
            if (sm_l1_.enabled && sm.l1() != nullptr) meter->watch(*sm.l1(), timing_.core);
        }
    }
    const AddressMap& port_map = 2 * index < spec_.gpu.clusters ? port_maps_.front() : port_maps_.back();
    const ClusterContext context{size, spec_.lsu.block_bytes, spec_.policies()};
    ClusterPort& port = wiring_.add<ClusterPort>(domain, "cluster", fmt::format("{}cluster{}.port", group.prefix, index), spec_.cluster,
                                                 port_map, port_sizes_, make_cluster_units(context), port_width_, index * network_ports_);
    for (const auto& unit : port.units()) {
        SmObserver* const observer = unit->sm_observer();
        for (std::uint32_t s = 0; observer != nullptr && s < size; ++s) group.sms[first + s]->observe(*observer);
    }
    group.ports.push_back(&port);
}

/// Dispatcher and SMs. A context has at most one message in flight, and its credit returns before the next one.
void Machine::connect_dispatch(Group& group) {
    std::vector<Link<CtaMessage>*> to_sms, from_sms;
    for (std::size_t s = 0; s < group.sms.size(); ++s) {
        Dispatcher& dispatcher = *group.dispatcher;
        Sm& sm = *group.sms[s];
        Sm::Links& links = group.sm_links[s];
        const std::uint32_t slots = spec_.sm.cta_slots;
        links.work = &wiring_.link<CtaMessage>("dispatch -> sm", dispatcher, sm, slots, timing_.dispatch, timing_.dispatch);
        links.done = &wiring_.link<CtaMessage>("sm -> dispatch", sm, dispatcher, slots, timing_.dispatch, timing_.dispatch);
        to_sms.push_back(links.work);
        from_sms.push_back(links.done);
    }
    group.dispatcher->connect(std::move(to_sms), std::move(from_sms));
}

/// SMs and the port of their SM cluster, which share a domain.
void Machine::connect_clusters(Group& group) {
    const Time cycle = timing_.core.time_of(1);
    std::uint32_t cluster = 0;
    for (std::size_t s = 0; s < group.sms.size(); ++s) {
        if (s == spec_.first_sm(cluster + 1)) ++cluster;
        Sm& sm = *group.sms[s];
        ClusterPort& port = *group.ports[cluster];
        Sm::Links& links = group.sm_links[s];
        links.requests = &wiring_.link<Packet>("sm -> cluster", sm, port, buffers_.miss_queue, timing_.sm_to_port, cycle);
        links.replies = &wiring_.link<Packet>("cluster -> sm", port, sm, 2 * port_width_, timing_.port_to_sm, cycle);
        group.port_links[cluster].from_sms.push_back(links.requests);
        group.port_links[cluster].to_sms.push_back(links.replies);
    }
}

/// The SMs of each GPC and their switch, which the dispatcher tells where CTAs of clusters are.
void Machine::connect_gpcs(Group& group) {
    const auto& gpc = spec_.section<GpcSpec>();
    const Time forward = timing_.core.time_of(gpc.latency);
    const auto room = static_cast<std::uint32_t>(2 * gpc.latency + 16);
    std::vector<std::uint32_t> firsts = gpc.first_sms(spec_.sms());
    std::vector<Link<GpcMessage>*> placements;
    for (std::size_t g = 0; g + 1 < firsts.size(); ++g) {
        const std::string name = fmt::format("gpc{}", g);
        GpcSwitch& middle = wiring_.add<GpcSwitch>(wiring_.domain(name, timing_.core), "gpc", name + ".switch", gpc);
        std::vector<Link<GpcMessage>*> from_sms, to_sms;
        for (std::uint32_t s = firsts[g]; s < firsts[g + 1]; ++s) {
            from_sms.push_back(&wiring_.link<GpcMessage>("sm -> gpc", *group.sms[s], middle, room, forward, forward));
            to_sms.push_back(&wiring_.link<GpcMessage>("gpc -> sm", middle, *group.sms[s], room, forward, forward));
            group.sms[s]->connect_gpc({from_sms.back(), to_sms.back(), s - firsts[g], gpc.bytes_per_cycle});
        }
        const std::uint32_t contexts = (firsts[g + 1] - firsts[g]) * spec_.sm.cta_slots;
        placements.push_back(
            &wiring_.link<GpcMessage>("dispatch -> gpc", *group.dispatcher, middle, contexts, timing_.dispatch, timing_.dispatch));
        middle.connect(*placements.back(), std::move(from_sms), std::move(to_sms));
    }
    group.dispatcher->connect_gpcs(std::move(firsts), std::move(placements));
}

NetworkPorts Machine::network(Domain& domain, const NetworkSpec& spec, const std::string& prefix, NetworkSide sources, NetworkSide sinks) {
    return build_network({wiring_, domain, spec, prefix, std::move(sources), std::move(sinks), &rows_}, spec_.policies());
}

/// Clusters to the request network to the L2, and back through the reply network.
void Machine::connect_networks(Group& group) {
    std::vector<Component*> ports;
    for (ClusterPort* port : group.ports) ports.insert(ports.end(), network_ports_, port);
    const std::vector<Component*>& slices = group.l2_ports;
    const NetworkPorts request =
        network(*group.request_network, request_network_, group.prefix,
                {"cluster -> request network", ports, request_network_.input_buffer_flits, timing_.request_in, timing_.credit},
                {"request network -> l2", slices, buffers_.l2_input, timing_.request_out, timing_.credit});
    const NetworkPorts reply = network(*group.reply_network, reply_network_, group.prefix,
                                       {"l2 -> reply network", slices, reply_network_.input_buffer_flits, timing_.reply_in, timing_.credit},
                                       {"reply network -> cluster", ports, buffers_.response_fifo, timing_.reply_out, timing_.credit});
    take_rim(group, {request.from_sources, reply.to_sinks, request.to_sinks, reply.from_sources});
}

std::unique_ptr<Fabric> Machine::make_fabric(Group& group) {
    const auto make_network = [this](auto&&... arguments) { return network(std::forward<decltype(arguments)>(arguments)...); };
    return fabric_->make({wiring_, group.prefix, map_, spec_.l1, request_network_, reply_network_, timing_.fabric, timing_.credit,
                          timing_.request_in, timing_.request_out, timing_.reply_in, timing_.reply_out, spec_.gpu.clusters,
                          spec_.sms() / spec_.gpu.groups, buffers_.l2_input, spec_.lsu.block_bytes, spec_.policies(), group.meters,
                          make_network});
}

/// SM clusters to the fabric that replaces the networks, and the fabric to the L2.
void Machine::connect_fabric(Group& group) {
    take_rim(group, group.fabric->connect({group.ports.begin(), group.ports.end()}, group.l2_ports));
}

/// Links of SM clusters and L2 slices to the networks or fabric between them.
void Machine::take_rim(Group& group, const FabricPorts& rim) {
    for (std::size_t p = 0; p < rim.from_ports.size(); ++p) {
        ClusterPort::Links& links = group.port_links[p / network_ports_];
        links.to_networks.push_back(rim.from_ports[p]);
        links.from_networks.push_back(rim.to_ports[p]);
    }
    for (std::size_t s = 0; s < group.slices.size(); ++s) {
        L2Slice::Links& links = group.slice_links[s];
        links.requests = rim.to_slices[s];
        links.replies = rim.from_slices[s];
    }
    connect_coalescers(group);
    connect_half_ports(group);
}

/// Both ways between two components in front of a slice, or one of them and the slice.
std::pair<Link<Packet>*, Link<Packet>*> Machine::link_before_slice(std::string_view outer, Component& from, std::string_view inner,
                                                                   Component& to) {
    const Time cycle = timing_.l2.time_of(1);
    const bool first = outer == "lrc" || !spec_.section<RequestCoalescerSpec>().enabled();
    const Time forward = first ? timing_.to_slice : cycle;
    return {&wiring_.link<Packet>(fmt::format("{} -> {}", outer, inner), from, to, buffers_.slice_input, forward, cycle),
            &wiring_.link<Packet>(fmt::format("{} -> {}", inner, outer), to, from, 2 * reply_sizes_.max_flits(), cycle, cycle)};
}

/// Puts the coalescers of the slices into their links to the networks.
void Machine::connect_coalescers(Group& group) {
    for (std::size_t s = 0; s < group.coalescers.size(); ++s) {
        L2Slice::Links& links = group.slice_links[s];
        const auto [down, up] = group.half_ports.empty() ? link_before_slice("lrc", *group.coalescers[s], "l2", *group.slices[s])
                                                         : link_before_slice("lrc", *group.coalescers[s], "halves", *group.half_ports[s]);
        group.coalescers[s]->connect({links.requests, down, up, links.replies});
        links.requests = down;
        links.replies = up;
    }
}

/// The same for the ports of an L2 in two halves, and the links between the halves.
void Machine::connect_half_ports(Group& group) {
    const std::size_t ports = group.half_ports.size();
    const Time forward = timing_.core.time_of(spec_.section<HalvesSpec>().latency);
    const std::uint32_t room = spec_.section<HalvesSpec>().queue;
    std::vector<Link<Packet>*> requests, replies;  // that a port sends
    for (std::size_t s = 0; s < ports; ++s) {
        HalfPort& peer = *group.half_ports[(s + ports / 2) % ports];
        requests.push_back(&wiring_.link<Packet>("requests between halves", *group.half_ports[s], peer, room, forward, forward));
        replies.push_back(&wiring_.link<Packet>("replies between halves", *group.half_ports[s], peer, room, forward, forward));
    }
    for (std::size_t s = 0; s < ports; ++s) {
        const std::size_t peer = (s + ports / 2) % ports;
        L2Slice::Links& links = group.slice_links[s];
        const auto [down, up] = link_before_slice("halves", *group.half_ports[s], "l2", *group.slices[s]);
        group.half_ports[s]->connect({links.requests, links.replies, down, up, requests[s], requests[peer], replies[s], replies[peer]});
        links.requests = down;
        links.replies = up;
    }
}

/// L2 slices and the DRAM channel they share.
void Machine::connect_memory(Group& group) {
    const std::uint32_t per_channel = spec_.l2.slices_per_channel;
    for (std::size_t c = 0; c < group.channels.size(); ++c) {
        MemoryChannel& channel = *group.channels[c];
        std::vector<Link<DramRequest>*> requests, replies;
        for (std::size_t s = c * per_channel; s < (c + 1) * per_channel; ++s) {
            L2Slice& slice = *group.slices[s];
            L2Slice::Links& links = group.slice_links[s];
            links.to_dram = &wiring_.link<DramRequest>("l2 -> dram", slice, channel, spec_.l2.dram_queue, timing_.to_dram, timing_.credit);
            links.from_dram =
                &wiring_.link<DramRequest>("dram -> l2", channel, slice, buffers_.dram_return, timing_.from_dram, timing_.credit);
            requests.push_back(links.to_dram);
            replies.push_back(links.from_dram);
        }
        channel.connect(std::move(requests), std::move(replies));
    }
}

void Machine::hand_out_links(Group& group) {
    for (std::size_t s = 0; s < group.sms.size(); ++s) group.sms[s]->connect(group.sm_links[s]);
    for (std::size_t c = 0; c < group.ports.size(); ++c) group.ports[c]->connect(std::move(group.port_links[c]));
    for (std::size_t s = 0; s < group.slices.size(); ++s) group.slices[s]->connect(group.slice_links[s]);
}

namespace {

Residency fitting(const MachineSpec& spec, const KernelInfo& info) {
    const Residency fit = residency(spec.sm, info);
    if (fit.ctas != 0) return fit;
    throw InputError(
        fmt::format("kernel '{}' does not fit on an SM of {}: one CTA has {} warps, {} registers per thread and {} bytes of shared memory, "
                    "which exceeds the {}",
                    info.name, spec.name, info.warps_per_cta(), info.registers_per_thread, info.shared_bytes, fit.limited_by));
}

}  // namespace

/// Throws InputError if the machine cannot run clusters of CTAs of this size.
void Machine::check_clusters(const KernelInfo& info, bool transformed) const {
    const std::uint32_t ctas = info.cluster_ctas();
    if (ctas == 1) return;
    const auto fail = [&](const std::string& text) {
        throw InputError(fmt::format("kernel '{}' has clusters of {} CTAs, but {}", info.name, ctas, text));
    };
    const auto& gpc = spec_.section<GpcSpec>();
    if (!gpc.enabled())
        fail(fmt::format("{} has no GPCs; set gpc.enabled = true, or use a machine that has them, such as h100", spec_.name));
    if (transformed) fail("dispatch.transform changes what its CTAs execute; set it to \"none\"");
    const std::vector<std::uint32_t> firsts = gpc.first_sms(spec_.sms());
    std::uint32_t most = 0;
    for (std::size_t g = 0; g + 1 < firsts.size(); ++g) most = std::max(most, firsts[g + 1] - firsts[g]);
    if (ctas > most) fail(fmt::format("the largest GPC of {} has {} SMs, and each CTA of a cluster takes another one", spec_.name, most));
}

void Machine::launch(const KernelSource& original, Cycle start) {
    std::unique_ptr<KernelSource> transformed = transform_->wrap(original, {spec_.sms(), fitting(spec_, original.info()).ctas});
    const KernelSource& kernel = transformed != nullptr ? *transformed : original;
    const KernelInfo& info = kernel.info();
    const Residency fit = fitting(spec_, info);
    check_clusters(info, transformed != nullptr);
    const std::uint32_t groups = spec_.gpu.groups;
    if (kernel.executes_at_placement() && groups > 1) {
        throw InputError(
            fmt::format("kernel '{}' reads its SM ID, its warp slot or a clock, so its CTAs execute in dispatch order, but {} has {} "
                        "dispatchers without a common order; set gpu.groups = 1",
                        info.name, spec_.name, groups));
    }
    for (L1Meter* meter : l1_meters_) meter->begin_kernel(start);
    for (Sm& sm : sms_) sm.launch(kernel, fit.ctas, start);
    for (ClusterPort& port : ports_) port.begin_kernel();
    for (const std::unique_ptr<Fabric>& fabric : fabrics_) fabric->begin_kernel();
    merge_logs();  // all L1s are flushed before anything else happens
    const std::uint64_t ctas = info.ctas();
    for (std::uint32_t g = 0; g < groups; ++g) {
        const Dispatcher::Grid grid{ctas * g / groups, ctas * (g + 1) / groups, fit.ctas, start};
        dispatchers_[g].launch(grid, kernel, g * (spec_.sms() / groups), spec_.sms());
    }
    transformed_ = std::move(transformed);  // the last kernel's streams are gone
}

bool Machine::transforms(const KernelSource& kernel) const {
    return transform_->wrap(kernel, {spec_.sms(), fitting(spec_, kernel.info()).ctas}) != nullptr;
}

void Machine::end_kernel(Cycle end) {
    if (transformed_ != nullptr && finished()) transformed_->finish();
    for (L1Meter* meter : l1_meters_) meter->end_kernel(end);
}

void Machine::merge_logs() {
    for (L1Meter* meter : l1_meters_) meter->merge();
}

std::vector<Island> Machine::islands() {
    std::vector<Island> islands;
    for (std::vector<Domain*>& domains : wiring_.islands()) {
        std::vector<const Dispatcher*> mine;
        for (const Dispatcher& dispatcher : dispatchers_) {
            if (std::find(domains.begin(), domains.end(), &dispatcher.domain()) != domains.end()) mine.push_back(&dispatcher);
        }
        Island& island = islands.emplace_back();
        island.domains = std::move(domains);
        island.busy = [mine = std::move(mine)] {
            return std::any_of(mine.begin(), mine.end(), [](const Dispatcher* dispatcher) { return !dispatcher->finished(); });
        };
    }
    return islands;
}

bool Machine::finished() const {
    return std::all_of(dispatchers_.begin(), dispatchers_.end(), [](const Dispatcher& d) { return d.finished(); });
}

Cycle Machine::finished_at() const {
    Cycle last = 0;
    for (const Dispatcher& dispatcher : dispatchers_) last = std::max(last, dispatcher.finished_at());
    return last;
}

Cycle Machine::last_cta_end() const {
    Cycle last = 0;
    for (const Sm& sm : sms_) last = std::max(last, sm.last_finish());
    return last;
}

std::uint64_t Machine::ctas_completed() const {
    std::uint64_t sum = 0;
    for (const Dispatcher& dispatcher : dispatchers_) sum += dispatcher.completed();
    return sum;
}

std::uint64_t Machine::ctas_total() const {
    std::uint64_t sum = 0;
    for (const Dispatcher& dispatcher : dispatchers_) sum += dispatcher.total();
    return sum;
}

std::uint64_t Machine::warp_instructions() const {
    std::uint64_t sum = 0;
    for (const Sm& sm : sms_) sum += sm.warp_instructions();
    return sum;
}

}  // namespace mergelane
