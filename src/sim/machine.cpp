// SPDX-License-Identifier: MIT
#include "sim/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {

const MachineSpec& checked(const MachineSpec& spec) {
    const std::vector<SpecProblem> problems = check(spec);
    if (!problems.empty()) throw InputError(problems.front().text);
    return spec;
}

}  // namespace

Machine::Machine(const MachineSpec& spec)
    : spec_(checked(spec)),
      timing_(spec_),
      buffers_(spec_, timing_),
      sizes_{spec_.noc.flit_bytes, spec_.noc.header_bytes, spec_.lsu.block_bytes},
      map_(spec_.dram.channels, spec_.l2.slices_per_channel, spec_.l2.interleave_bytes, spec_.l2.slice_hash) {
    for (std::uint32_t group = 0; group < spec_.gpu.groups; ++group) build_group(group);
}

template <class T>
Link<T>& Machine::make_link(std::deque<Link<T>>& pool, std::string_view boundary, std::string name, std::uint32_t capacity,
                            const LinkTiming& timing) {
    Link<T>& link = pool.emplace_back(std::move(name), capacity, timing);
    links_.push_back({boundary, &link});
    return link;
}

void Machine::build_group(std::uint32_t group) {
    const std::string prefix = spec_.gpu.groups > 1 ? fmt::format("group{}.", group) : "";
    const std::uint32_t clusters = spec_.gpu.clusters;
    const std::uint32_t per_cluster = spec_.gpu.sms_per_cluster;
    const std::uint32_t slices = spec_.slices();
    const std::uint32_t sms = clusters * per_cluster;
    const Clock core = timing_.core;
    const auto new_domain = [&](std::string name, Clock clock) -> Domain& {
        return domains_.emplace_back(prefix + std::move(name), clock);
    };
    const auto place = [&](Component& component, Domain& domain) {
        domain.add(component);
        parts_.push_back({&component, domain.clock()});
    };

    // Stations. Each cluster, crossbar, slice and channel is a domain of its own.
    Dispatcher& dispatcher = dispatchers_.emplace_back(prefix + "dispatcher", spec_.dispatch, clusters, per_cluster, spec_.policies());
    place(dispatcher, new_domain("dispatch", core));
    const std::size_t first_sm = sms_.size();
    const std::size_t first_port = ports_.size();
    for (std::uint32_t c = 0; c < clusters; ++c) {
        Domain& domain = new_domain(fmt::format("cluster{}", c), core);
        for (std::uint32_t s = 0; s < per_cluster; ++s) {
            Sm& sm = sms_.emplace_back(fmt::format("{}sm{}", prefix, c * per_cluster + s), spec_.sm, spec_.lsu, spec_.l1, c, s,
                                       spec_.policies());
            if (spec_.cluster.locality.enabled) sm.describe_reads();
            place(sm, domain);
        }
        place(ports_.emplace_back(fmt::format("{}cluster{}.port", prefix, c), spec_.cluster, map_, sizes_), domain);
    }
    Crossbar& request_net = crossbars_.emplace_back(prefix + "request_crossbar", "noc.request", spec_.noc);
    place(request_net, new_domain("request_network", timing_.noc));
    Crossbar& reply_net = crossbars_.emplace_back(prefix + "reply_crossbar", "noc.reply", spec_.noc);
    place(reply_net, new_domain("reply_network", timing_.noc));
    const std::size_t first_slice = slices_.size();
    for (std::uint32_t s = 0; s < slices; ++s) {
        place(slices_.emplace_back(fmt::format("{}l2.slice{}", prefix, s), spec_.l2, map_, sizes_, s % spec_.l2.slices_per_channel,
                                   spec_.policies()),
              new_domain(fmt::format("l2.slice{}", s), timing_.l2));
    }
    const std::size_t first_channel = channels_.size();
    for (std::uint32_t c = 0; c < spec_.dram.channels; ++c) {
        place(channels_.emplace_back(fmt::format("{}dram.channel{}", prefix, c), spec_.dram, spec_.policies()),
              new_domain(fmt::format("dram.channel{}", c), timing_.dram));
    }

    const auto name = [&](const Component& from, const Component& to) { return from.name() + " -> " + to.name(); };

    // Dispatcher and SMs.
    std::vector<Link<CtaMessage>*> to_sms;
    std::vector<Link<CtaMessage>*> from_sms;
    std::vector<Sm::Links> sm_links(sms);
    // A context has at most one message under way, and its credit is back before it can have the next.
    const LinkTiming cta_timing{core, core, timing_.dispatch, timing_.dispatch, true};
    for (std::uint32_t s = 0; s < sms; ++s) {
        Sm& sm = sms_[first_sm + s];
        Link<CtaMessage>& work = make_link(cta_links_, "dispatch -> sm", name(dispatcher, sm), spec_.sm.cta_slots, cta_timing);
        Link<CtaMessage>& done = make_link(cta_links_, "sm -> dispatch", name(sm, dispatcher), spec_.sm.cta_slots, cta_timing);
        work.connect(dispatcher, sm);
        done.connect(sm, dispatcher);
        to_sms.push_back(&work);
        from_sms.push_back(&done);
        sm_links[s].work = &work;
        sm_links[s].done = &done;
    }
    dispatcher.connect(std::move(to_sms), std::move(from_sms));

    // SMs, their cluster's port, and the two crossbars.
    std::vector<Link<Packet>*> request_inputs, request_outputs, reply_inputs, reply_outputs;
    const Time cycle = core.time_of(1);
    for (std::uint32_t c = 0; c < clusters; ++c) {
        ClusterPort& port = ports_[first_port + c];
        ClusterPort::Links links;
        for (std::uint32_t s = 0; s < per_cluster; ++s) {
            Sm& sm = sms_[first_sm + c * per_cluster + s];
            Link<Packet>& up = make_link(packet_links_, "sm -> cluster", name(sm, port), buffers_.miss_queue,
                                         {core, core, timing_.sm_to_port, cycle, false});
            Link<Packet>& down =
                make_link(packet_links_, "cluster -> sm", name(port, sm), 2, {core, core, timing_.port_to_sm, cycle, false});
            up.connect(sm, port);
            down.connect(port, sm);
            links.from_sms.push_back(&up);
            links.to_sms.push_back(&down);
            Sm::Links& mine = sm_links[c * per_cluster + s];
            mine.requests = &up;
            mine.replies = &down;
            sm.connect(mine);
        }
        Link<Packet>& out = make_link(packet_links_, "cluster -> request network", name(port, request_net), buffers_.crossbar_input,
                                      {core, timing_.noc, timing_.request_in, timing_.credit, true});
        Link<Packet>& in = make_link(packet_links_, "reply network -> cluster", name(reply_net, port), buffers_.response_fifo,
                                     {timing_.noc, core, timing_.reply_out, timing_.credit, true});
        out.connect(port, request_net);
        in.connect(reply_net, port);
        links.to_network = &out;
        links.from_network = &in;
        port.connect(std::move(links));
        request_inputs.push_back(&out);
        reply_outputs.push_back(&in);
    }

    // Crossbars, L2 slices, DRAM channels.
    for (std::uint32_t c = 0; c < spec_.dram.channels; ++c) {
        DramChannel& channel = channels_[first_channel + c];
        std::vector<Link<DramRequest>*> channel_in, channel_out;
        for (std::uint32_t k = 0; k < spec_.l2.slices_per_channel; ++k) {
            L2Slice& slice = slices_[first_slice + c * spec_.l2.slices_per_channel + k];
            Link<Packet>& requests = make_link(packet_links_, "request network -> l2", name(request_net, slice), buffers_.l2_input,
                                               {timing_.noc, timing_.l2, timing_.request_out, timing_.credit, true});
            Link<Packet>& replies = make_link(packet_links_, "l2 -> reply network", name(slice, reply_net), buffers_.crossbar_input,
                                              {timing_.l2, timing_.noc, timing_.reply_in, timing_.credit, true});
            Link<DramRequest>& down = make_link(dram_links_, "l2 -> dram", name(slice, channel), spec_.l2.dram_queue,
                                                {timing_.l2, timing_.dram, timing_.to_dram, timing_.credit, true});
            Link<DramRequest>& up = make_link(dram_links_, "dram -> l2", name(channel, slice), buffers_.dram_return,
                                              {timing_.dram, timing_.l2, timing_.from_dram, timing_.credit, true});
            requests.connect(request_net, slice);
            replies.connect(slice, reply_net);
            down.connect(slice, channel);
            up.connect(channel, slice);
            slice.connect({&requests, &replies, &down, &up});
            request_outputs.push_back(&requests);
            reply_inputs.push_back(&replies);
            channel_in.push_back(&down);
            channel_out.push_back(&up);
        }
        channel.connect(std::move(channel_in), std::move(channel_out));
    }
    request_net.connect(std::move(request_inputs), std::move(request_outputs));
    reply_net.connect(std::move(reply_inputs), std::move(reply_outputs));
}

