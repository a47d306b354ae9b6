// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/report.hpp"

namespace mergelane {

namespace {

double ratio(double part, double whole) {
    return whole == 0 ? 0 : part / whole;
}

/// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value) {
    const std::string digits = fmt::format("{}", value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

class Page {
public:
    void heading(std::string_view title) { text_ += fmt::format("\n{}\n", title); }
    void line(std::string_view label, const std::string& value, std::string_view unit = "", const std::string& note = "") {
        text_ += fmt::format("  {:<26}{:>16} {:<18}{}", label, value, unit, note);
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_ += '\n';
    }
    void raw(std::string_view line) { text_ += line; }
    std::string take() { return std::move(text_); }

private:
    std::string text_;
};

/// Merging and locality within clusters, where switched on.
void cluster_section(Page& page, const RunResult& r) {
    const bool icc = r.has_stat("icc.reads");
    const bool locality = r.has_stat("locality.reads");
    if (!icc && !locality) return;
    const auto s = [&](std::string_view name) { return static_cast<double>(r.stat(name)); };
    const auto percent = [](double part, double whole) { return fmt::format("{:.1f}", 100 * ratio(part, whole)); };
    page.heading("Clusters");
    if (icc) {
        page.line(
            "L1 read misses merged", percent(s("icc.merged"), s("icc.reads")), "%",
            fmt::format("of {}; table full for {} %", grouped(r.stat("icc.reads")), percent(s("icc.untracked_full"), s("icc.reads"))));
        page.line("merge table occupancy", fmt::format("{:.1f}", ratio(s("icc.entry_cycles"), double(r.cycles) * r.machine.clusters)),
                  "entries",
                  fmt::format("all taken in {} % of cycles", percent(s("icc.full_cycles"), double(r.cycles) * r.machine.clusters)));
        page.line("coalesced cache hit rate", percent(s("cc.hits"), s("icc.reads")), "%",
                  fmt::format("{} lines kept", grouped(r.stat("cc.fills"))));
    }
    if (!locality) return;
    for (const auto& [label, line, data] : {std::tuple{"locality, 500 cycles", "locality.line_sharing_500", "locality.data_sharing_500"},
                                            {"locality, 1000 cycles", "locality.line_sharing_1000", "locality.data_sharing_1000"},
                                            {"locality, 1500 cycles", "locality.line_sharing_1500", "locality.data_sharing_1500"},
                                            {"locality, 2000 cycles", "locality.line_sharing_2000", "locality.data_sharing_2000"}}) {
        page.line(
            label, percent(s(line) + s(data), s("locality.reads")), "%",
            fmt::format("{} % same line, {} % same words", percent(s(line), s("locality.reads")), percent(s(data), s("locality.reads"))));
    }
}

}  // namespace

std::string summary(const RunResult& r) {
    const auto s = [&](std::string_view name) { return static_cast<double>(r.stat(name)); };
    const MachineFacts& m = r.machine;
    const double cycles = static_cast<double>(r.cycles);
    const double seconds = ratio(cycles, m.core_mhz * 1e6);
    const auto percent = [](double part, double whole) { return fmt::format("{:.1f}", 100 * ratio(part, whole)); };
    const auto mean = [](double sum, double count) { return count == 0 ? std::string("-") : fmt::format("{:.1f}", sum / count); };
    Page page;
    page.raw(fmt::format("{} on {}: {} SMs, configuration {}, mergelane {}\n", r.workload, m.name, m.sms, r.config_hash.substr(0, 12),
                         r.version));
    if (!r.partial.empty())
        page.raw(fmt::format("PARTIAL RESULT: stopped early ({}); rates and shares cover the part that ran\n", r.partial));

    page.heading("Performance");
    page.line("cycles", grouped(r.cycles), "core cycles", fmt::format("{:.1f} us at {} MHz", seconds * 1e6, m.core_mhz));
    page.line("warp instructions", grouped(r.warp_instructions), "",
              fmt::format("{:.1f} active lanes each", ratio(s("sm.thread_instructions"), s("sm.warp_instructions"))));
    page.line("IPC", fmt::format("{:.2f}", ratio(s("sm.warp_instructions"), cycles)), "warp instr/cycle",
              fmt::format("{:.3f} per SM", ratio(s("sm.warp_instructions"), cycles * m.sms)));
    for (const KernelResult& kernel : r.kernels) {
        if (r.kernels.size() > 8) break;
        page.line("kernel " + kernel.name, grouped(kernel.cycles), "core cycles",
                  fmt::format("{} CTAs, {} per SM (limit: {}){}", grouped(kernel.ctas), kernel.ctas_per_sm, kernel.limited_by,
                              kernel.at_placement ? ", executed at placement" : ""));
    }

    page.heading("Caches");
    const double l1_loads = s("l1.sector_accesses") - s("l1.sector_write_accesses");
    const auto cache_note = [&](double pending, double accesses) {
        return fmt::format("+ {} % already on their way", percent(pending, accesses));
    };
    page.line("L1 sector accesses", grouped(r.stat("l1.sector_accesses")), "sectors");
    page.line("L1 load hit rate", percent(s("l1.sector_hits"), l1_loads), "%", cache_note(s("l1.sector_pending_hits"), l1_loads));
    page.line("L2 sector accesses", grouped(r.stat("l2.sector_accesses")), "sectors");
    page.line("L2 hit rate", percent(s("l2.sector_hits"), s("l2.sector_accesses")), "%",
              cache_note(s("l2.sector_pending_hits"), s("l2.sector_accesses")));
    page.line("DRAM row hit rate", percent(s("dram.requests") - s("dram.row_misses"), s("dram.requests")), "%");

    cluster_section(page, r);

    page.heading("Mean latency");
    page.line("load, issue to use", mean(s("sm.load_latency"), s("sm.loads")), "core cycles");
    page.line("L1 miss to fill", mean(s("l1.miss_latency"), s("l1.fills")), "core cycles");
    page.line("request network wait", mean(s("noc.request.wait"), s("noc.request.packets")), "network cycles");
    page.line("reply network wait", mean(s("noc.reply.wait"), s("noc.reply.packets")), "network cycles");
    page.line("L2 miss to fill", mean(s("l2.fetch_latency"), s("l2.fetches")), "L2 cycles");
    page.line("DRAM queue", mean(s("dram.queue_wait"), s("dram.requests")), "DRAM cycles");

    page.heading("Bandwidth");
    const auto bandwidth = [&](std::string_view label, double bytes, double peak_bytes_per_second) {
        page.line(label, fmt::format("{:.1f}", ratio(bytes, seconds) / 1e9), "GB/s",
                  fmt::format("{:>5} % of {:.1f}", percent(ratio(bytes, seconds), peak_bytes_per_second), peak_bytes_per_second / 1e9));
    };
    const double port_peak = double(m.request_ports) * m.flit_bytes * m.noc_mhz * 1e6;
    bandwidth("L1", s("l1.sector_accesses") * 32, double(m.sms) * m.l1_blocks_per_cycle * m.block_bytes * m.core_mhz * 1e6);
    bandwidth("request network", s("noc.request.flits") * m.flit_bytes, port_peak);
    bandwidth("reply network", s("noc.reply.flits") * m.flit_bytes, port_peak);
    bandwidth("L2", s("l2.sector_accesses") * 32, double(m.slices) * m.block_bytes * m.l2_mhz * 1e6);
    bandwidth("DRAM", (s("dram.sector_reads") + s("dram.sector_writes")) * 32, double(m.channels) * m.dram_bus_bytes * m.dram_mhz * 1e6);
    page.line("network : DRAM peak", fmt::format("{:.2f}", m.network_to_dram), "to 1");

    page.heading("Scheduler cycles");
    const double slots = cycles * m.sms * m.schedulers_per_sm;
    double named = s("sm.warp_instructions");
    page.line("issued", percent(named, slots), "%");
    for (const auto& [label, name] : {std::pair{"waiting for memory", "sm.stall_memory"},
                                      {"load/store unit busy", "sm.stall_lsu"},
                                      {"waiting for arithmetic", "sm.stall_dependency"},
                                      {"execution unit busy", "sm.stall_unit"},
                                      {"at a barrier or fence", "sm.stall_barrier"},
                                      {"CTA draining", "sm.stall_drain"}}) {
        page.line(label, percent(s(name), slots), "%");
        named += s(name);
    }
    page.line("no resident warp", percent(std::max(0.0, slots - named), slots), "%");

    for (const EnergyReport& energy : r.energy) {
        page.heading(fmt::format("Energy by {} ({})", energy.table, energy.kind == "bottom_up" ? "bottom up" : energy.kind));
        const double total = static_cast<double>(energy.total_fj);
        for (const auto& [component, fj] : energy.components) {
            if (fj != 0)
                page.line(component, fmt::format("{:.2f}", static_cast<double>(fj) * 1e-9), "uJ",
                          fmt::format("{:>5} %", percent(static_cast<double>(fj), total)));
        }
        page.line("total", fmt::format("{:.2f}", total * 1e-9), "uJ",
                  fmt::format("{:.2f} W, energy x delay {:.4g} nJs", ratio(energy.joules, energy.seconds), energy.joule_seconds * 1e9));
        for (const std::string& note : energy.notes) page.raw(fmt::format("  note: {}\n", note));
    }

    page.raw(
        fmt::format("\nSimulated in {:.2f} s ({:.2f} CPU s, {} thread{}, window {:.0f} cycles): {} cycles/s, {} warp instr/s\ndigest {}\n",
                    r.wall_seconds, r.cpu_seconds, r.threads, r.threads == 1 ? "" : "s", r.window_cycles,
                    grouped(static_cast<std::uint64_t>(ratio(cycles, r.wall_seconds))),
                    grouped(static_cast<std::uint64_t>(ratio(s("sm.warp_instructions"), r.wall_seconds))), r.digest));
    return page.take();
}

}  // namespace mergelane
