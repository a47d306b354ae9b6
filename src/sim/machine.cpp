// SPDX-License-Identifier: MIT
#include "sim/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

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
      rows_(map_, {spec_.dram.address_map, spec_.dram.banks, spec_.dram.bank_hash}, spec_.l2.slices_per_channel),
      fabric_(fabric_of(spec_.sections)),
      sm_l1_(sm_l1(spec_, fabric_ != nullptr && fabric_->caches() != 0)),
      port_sizes_(fabric_ != nullptr ? fabric_->port_sizes(spec_.lsu.block_bytes) : request_sizes_),
      port_map_(fabric_ != nullptr ? fabric_->port_map(map_, spec_.gpu.clusters) : map_),
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
        group.fabric != nullptr ? connect_fabric(group) : connect_networks(group);
        connect_memory(group);
        hand_out_links(group);
    }
    wiring_.declare_stages();
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
    Component* port = group.slices.back();
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
    const ClusterContext context{size, spec_.lsu.block_bytes, spec_.policies()};
    ClusterPort& port = wiring_.add<ClusterPort>(domain, "cluster", fmt::format("{}cluster{}.port", group.prefix, index), spec_.cluster,
                                                 port_map_, port_sizes_, make_cluster_units(context));
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
        links.replies = &wiring_.link<Packet>("cluster -> sm", port, sm, 2, timing_.port_to_sm, cycle);
        group.port_links[cluster].from_sms.push_back(links.requests);
        group.port_links[cluster].to_sms.push_back(links.replies);
    }
}

NetworkPorts Machine::network(Domain& domain, const NetworkSpec& spec, const std::string& prefix, NetworkSide sources, NetworkSide sinks) {
    return build_network({wiring_, domain, spec, prefix, std::move(sources), std::move(sinks), &rows_}, spec_.policies());
}

/// Clusters to the request network to the L2, and back through the reply network.
void Machine::connect_networks(Group& group) {
    const std::vector<Component*> ports(group.ports.begin(), group.ports.end());
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
                          buffers_.l2_input, spec_.lsu.block_bytes, spec_.policies(), group.meters, make_network});
}

/// SM clusters to the fabric that replaces the networks, and the fabric to the L2.
void Machine::connect_fabric(Group& group) {
    take_rim(group, group.fabric->connect({group.ports.begin(), group.ports.end()}, group.l2_ports));
}

/// Links of SM clusters and L2 slices to the networks or fabric between them.
void Machine::take_rim(Group& group, const FabricPorts& rim) {
    for (std::size_t c = 0; c < group.ports.size(); ++c) {
        group.port_links[c].to_network = rim.from_ports[c];
        group.port_links[c].from_network = rim.to_ports[c];
    }
    for (std::size_t s = 0; s < group.slices.size(); ++s) {
        L2Slice::Links& links = group.slice_links[s];
        links.requests = rim.to_slices[s];
        links.replies = rim.from_slices[s];
        if (!group.coalescers.empty()) connect_coalescer(*group.coalescers[s], *group.slices[s], links);
    }
}

/// Puts the coalescer of a slice into its links to the networks.
void Machine::connect_coalescer(RequestCoalescer& coalescer, L2Slice& slice, L2Slice::Links& links) {
    Link<Packet>& down = wiring_.link<Packet>("lrc -> l2", coalescer, slice, buffers_.slice_input, timing_.to_slice, timing_.l2.time_of(1));
    Link<Packet>& up =
        wiring_.link<Packet>("l2 -> lrc", slice, coalescer, 2 * reply_sizes_.max_flits(), timing_.l2.time_of(1), timing_.l2.time_of(1));
    coalescer.connect({links.requests, &down, &up, links.replies});
    links.requests = &down;
    links.replies = &up;
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

void Machine::launch(const KernelSource& original, Cycle start) {
    std::unique_ptr<KernelSource> transformed = transform_->wrap(original, {spec_.sms(), fitting(spec_, original.info()).ctas});
    const KernelSource& kernel = transformed != nullptr ? *transformed : original;
    const KernelInfo& info = kernel.info();
    const Residency fit = fitting(spec_, info);
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
