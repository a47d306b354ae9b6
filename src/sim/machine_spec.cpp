// SPDX-License-Identifier: MIT
#include "sim/machine_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/packet_sizes.hpp"
#include "sim/declared.hpp"

namespace mergelane {

void GpuSpec::fields(SpecFields& f) {
    f.section("gpu");
    f.integer("groups", groups, 1, 1024, "groups",
              "copies of the machine below with networks and memory of their own (dies, GPUs); a grid is cut among them");
    f.integer("clusters", clusters, 1, 1024, "clusters", "groups of SMs that share a network port");
    f.integer("sms_per_cluster", sms_per_cluster, 1, 64, "SMs", "SMs of one cluster");
    f.integer("core_mhz", core_mhz, 1, 10000, "MHz", "clock of the SMs");
    f.integer("noc_mhz", noc_mhz, 1, 10000, "MHz", "clock of the network");
    f.integer("l2_mhz", l2_mhz, 1, 10000, "MHz", "clock of the L2");
    f.integer("dram_mhz", dram_mhz, 1, 10000, "MHz", "command clock of the DRAM");
}

SpecFields MachineSpec::fields() {
    SpecFields f;
    gpu.fields(f);
    dispatch.fields(f);
    sm.fields(f);
    lsu.fields(f);
    l1.fields(f);
    cluster.fields(f);
    noc.fields(f);
    l2.fields(f);
    dram.fields(f);
    return f;
}

MachineFacts facts(const MachineSpec& spec) {
    MachineFacts f;
    f.name = spec.name;
    f.groups = spec.gpu.groups;
    f.sms = spec.sms();
    f.sms_per_cluster = spec.gpu.sms_per_cluster;
    f.schedulers_per_sm = spec.sm.schedulers;
    f.clusters = spec.gpu.groups * spec.gpu.clusters;
    f.request_ports = spec.gpu.groups * std::min(spec.gpu.clusters, spec.slices());
    f.flit_bytes = spec.noc.flit_bytes;
    f.slices = spec.gpu.groups * spec.slices();
    f.block_bytes = spec.lsu.block_bytes;
    f.l1_blocks_per_cycle = spec.lsu.blocks_per_cycle;
    f.channels = spec.gpu.groups * spec.dram.channels;
    f.dram_bus_bytes = spec.dram.bus_bytes;
    f.core_mhz = spec.gpu.core_mhz;
    f.noc_mhz = spec.gpu.noc_mhz;
    f.l2_mhz = spec.gpu.l2_mhz;
    f.dram_mhz = spec.gpu.dram_mhz;
    return f;
}

MachineTiming::MachineTiming(const MachineSpec& spec) {
    std::uint64_t base = 1;
    for (const std::uint32_t mhz : {spec.gpu.core_mhz, spec.gpu.noc_mhz, spec.gpu.l2_mhz, spec.gpu.dram_mhz})
        base = std::lcm(base, std::uint64_t{mhz});
    const auto clock_of = [&](std::uint32_t mhz) {
        const std::uint64_t period = base / mhz;
        if (period > 1'000'000)
            throw InputError(fmt::format(
                "the clocks have no small common multiple ({} MHz would take {} time units per cycle); round the MHz values", mhz, period));
        return Clock{static_cast<std::uint32_t>(period)};
    };
    core = clock_of(spec.gpu.core_mhz);
    noc = clock_of(spec.gpu.noc_mhz);
    l2 = clock_of(spec.gpu.l2_mhz);
    dram = clock_of(spec.gpu.dram_mhz);

    const Time injection = core.time_of(spec.noc.injection_latency);
    const Time traversal = noc.time_of(spec.noc.traversal_latency);
    const Time ejection = core.time_of(spec.noc.ejection_latency);
    credit = noc.time_of(spec.noc.credit_latency);
    // One of the injection cycles is spent in the port's own buffer.
    sm_to_port = injection - core.time_of(1);
    port_to_sm = core.time_of(1);
    // Cut links shorter than the credit latency borrow from the L2's uncontended pipeline, so that windows are as
    // long as credits allow; the unloaded sum of the round trip stays what the configuration says.
    Time pipeline = core.time_of(spec.l2.latency);
    const auto at_least_credit = [&](Time own) {
        const Time borrowed = own >= credit ? 0 : std::min(credit - own, pipeline);
        pipeline -= borrowed;
        return own + borrowed;
    };
    request_in = at_least_credit(traversal);
    const Time reply = injection + traversal + ejection - port_to_sm;
    reply_in = at_least_credit(std::min(traversal, reply - 1));
    reply_out = at_least_credit(reply - std::min(traversal, reply - 1));
    if (spec.cluster.icc.enabled) {  // the merge table is looked up on both ways
        sm_to_port += core.time_of(spec.cluster.icc.request_cycles);
        reply_out += core.time_of(spec.cluster.icc.reply_cycles);
    }
    request_out = ejection + pipeline;
    const Time dram_extra = core.time_of(spec.dram.access_latency);
    to_dram = dram_extra / 2;
    from_dram = dram_extra - to_dram;
    dispatch = core.time_of(spec.dispatch.latency);
    window = std::min({request_in, request_out, reply_in, reply_out, to_dram, from_dram, credit, dispatch});
}

namespace {
/// Packets a link of the given latencies can have under way at one per cycle of the slower end.
std::uint32_t round_trip(Time forward, Time credit, Clock clock) {
    return static_cast<std::uint32_t>(divide_up(forward + credit, clock.period));
}

PacketSizes sizes_of(const MachineSpec& spec) {
    return {spec.noc.flit_bytes, spec.noc.header_bytes, spec.lsu.block_bytes};
}
}  // namespace

MachineBuffers::MachineBuffers(const MachineSpec& spec, const MachineTiming& timing) {
    crossbar_input = spec.noc.input_buffer_flits;
    miss_queue = spec.l1.miss_queue + (spec.cluster.icc.enabled ? spec.cluster.icc.request_cycles : 0);
    // The link itself holds what is under way; the queue proper comes on top.
    l2_input = spec.l2.input_queue + round_trip(timing.request_out, timing.credit, timing.noc);
    response_fifo = spec.cluster.response_fifo + round_trip(timing.reply_out, timing.credit, timing.noc);
    dram_return = spec.l2.mshrs;
}

std::vector<SpecProblem> check(const MachineSpec& s) {
    std::vector<SpecProblem> problems;
    const auto require = [&](bool holds, std::string key, std::string text) {
        if (!holds) problems.push_back({std::move(key), std::move(text)});
    };
    const auto power_of_two = [&](std::string_view key, std::uint32_t value) {
        require(is_power_of_two(value), std::string(key),
                fmt::format("{} is {}, which is not a power of two; use 32, 64 or 128", key, value));
    };
    power_of_two("lsu.block_bytes", s.lsu.block_bytes);
    power_of_two("l1.line_bytes", s.l1.line_bytes);
    power_of_two("l1.sector_bytes", s.l1.sector_bytes);
    power_of_two("l2.line_bytes", s.l2.line_bytes);
    power_of_two("l2.sector_bytes", s.l2.sector_bytes);
    power_of_two("dram.access_bytes", s.dram.access_bytes);
    require(is_power_of_two(s.l2.interleave_bytes), "l2.interleave_bytes",
            fmt::format("l2.interleave_bytes is {}; use a power of two", s.l2.interleave_bytes));
    if (!problems.empty()) return problems;

    require(
        s.l1.sector_bytes == s.lsu.block_bytes, "l1.sector_bytes",
        fmt::format("l1.sector_bytes ({}) differs from lsu.block_bytes ({}); the coalescer must form what the L1 fetches: set both alike",
                    s.l1.sector_bytes, s.lsu.block_bytes));
    require(s.l1.sector_bytes <= s.l1.line_bytes, "l1.sector_bytes",
            fmt::format("l1.sector_bytes ({}) is larger than l1.line_bytes ({}); lower it", s.l1.sector_bytes, s.l1.line_bytes));
    require(s.l2.line_bytes == s.l1.line_bytes, "l2.line_bytes",
            fmt::format("l2.line_bytes ({}) differs from l1.line_bytes ({}); byte masks are kept per line: set both alike", s.l2.line_bytes,
                        s.l1.line_bytes));
    require(s.l2.sector_bytes <= s.l2.line_bytes, "l2.sector_bytes",
            fmt::format("l2.sector_bytes ({}) is larger than l2.line_bytes ({}); lower it", s.l2.sector_bytes, s.l2.line_bytes));
    require(s.l2.sector_bytes >= s.lsu.block_bytes, "l2.sector_bytes",
            fmt::format(
                "l2.sector_bytes ({}) is smaller than lsu.block_bytes ({}); a request would need several fetches: raise it to at least {}",
                s.l2.sector_bytes, s.lsu.block_bytes, s.lsu.block_bytes));
    const auto geometry = [&](std::string_view part, std::uint32_t kib, std::uint32_t line, std::uint32_t ways) {
        require(kib * 1024 % (line * ways) == 0 && kib * 1024 >= line * ways, std::string(part) + ".size_kib",
                fmt::format("{}.size_kib ({} KiB) is not a whole number of sets of {} ways x {} bytes; change {}.ways or {}.size_kib", part,
                            kib, ways, line, part, part));
    };
    geometry("l1", s.l1.size_kib, s.l1.line_bytes, s.l1.ways);
    geometry("l2", s.l2.size_kib, s.l2.line_bytes, s.l2.ways);
    require(s.sm.cta_slots <= s.sm.warps, "sm.cta_slots",
            fmt::format("sm.cta_slots ({}) is more than sm.warps ({}); a CTA has at least one warp: lower sm.cta_slots too", s.sm.cta_slots,
                        s.sm.warps));
    require(s.sm.schedulers <= s.sm.warps, "sm.schedulers",
            fmt::format("sm.schedulers ({}) is more than sm.warps ({}); lower it", s.sm.schedulers, s.sm.warps));
    if (s.sm.sub_cores) {
        for (std::size_t u = 0; u < kUnitNames.size(); ++u) {
            require(s.sm.units[u] % s.sm.schedulers == 0, fmt::format("units.{}", kUnitNames[u]),
                    fmt::format("units.{} ({}) cannot be shared evenly by {} sub-cores; use a multiple, or sm.sub_cores = false",
                                kUnitNames[u], s.sm.units[u], s.sm.schedulers));
        }
    }
    require(s.l1.unified_kib == 0 || s.l1.unified_kib >= s.l1.size_kib, "l1.unified_kib",
            fmt::format("l1.unified_kib ({}) is smaller than l1.size_kib ({}); raise it or set it to 0", s.l1.unified_kib, s.l1.size_kib));
    const bool digits = !s.l1.carveouts_kib.empty() && s.l1.carveouts_kib.size() <= 200 &&
                        s.l1.carveouts_kib.find_first_not_of("0123456789, ") == std::string::npos &&
                        s.l1.carveouts_kib.find_first_of("0123456789") == 0;
    require(digits, "l1.carveouts_kib", "l1.carveouts_kib must be numbers separated by commas, for example \"0,8,16,32\"");
    require(s.l1.mshrs * s.l1.mshr_merges < 32768, "l1.mshrs",
            fmt::format("l1.mshrs x l1.mshr_merges is {}; at most 32767 requests can wait in one L1", s.l1.mshrs * s.l1.mshr_merges));
    require(s.l2.mshr_merges <= s.l2.output_queue, "l2.output_queue",
            fmt::format("l2.output_queue ({}) cannot take the {} replies of one fetch (l2.mshr_merges); raise it to at least {}",
                        s.l2.output_queue, s.l2.mshr_merges, s.l2.mshr_merges));
    require(s.dram.access_bytes <= s.l2.line_bytes, "dram.access_bytes",
            fmt::format("dram.access_bytes ({}) is larger than l2.line_bytes ({}); lower it", s.dram.access_bytes, s.l2.line_bytes));
    require(s.dram.bus_bytes <= s.dram.access_bytes && s.dram.access_bytes % s.dram.bus_bytes == 0, "dram.bus_bytes",
            fmt::format("dram.access_bytes ({}) is not a whole number of bus cycles of dram.bus_bytes ({}); make one divide the other",
                        s.dram.access_bytes, s.dram.bus_bytes));
    require(s.dram.bank_groups <= s.dram.banks && s.dram.banks % s.dram.bank_groups == 0, "dram.bank_groups",
            fmt::format("dram.banks ({}) cannot be divided into {} groups; use a divisor", s.dram.banks, s.dram.bank_groups));
    const CoalescedCacheSpec& cc = s.cluster.cc;
    require(!cc.enabled || s.cluster.icc.enabled, "cluster.cc.enabled",
            "cluster.cc.enabled needs cluster.icc.enabled: only lines whose requests merged are kept; switch both on");
    require(cc.entries % cc.ways_per_set() == 0, "cluster.cc.ways",
            fmt::format("cluster.cc.entries ({}) is not a whole number of sets of {} ways; use a divisor, or 0 for fully associative",
                        cc.entries, cc.ways));
    require(s.cluster.icc.match == "tracked" || s.cluster.icc.on_store == "ignore", "cluster.icc.on_store",
            "cluster.icc.match = \"address\" cannot find the reply of a closed entry; set cluster.icc.on_store = \"ignore\" as well");
    const DramTiming& t = s.dram.timing;
    require(t.tRC >= t.tRAS + t.tRP, "dram.timing.tRC",
            fmt::format("tRC ({}) is less than tRAS + tRP ({}); raise it", t.tRC, t.tRAS + t.tRP));
    require(t.tRAS >= t.tRCD, "dram.timing.tRAS", fmt::format("tRAS ({}) is less than tRCD ({}); raise it", t.tRAS, t.tRCD));
    require(t.tCCDL >= t.tCCD, "dram.timing.tCCDL", fmt::format("tCCDL ({}) is less than tCCD ({}); raise it", t.tCCDL, t.tCCD));
    require(t.tRTW + t.tWL >= t.tCL + s.dram.burst_cycles(), "dram.timing.tRTW",
            fmt::format("tRTW ({}) lets write data meet read data on the bus; raise it to at least {} (tCL + burst - tWL)", t.tRTW,
                        t.tCL + s.dram.burst_cycles() - t.tWL));
    try {
        const DramAddressMap map(s.dram.address_map, s.dram.banks, s.dram.bank_hash);
        require(map.row_bytes() >= s.l2.line_bytes, "dram.address_map",
                fmt::format("dram.address_map makes rows of {} bytes, less than an L2 line; add column bits (C)", map.row_bytes()));
    } catch (const InputError& error) {
        require(false, "dram.address_map", fmt::format("dram.address_map = \"{}\": {}", s.dram.address_map, error.what()));
    }
    require(std::uint64_t{s.sms()} <= 65536, "gpu.groups", fmt::format("{} SMs in all; at most 65536 are supported", s.sms()));
    require(s.slices() <= 1024, "dram.channels", fmt::format("{} L2 slices per group; at most 1024 are supported", s.slices()));
    if (!problems.empty()) return problems;

    try {
        const MachineTiming timing(s);
        const std::uint32_t longest = sizes_of(s).max_flits();
        const auto buffer = [&](std::string key, std::uint32_t has, Time forward, Clock clock) {
            const std::uint32_t needs = std::max(round_trip(forward, timing.credit, clock), longest);
            require(has >= needs, key,
                    fmt::format("{} holds {} flits, but its link has {} under way at full width (forward + credit latency): raise it, or "
                                "lower noc.credit_latency",
                                key, has, needs));
        };
        buffer("noc.input_buffer_flits", s.noc.input_buffer_flits, std::max(timing.request_in, timing.reply_in), timing.noc);
        const std::uint32_t requests = round_trip(timing.to_dram, timing.credit, timing.dram) / std::max(s.dram.burst_cycles(), t.tCCD);
        require(s.l2.dram_queue >= requests, "l2.dram_queue",
                fmt::format("l2.dram_queue ({}) is less than the {} requests its link has under way at the DRAM's full rate; raise it",
                            s.l2.dram_queue, requests));
    } catch (const InputError& error) {
        require(false, "gpu.core_mhz", error.what());
    }
    return problems;
}

std::vector<Derived> derived(const MachineSpec& s) {
    const MachineTiming timing(s);
    const auto gbps = [](double bytes_per_cycle, std::uint32_t mhz) { return fmt::format("{:.1f}", bytes_per_cycle * mhz / 1000.0); };
    const std::uint32_t ports = std::min(s.gpu.clusters, s.slices());
    std::vector<Derived> list = {
        {"SMs", fmt::format("{}", s.sms()), "SMs"},
        {"L2 size", fmt::format("{}", std::uint64_t{s.gpu.groups} * s.slices() * s.l2.size_kib), "KiB"},
        {"network peak, each way", gbps(double(s.gpu.groups) * ports * s.noc.flit_bytes, s.gpu.noc_mhz), "GB/s"},
        {"L2 peak", gbps(double(s.gpu.groups) * s.slices() * s.lsu.block_bytes, s.gpu.l2_mhz), "GB/s"},
        {"DRAM peak", gbps(double(s.gpu.groups) * s.dram.channels * s.dram.bus_bytes, s.gpu.dram_mhz), "GB/s"},
        {"DRAM row", fmt::format("{}", DramAddressMap(s.dram.address_map, s.dram.banks, s.dram.bank_hash).row_bytes()), "bytes"},
        {"lookahead window", fmt::format("{:.2f}", double(timing.window) / timing.core.period), "core cycles"},
    };
    for (const Structure& structure : structures_of(s))
        list.push_back({structure.name, fmt::format("{}", structure.bytes()), "bytes/" + structure.per});
    return list;
}

}  // namespace mergelane
