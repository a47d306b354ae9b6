// SPDX-License-Identifier: MIT
#include "sim/declared.hpp"

#include <fmt/format.h>

#include "cluster/network_ports_spec.hpp"

namespace mergelane {

namespace {
Structures declared_by(const MachineSpec& spec) {
    const MachineFacts machine = facts(spec);
    Structures structures;
    for (const Section* section : spec.active_sections()) section->structures(machine, structures);
    return structures;
}

std::string clusters_of(const MachineSpec& m) {
    const auto& own = m.section<ClusterSizesSpec>();
    if (!own.enabled()) return fmt::format("{} of {} SMs", m.gpu.clusters, m.gpu.sms_per_cluster);
    return fmt::format("{} of {} SMs", m.gpu.clusters, fmt::join(own.sizes, ", "));
}
}  // namespace

std::vector<Structure> structures_of(const MachineSpec& spec) {
    return declared_by(spec).list();
}

std::vector<CrossbarSet> networks_of(const MachineSpec& spec) {
    std::vector<CrossbarSet> declared = declared_by(spec).crossbars();
    if (!declared.empty()) return declared;
    const auto add = [&](std::string name, std::uint32_t inputs, std::uint32_t outputs) {
        declared.push_back({name, "noc." + name, spec.gpu.groups, inputs, outputs, spec.noc.flit_bytes, spec.noc.input_buffer_flits,
                            spec.gpu.noc_mhz, 0, true});
    };
    const std::uint32_t ports = spec.gpu.clusters * spec.section<NetworkPortsSpec>().ports;
    add("request", ports, spec.slices());
    add("reply", spec.slices(), ports);
    return declared;
}

std::vector<std::pair<std::string, std::string>> machine_description(const MachineSpec& m) {
    const FabricSection* const fabric = fabric_of(m.sections);
    const bool nodes = fabric != nullptr && fabric->caches() != 0;
    const L1Spec l1 = nodes ? fabric->cache(m.l1, m.sms() / m.gpu.groups) : m.l1;
    const CrossbarSet request = {"request", "noc.request", m.gpu.groups, m.gpu.clusters * m.section<NetworkPortsSpec>().ports, m.slices()};
    return {
        {"SMs", fmt::format("{}", m.sms())},
        {"clusters", clusters_of(m)},
        {"clocks, MHz", fmt::format("core {}, network {}, L2 {}, DRAM {}", m.gpu.core_mhz, m.gpu.noc_mhz, m.gpu.l2_mhz, m.gpu.dram_mhz)},
        {"warp schedulers per SM", fmt::format("{}, {}", m.sm.schedulers, m.sm.scheduler)},
        {"L1", !has_l1(m) ? "none"
                          : fmt::format("{}{} KiB, {} ways, {}-byte lines, {} MSHRs",
                                        nodes ? fmt::format("{} nodes of ", m.gpu.groups * fabric->caches()) : "", l1.size_kib, l1.ways,
                                        l1.line_bytes, l1.mshrs)},
        {"network", fabric != nullptr
                        ? fabric->description()
                        : fmt::format("{}, {}-byte flits", (*m.network_traits().description)(request, m.sections), m.noc.flit_bytes)},
        {"L2",
         !m.l2.enabled ? "none" : fmt::format("{} slices of {} KiB, {} ways, {} MSHRs", m.slices(), m.l2.size_kib, m.l2.ways, m.l2.mshrs)},
        {"DRAM", fmt::format("{} channels, {} bytes per clock", m.dram.channels, m.dram.bus_bytes)},
        {"network : DRAM bandwidth", fmt::format("{:.2f} to 1", network_to_dram_bandwidth(m))},
        {"CTA scheduler", m.dispatch.scheduler}};
}

std::vector<Metric> metrics_of(const MachineSpec& spec, const RunResult& result) {
    const MachineFacts machine = facts(spec);
    Metrics metrics([&](std::string_view name) { return result.stat(name); }, [&](std::string_view name) { return result.highest(name); },
                    [&](std::string_view name) { return result.has_stat(name); }, machine, result.cycles);
    for (const Section* section : spec.active_sections()) section->metrics(metrics);
    return metrics.list();
}

}  // namespace mergelane