std::vector<Domain*> Machine::domains() {
    std::vector<Domain*> list;
    for (Domain& domain : domains_) list.push_back(&domain);
    return list;
}

void Machine::launch(const KernelSource& kernel, Cycle start) {
    const KernelInfo& info = kernel.info();
    const Residency fit = residency(spec_.sm, info);
    if (fit.ctas == 0) {
        throw InputError(
            fmt::format("kernel '{}' does not fit on an SM of {}: one CTA has {} warps, {} registers per thread and {} bytes of shared "
                        "memory, which its {} cannot hold",
                        info.name, spec_.name, info.warps_per_cta(), info.registers_per_thread, info.shared_bytes, fit.limited_by));
    }
    const std::uint64_t groups = dispatchers_.size();
    const bool placed = kernel.executes_at_placement();
    if (placed && groups > 1) {
        throw InputError(fmt::format(
            "kernel '{}' reads its SM, its warp slot or a clock, so its CTAs execute in the order in which they are dispatched, but {} has "
            "{} dispatchers, which have no common order; use a machine with gpu.groups = 1",
            info.name, spec_.name, groups));
    }
    for (Sm& sm : sms_) sm.launch(kernel, fit.ctas, start);
    for (ClusterPort& port : ports_) port.begin_kernel();
    const std::uint64_t ctas = info.ctas();
    for (std::uint64_t g = 0; g < groups; ++g)
        dispatchers_[g].launch(ctas * g / groups, ctas * (g + 1) / groups, fit.ctas, start, placed ? &kernel : nullptr);
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

std::uint64_t Machine::warp_instructions() const {
    std::uint64_t sum = 0;
    for (const Sm& sm : sms_) sum += sm.warp_instructions();
    return sum;
}

std::uint64_t Machine::in_flight(std::string_view boundary) const {
    std::uint64_t sum = 0;
    for (const NamedLink& named : links_) {
        if (named.boundary == boundary) sum += named.link->in_flight();
    }
    return sum;
}

std::uint64_t Machine::held(std::string_view station) const {
    const auto sum = [](const auto& list) {
        std::uint64_t total = 0;
        for (const auto& component : list) total += component.held();
        return total;
    };
    if (station == "sm") return sum(sms_);
    if (station == "cluster") return sum(ports_);
    if (station == "l2") return sum(slices_);
    if (station == "dram") return sum(channels_);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < crossbars_.size(); ++i) total += (i % 2 == 0) == (station == "request network") ? crossbars_[i].held() : 0;
    return total;
}

LinkBase* Machine::find_link(std::string_view name) {
    for (const NamedLink& named : links_) {
        if (named.link->name() == name) return named.link;
    }
    return nullptr;
}

}  // namespace mergelane
