// SPDX-License-Identifier: MIT
#include "sim/machine_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cluster/cluster_unit.hpp"
#include "cluster/network_ports_spec.hpp"
#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/packet_sizes.hpp"
#include "dispatch/kernel_transform.hpp"
#include "dram/controller_spec.hpp"
#include "dram/request_order.hpp"
#include "gpc/gpc_spec.hpp"
#include "l2/halves_spec.hpp"
#include "l2/request_coalescer_spec.hpp"
#include "l2/residency_spec.hpp"
#include "sim/declared.hpp"

namespace mergelane {

void GpuSpec::fields(SpecFields& f) {
    f.section("gpu");
    f.integer("groups", groups, 1, 1024, "groups",
              "independent copies of the machine (dies, GPUs), each with its own networks and memory; a grid is divided among them");
    f.integer("clusters", clusters, 1, 1024, "clusters", "SM clusters; the SMs of a cluster share a network port");
    f.integer("sms_per_cluster", sms_per_cluster, 1, 64, "SMs", "SMs per SM cluster");
    f.integer("core_mhz", core_mhz, 1, 10000, "MHz", "clock of the SMs");
    f.integer("noc_mhz", noc_mhz, 1, 10000, "MHz", "clock of the network");
    f.integer("l2_mhz", l2_mhz, 1, 10000, "MHz", "clock of the L2");
    f.integer("dram_mhz", dram_mhz, 1, 10000, "MHz", "command clock of the DRAM");
}

namespace {
/// "cluster" of a section whose values are cluster.icc.enabled and so on.
std::string first_word(Section& section, const Registry& registry) {
    SpecFields f(registry);
    section.fields(f);
    return f.list().empty() ? "" : f.list().front().key.substr(0, f.list().front().key.find('.'));
}
}  // namespace

SpecFields MachineSpec::fields() {
    SpecFields f(*registry);
    std::vector<std::pair<std::string, Section*>> waiting;
    for (const auto& section : sections.list()) waiting.emplace_back(first_word(*section, *registry), section.get());
    const auto add_sections = [&](std::string_view part) {
        for (auto& [word, section] : waiting) {
            if (section == nullptr || (word != part && !part.empty())) continue;
            f.section("");  // no section's keys end up in another
            const std::size_t first = f.list().size();
            section->fields(f);
            f.end_section(first, *section, section->enabled());
            section = nullptr;
        }
    };
    const auto add = [&](std::string_view word, auto& part) {
        part.fields(f);
        add_sections(word);
    };
    add("gpu", gpu);
    add("dispatch", dispatch);
    add("sm", sm);
    add("lsu", lsu);
    add("l1", l1);
    add("cluster", cluster);
    add("noc", noc);
    add("l2", l2);
    add("dram", dram);
    add_sections("");
    f.settle();
    return f;
}

std::vector<const Section*> MachineSpec::active_sections() const {
    std::set<const Section*> off;
    std::set<const Section*> on;
    const SpecFields all = const_cast<MachineSpec*>(this)->fields();  // only looked at
    for (const SpecField& field : all.list()) (field.active ? on : off).insert(field.section);
    std::vector<const Section*> list;
    for (const auto& section : sections.list()) {
        if (on.contains(section.get()) || (section->enabled() && !off.contains(section.get()))) list.push_back(section.get());
    }
    return list;
}

std::uint32_t MachineSpec::first_sm(std::uint32_t index) const {
    const auto& own = sections.get<ClusterSizesSpec>();
    if (!own.enabled()) return index * gpu.sms_per_cluster;
    return std::accumulate(own.sizes.begin(), own.sizes.begin() + std::min<std::ptrdiff_t>(index, std::ssize(own.sizes)), 0u);
}

bool has_l1(const MachineSpec& spec) {
    const FabricSection* const fabric = fabric_of(spec.sections);
    return spec.l1.enabled && (*spec.front_traits().has_l1 || (fabric != nullptr && fabric->caches() != 0));
}

MachineFacts facts(const MachineSpec& spec) {
    MachineFacts f;
    f.name = spec.name;
    f.validated = spec.validated;
    f.groups = spec.gpu.groups;
    f.sms = spec.sms();
    f.sms_per_cluster = spec.gpu.sms_per_cluster;
    f.schedulers_per_sm = spec.sm.schedulers;
    f.clusters = spec.gpu.groups * spec.gpu.clusters;
    f.request_ports = spec.gpu.groups * std::min(spec.gpu.clusters * spec.section<NetworkPortsSpec>().ports, spec.slices());
    f.flit_bytes = spec.noc.flit_bytes;
    f.input_buffer_flits = spec.noc.input_buffer_flits;
    f.slices = spec.gpu.groups * spec.slices();
    f.block_bytes = spec.lsu.block_bytes;
    f.has_l1 = has_l1(spec);
    f.l1_blocks_per_cycle = spec.lsu.blocks_per_cycle;
    f.l1_partitions = spec.l1.partitions;
    f.l1_waiting = spec.l1.mshrs * spec.l1.mshr_merges;
    f.channels = spec.gpu.groups * spec.dram.channels;
    f.dram_bus_bytes = spec.dram.bus_bytes;
    f.core_mhz = spec.gpu.core_mhz;
    f.noc_mhz = spec.gpu.noc_mhz;
    f.l2_mhz = spec.gpu.l2_mhz;
    f.dram_mhz = spec.gpu.dram_mhz;
    f.network_to_dram = network_to_dram_bandwidth(spec);
    const NetworkTraits& network = spec.network_traits();
    f.network_wants_one_clock = *network.one_clock;
    f.network_has_routers = *network.has_routers;
    f.network_counts_ports = *network.counts_ports;
    f.front_arranges_l1 = *spec.front_traits().arranges_l1;
    f.transform_has_persistent_ctas = *spec.registry->traits<KernelTransform>(spec.dispatch.transform).persistent_ctas;
    return f;
}

/// Returns the engine units in a microsecond.
std::uint64_t MachineTiming::set_clocks(const GpuSpec& gpu, const FabricSection* own_fabric) {
    std::uint64_t base = 1;
    std::vector<std::uint32_t> clocks = {gpu.core_mhz, gpu.noc_mhz, gpu.l2_mhz, gpu.dram_mhz};
    if (own_fabric != nullptr) {
        for (const std::uint32_t mhz : own_fabric->clocks_mhz()) clocks.push_back(mhz);
    }
    for (const std::uint32_t mhz : clocks) base = std::lcm(base, std::uint64_t{mhz});
    const auto clock_of = [&](std::uint32_t mhz) {
        const std::uint64_t period = base / mhz;
        if (period > 1'000'000)
            throw InputError(fmt::format(
                "the clocks have no small common multiple ({} MHz would take {} time units per cycle); round the MHz values", mhz, period));
        return Clock{static_cast<std::uint32_t>(period)};
    };
    for (const std::uint32_t mhz : clocks) static_cast<void>(clock_of(mhz));  // all of them are possible
    core = clock_of(gpu.core_mhz);
    noc = clock_of(gpu.noc_mhz);
    l2 = clock_of(gpu.l2_mhz);
    dram = clock_of(gpu.dram_mhz);
    return base;
}

MachineTiming::MachineTiming(const MachineSpec& spec) {
    const FabricSection* const own_fabric = fabric_of(spec.sections);
    const std::uint64_t base = set_clocks(spec.gpu, own_fabric);
    const Time injection = core.time_of(spec.noc.injection_latency);
    const std::uint32_t edge_cycles = (*spec.network_traits().edge_cycles)(spec.noc, spec.sections);
    const Time traversal = noc.time_of(edge_cycles);
    const Time ejection = core.time_of(spec.noc.ejection_latency);
    credit = noc.time_of(spec.noc.credit_latency);
    // One of the injection cycles is spent in the port's own buffer.
    sm_to_port = injection - core.time_of(1);
    port_to_sm = core.time_of(1);
    // Cut links shorter than the credit latency borrow from the L2's uncontended pipeline (without an L2, from the path to DRAM), so that
    // windows are as long as credits allow. The unloaded round trip stays what the configuration says.
    const Time dram_extra = core.time_of(spec.dram.access_latency);
    to_dram = dram_extra / 2;
    from_dram = dram_extra - to_dram;
    const Time to_borrow = spec.l2.enabled ? core.time_of(spec.l2.latency) : to_dram - std::min(to_dram, credit);
    Time pipeline = to_borrow;
    const auto at_least_credit = [&](Time own) {
        const Time borrowed = own >= credit ? 0 : std::min(credit - own, pipeline);
        pipeline -= borrowed;
        return own + borrowed;
    };
    request_in = at_least_credit(traversal);
    const Time reply = injection + traversal + ejection - port_to_sm;
    reply_in = at_least_credit(std::min(traversal, reply - 1));
    reply_out = at_least_credit(reply - std::min(traversal, reply - 1));
    const ClusterDelay units = cluster_delay(spec.sections);
    sm_to_port += core.time_of(units.request);
    reply_out += core.time_of(units.reply);
    fabric = {core, base, injection, ejection, edge_cycles, spec.noc.credit_latency};
    if (own_fabric != nullptr) pipeline -= std::min(pipeline, own_fabric->borrowed_from_l2(fabric));
    const auto& halves = spec.section<HalvesSpec>();
    const std::uint32_t before_slice = (halves.enabled() ? 1 : 0) + (spec.section<RequestCoalescerSpec>().enabled() ? 1 : 0);
    if (before_slice != 0) {
        // Each adds a cycle to the reply, and the second one a cycle to the request. The unloaded round trip stays the same unless the
        // pipeline is shorter than that.
        request_out = at_least_credit(ejection);
        const Time cycle = l2.time_of(1);
        to_slice = std::max(pipeline, 2 * before_slice * cycle) - (2 * before_slice - 1) * cycle;
        // The pipeline lies in front of a port to the other half: requests from there have passed their own.
        if (halves.enabled() && before_slice == 1) {
            request_out += to_slice - cycle;
            to_slice = cycle;
        }
    } else if (spec.l2.enabled) {
        request_out = ejection + pipeline;
    } else {
        request_out = at_least_credit(ejection);
        to_dram -= to_borrow - pipeline;
    }
    dispatch = core.time_of(spec.dispatch.latency);
    window = std::min({request_in, request_out, reply_in, reply_out, to_dram, from_dram, credit, dispatch});
    if (own_fabric != nullptr) window = std::min(window, own_fabric->shortest_link(fabric));
    if (halves.enabled()) window = std::min(window, core.time_of(halves.latency));
    if (const auto& gpc = spec.section<GpcSpec>(); gpc.enabled()) window = std::min(window, core.time_of(gpc.latency));
}

namespace {
/// Packets in flight on a link of the given latencies, at one per cycle of the slower end.
std::uint32_t round_trip(Time forward, Time credit, Clock clock) {
    return static_cast<std::uint32_t>(divide_up(forward + credit, clock.period));
}

PacketSizes sizes_of(const MachineSpec& spec) {
    return {spec.noc.flit_bytes, spec.noc.header_bytes, spec.lsu.block_bytes};
}
}  // namespace

MachineBuffers::MachineBuffers(const MachineSpec& spec, const MachineTiming& timing) {
    miss_queue = spec.l1.miss_queue + cluster_delay(spec.sections).request;
    // The link holds the packets in flight; the queue is in addition.
    l2_input = spec.l2.input_queue + round_trip(timing.request_out, timing.credit, timing.noc);
    slice_input = spec.l2.input_queue + round_trip(timing.to_slice, timing.l2.time_of(1), timing.l2);
    response_fifo = spec.cluster.response_fifo + round_trip(timing.reply_out, timing.credit, timing.noc);
    const bool per_bank = *spec.registry->traits<RequestOrder>(spec.dram.scheduler).queue_per_bank;
    const auto& controller = spec.sections.get<DramControllerSpec>();
    const std::uint32_t held = controller.enabled() ? controller.capacity(spec.dram) : spec.dram.capacity(per_bank);
    // Without an L2, everything that a controller and its links can hold may be in flight.
    dram_return = spec.l2.enabled ? spec.l2.mshrs
                                  : std::min(65535u, spec.l2.dram_queue + held + round_trip(timing.from_dram, timing.credit, timing.dram));
}

namespace {

/// Values that neighbouring stages must agree on.
void check_neighbours(const MachineSpec& s, Problems& problems) {
    problems.require(s.l1.sector_bytes == s.lsu.block_bytes, {"l1.sector_bytes", "lsu.block_bytes"},
                     fmt::format("l1.sector_bytes ({}) differs from lsu.block_bytes ({}); the coalescer must form the blocks that the L1 "
                                 "fetches: set both to the same value",
                                 s.l1.sector_bytes, s.lsu.block_bytes));
    problems.require(
        s.l2.line_bytes == s.l1.line_bytes, {"l2.line_bytes", "l1.line_bytes"},
        fmt::format("l2.line_bytes ({}) differs from l1.line_bytes ({}); byte masks are kept per line: set both to the same value",
                    s.l2.line_bytes, s.l1.line_bytes));
    problems.require(
        s.l2.sector_bytes >= s.lsu.block_bytes, {"l2.sector_bytes", "lsu.block_bytes"},
        fmt::format(
            "l2.sector_bytes ({}) is smaller than lsu.block_bytes ({}); a request would need several DRAM reads: raise it to at least {}",
            s.l2.sector_bytes, s.lsu.block_bytes, s.lsu.block_bytes));
    problems.require(
        s.dram.access_bytes <= s.l2.line_bytes, {"dram.access_bytes", "l2.line_bytes"},
        fmt::format("dram.access_bytes ({}) is larger than l2.line_bytes ({}); lower it", s.dram.access_bytes, s.l2.line_bytes));
    problems.require(!*s.network_traits().one_clock || (s.gpu.core_mhz == s.gpu.noc_mhz && s.gpu.noc_mhz == s.gpu.l2_mhz),
                     {"noc.kind", "gpu.core_mhz", "gpu.noc_mhz", "gpu.l2_mhz"},
                     fmt::format("noc.kind = \"{}\" requires one clock domain; make gpu.core_mhz, gpu.noc_mhz and gpu.l2_mhz equal, or use "
                                 "noc.kind = \"crossbar\"",
                                 s.noc.kind));
    problems.require(s.l2.enabled || !s.section<RequestCoalescerSpec>().enabled(), {"l2.lrc.enabled", "l2.enabled"},
                     "l2.lrc.enabled merges requests to a cache; set l2.enabled = true, or l2.lrc.enabled = false");
    const auto& halves = s.section<HalvesSpec>();
    problems.require(s.l2.enabled || !halves.enabled(), {"l2.halves.enabled", "l2.enabled"},
                     "l2.halves.enabled divides a cache; set l2.enabled = true, or l2.halves.enabled = false");
    problems.require(s.l2.enabled || !s.section<ResidencySpec>().enabled(), {"l2.residency.enabled", "l2.enabled"},
                     "l2.residency.enabled chooses what a cache evicts; set l2.enabled = true, or l2.residency.enabled = false");
    problems.require(
        fabric_of(s.sections) == nullptr || !halves.enabled(), {"l2.halves.enabled"},
        "l2.halves.enabled needs networks between SM clusters and L2; switch off the fabric that replaces them, or the halves");
    const DramAddressMap map = s.dram.map();
    problems.require(map.row_bytes() >= s.l2.line_bytes, {"dram.address_map", "l2.line_bytes"},
                     fmt::format("dram.address_map makes rows of {} bytes, less than an L2 line; add column bits (C)", map.row_bytes()));
    problems.require(s.slices() <= 1024, {"dram.channels", "l2.slices_per_channel"},
                     fmt::format("{} L2 slices per group; at most 1024 are supported", s.slices()));
}

/// Bounds what grows with the number of SMs and slices, so that a machine within the ranges of its keys fits into a host.
void check_total(const MachineSpec& s, Problems& problems) {
    constexpr std::uint64_t kMost = 60'000'000;
    const std::uint64_t l1 =
        (s.l1.size_kib + s.l1.unified_kib) * 1024 / s.l1.line_bytes + s.l1.mshrs * s.l1.mshr_merges + 32ull * s.lsu.queue;
    const std::uint64_t l2 = std::uint64_t{s.gpu.groups} * s.slices() * (s.l2.size_kib * 1024 / s.l2.line_bytes);
    problems.require(s.sms() * l1 + l2 <= kMost, {"l1.size_kib", "l2.size_kib", "gpu.groups", "gpu.clusters", "dram.channels"},
                     fmt::format("the SMs have {} cache lines and queue entries, the L2 has {} lines; at most {} are supported: lower "
                                 "l1.size_kib, l1.mshrs, lsu.queue or l2.size_kib, or the number of SMs, L2 slices or groups",
                                 s.sms() * l1, l2, kMost));
}

/// The L1s of a fabric are of the same kind as those of SMs, but larger.
void check_fabric(const MachineSpec& s, Problems& problems) {
    const FabricSection* const fabric = fabric_of(s.sections);
    if (fabric != nullptr && fabric->caches() != 0) fabric->cache(s.l1, s.sms() / s.gpu.groups).check(problems);
}

/// L1 partitions are by CTA slot: front ends that merge requests of several CTAs do not support them.
void check_partitions(const MachineSpec& s, Problems& problems) {
    if (s.l1.partitions == 1) return;
    problems.require(
        *s.front_traits().knows_cta_slots, {"l1.partitions", "lsu.front"},
        fmt::format("lsu.front = \"{}\" does not support partitions; use lsu.front = \"in_order\", or set l1.partitions = 1", s.lsu.front));
    const FabricSection* const fabric = fabric_of(s.sections);
    problems.require(fabric == nullptr || fabric->caches() == 0, {"l1.partitions"},
                     "L1s outside the SMs cannot be partitioned; set l1.partitions = 1");
}

void check_front(const MachineSpec& s, Problems& problems) {
    problems.require(*s.front_traits().serves_shared_memory || s.sm.shared_path == SmSpec::SharedPath::own, {"sm.shared_path", "lsu.front"},
                     fmt::format("lsu.front = \"{}\" requires sm.shared_path = \"own\"", s.lsu.front));
}

/// Whether buffers cover the round trip of their links.
void check_links(const MachineSpec& s, Problems& problems) {
    try {
        const MachineTiming timing(s);
        const std::uint32_t flits =
            std::max(round_trip(std::max(timing.request_in, timing.reply_in), timing.credit, timing.noc), sizes_of(s).max_flits());
        problems.require(s.noc.input_buffer_flits >= flits,
                         {"noc.input_buffer_flits", "noc.credit_latency", "noc.traversal_latency", "noc.flit_bytes"},
                         fmt::format("noc.input_buffer_flits holds {} flits, but its link needs {} in flight at full bandwidth (forward + "
                                     "credit latency): raise it, or lower noc.credit_latency",
                                     s.noc.input_buffer_flits, flits));
        const std::uint32_t requests =
            round_trip(timing.to_dram, timing.credit, timing.dram) / s.sections.get<DramControllerSpec>().column_cycles(s.dram);
        problems.require(
            s.l2.dram_queue >= requests, {"l2.dram_queue", "dram.access_latency", "noc.credit_latency"},
            fmt::format("l2.dram_queue ({}) is less than the {} requests in flight on its link at full DRAM bandwidth; raise it",
                        s.l2.dram_queue, requests));
    } catch (const InputError& error) {
        problems.require(false, {"gpu.core_mhz", "gpu.noc_mhz", "gpu.l2_mhz", "gpu.dram_mhz"}, error.what());
    }
}

}  // namespace

void GpuSpec::check(Problems& problems) const {
    const std::uint64_t sms = std::uint64_t{groups} * clusters * sms_per_cluster;
    problems.require(sms <= 65536, {"gpu.groups", "gpu.clusters", "gpu.sms_per_cluster"},
                     fmt::format("{} SMs in total; at most 65536 are supported", sms));
}

std::vector<SpecProblem> check(const MachineSpec& s) {
    // Problems of one component may cause those of its neighbours, so these are checked only if the former pass.
    Problems problems;
    s.gpu.check(problems);
    s.sm.check(problems);
    s.lsu.check(problems);
    s.l1.check(problems);
    s.l2.check(problems);
    s.dram.check(problems);
    s.sections.get<DramControllerSpec>().check(s.dram, s.registry->traits<RequestOrder>(s.dram.scheduler), problems);
    const MachineFacts machine = facts(s);
    for (const Section* section : s.active_sections()) section->check(machine, s.sections, problems);
    check_front(s, problems);
    if (problems.none()) check_neighbours(s, problems);
    if (problems.none()) check_total(s, problems);
    if (problems.none()) check_fabric(s, problems);
    check_partitions(s, problems);
    if (problems.none()) check_links(s, problems);
    return std::move(problems).list();
}

double peak_dram_bandwidth(const MachineSpec& s) {
    return double(s.gpu.groups) * s.dram.channels * s.dram.bus_bytes * s.gpu.dram_mhz;
}

double network_to_dram_bandwidth(const MachineSpec& s) {
    return double(s.gpu.groups) * s.slices() * s.noc.flit_bytes * s.gpu.noc_mhz / peak_dram_bandwidth(s);
}

std::vector<Derived> derived(const MachineSpec& s) {
    const MachineTiming timing(s);
    const auto gbps = [](double bytes_per_cycle, std::uint32_t mhz) { return fmt::format("{:.1f}", bytes_per_cycle * mhz / 1000.0); };
    const std::uint32_t ports = std::min(s.gpu.clusters * s.section<NetworkPortsSpec>().ports, s.slices());
    std::vector<Derived> list = {
        {"SMs", fmt::format("{}", s.sms()), "SMs"},
        {"L2 size", fmt::format("{}", std::uint64_t{s.gpu.groups} * s.slices() * (s.l2.enabled ? s.l2.size_kib : 0)), "KiB"},
        {"network peak, each way", gbps(double(s.gpu.groups) * ports * s.noc.flit_bytes, s.gpu.noc_mhz), "GB/s"},
        {"L2 peak", gbps(double(s.gpu.groups) * s.slices() * s.lsu.block_bytes, s.gpu.l2_mhz), "GB/s"},
        {"DRAM peak", fmt::format("{:.1f}", peak_dram_bandwidth(s) / 1000.0), "GB/s"},
        {"network : DRAM bandwidth", fmt::format("{:.2f}", network_to_dram_bandwidth(s)), "to 1"},
        {"DRAM row", fmt::format("{}", s.dram.map().row_bytes()), "bytes"},
        {"lookahead window", fmt::format("{:.2f}", double(timing.window) / timing.core.period), "core cycles"},
    };
    for (const Structure& declared : structures_of(s)) {
        const Structure structure = declared.of_owner();
        list.push_back({structure.name, fmt::format("{}", structure.bytes()), "bytes/" + structure.per});
    }
    return list;
}

}  // namespace mergelane
