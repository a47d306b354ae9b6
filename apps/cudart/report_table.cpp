// SPDX-License-Identifier: MIT
#include "report_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "report/instructions.hpp"
#include "report/report.hpp"

namespace mergelane::cudart {

namespace {

std::string dimensions(const Dim3& d) {
    if (d.z != 1) return fmt::format("{}x{}x{}", d.x, d.y, d.z);
    return d.y != 1 ? fmt::format("{}x{}", d.x, d.y) : fmt::format("{}", d.x);
}

double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : fmt::format("{:.1f}", 100 * ratio(part, whole));
}

}  // namespace

void add_launch(std::vector<LaunchRow>& rows, const KernelInfo& info, const Launched& launched) {
    LaunchRow* row = nullptr;
    for (LaunchRow& known : rows) {
        if (known.kernel == info.name && known.grid == info.grid && known.block == info.block) row = &known;
    }
    if (row == nullptr) {
        row = &rows.emplace_back();
        row->kernel = info.name;
        row->grid = info.grid;
        row->block = info.block;
    }
    const auto stat = [&](std::string_view name) { return statistic(launched.stats, name); };
    const KernelResult& result = launched.result;
    ++row->launches;
    row->at_placement = result.at_placement;
    row->registers = fmt::format("{}; {} CTAs per SM (limit: {})", registers_text(result), result.ctas_per_sm, result.limited_by);
    row->cycles += result.cycles;
    row->warp_instructions += result.warp_instructions;
    row->thread_instructions += stat("sm.thread_instructions");
    row->l1_loads += stat("l1.sector_accesses") - stat("l1.sector_write_accesses");
    row->l1_hits += stat("l1.sector_hits");
    row->l2_accesses += stat("l2.sector_accesses");
    row->l2_hits += stat("l2.sector_hits");
    row->dram_sectors += stat("dram.sector_reads") + stat("dram.sector_writes");
}

std::string launch_table(const std::vector<LaunchRow>& rows, const RunResult& result) {
    const MachineFacts& machine = result.machine;
    std::string text =
        fmt::format("\n{} on {}: {} SMs at {} MHz, {} launch{}, mergelane {}\n", printable(result.workload), machine.name, machine.sms,
                    machine.core_mhz, result.kernels.size(), result.kernels.size() == 1 ? "" : "es", result.version);
    text += fmt::format("validated: {}\n", machine.validated.empty() ? "not stated" : machine.validated);
    if (rows.empty()) return text + "no kernel was launched\n";
    text += fmt::format("kernel time {} cycles, {:.2f} us; launch overhead {} cycles, {:.2f} us\n", result.kernel_cycles(),
                        result.microseconds(result.kernel_cycles()), result.launch_cycles(), result.microseconds(result.launch_cycles()));
    text += fmt::format("{:>8} {:>14} {:>12} {:>12} {:>8} {:>6} {:>6} {:>6} {:>10}  {}\n", "launches", "grid", "block", "cycles", "IPC",
                        "lanes", "L1 %", "L2 %", "DRAM KiB", "kernel");
    for (const LaunchRow& row : rows) {
        text += fmt::format("{:>8} {:>14} {:>12} {:>12} {:>8.3f} {:>6.1f} {:>6} {:>6} {:>10}  {}{}\n", row.launches, dimensions(row.grid),
                            dimensions(row.block), row.cycles, ratio(row.warp_instructions, row.cycles),
                            ratio(row.thread_instructions, row.warp_instructions), percent(row.l1_hits, row.l1_loads),
                            percent(row.l2_hits, row.l2_accesses), row.dram_sectors * 32 / 1024, readable_name(row.kernel),
                            row.at_placement ? ", executed at placement" : "");
    }
    text += "note: timing is of PTX, not SASS; instruction counts differ from a compiled kernel (docs/cuda.md)\n";
    for (const LaunchRow& row : rows) {
        const bool first = std::none_of(rows.data(), &row, [&](const LaunchRow& before) { return before.kernel == row.kernel; });
        if (first) text += readable_name(row.kernel) + row.registers + "\n";
    }
    text += longest_waits(result);
    return text + "digest " + result.digest + "\n";
}

}  // namespace mergelane::cudart
