// SPDX-License-Identifier: MIT
#include "report/derived.hpp"

namespace mergelane::report {

std::vector<Bandwidth> bandwidths(const MachineFacts& machine, bool has_l1, const std::function<double(std::string_view)>& stat) {
    constexpr double kSectorBytes = 32;
    const auto peak = [](double units, double bytes, double mhz) { return units * bytes * mhz * 1e6; };
    const double port_peak = peak(machine.request_ports, machine.flit_bytes, machine.noc_mhz);
    std::vector<Bandwidth> list;
    if (has_l1)
        list.push_back({"L1", stat("l1.sector_accesses") * kSectorBytes,
                        peak(double(machine.sms) * machine.l1_blocks_per_cycle, machine.block_bytes, machine.core_mhz)});
    list.push_back({"request network", stat("noc.request.flits") * machine.flit_bytes, port_peak});
    list.push_back({"reply network", stat("noc.reply.flits") * machine.flit_bytes, port_peak});
    list.push_back({"L2", stat("l2.sector_accesses") * kSectorBytes, peak(machine.slices, machine.block_bytes, machine.l2_mhz)});
    list.push_back({"DRAM", (stat("dram.sector_reads") + stat("dram.sector_writes")) * kSectorBytes,
                    peak(machine.channels, machine.dram_bus_bytes, machine.dram_mhz)});
    return list;
}

}  // namespace mergelane::report
