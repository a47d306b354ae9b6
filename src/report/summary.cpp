// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/text.hpp"
#include "report/derived.hpp"
#include "report/instructions.hpp"
#include "report/report.hpp"

namespace mergelane {

namespace {

constexpr auto ratio = Metrics::ratio;

std::string percent(double part, double whole) {
    return fmt::format("{:.1f}", 100 * ratio(part, whole));
}

std::string mean(double sum, double count) {
    return count == 0 ? std::string("-") : fmt::format("{:.1f}", sum / count);
}

/// Writes a result section by section.
class Summary {
public:
    explicit Summary(const RunResult& result) : run_(result) {}

    std::string all() {
        head();
        sample();
        performance();
        caches();
        metrics();
        latencies();
        load_times();
        text_ += longest_waits(run_);
        bandwidths();
        schedulers();
        for (const EnergyReport& report : run_.energy) energy(report);
        foot();
        return std::move(text_);
    }

private:
    void heading(std::string_view title) { text_ += fmt::format("\n{}\n", title); }
    void line(std::string_view label, const std::string& value, std::string_view unit = "", const std::string& note = "") {
        text_ += fmt::format("  {:<26}{:>16} {:<18}{}", label, value, unit, note);
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_ += '\n';
    }
    /// A statistic of the run.
    double s(std::string_view name) const { return static_cast<double>(run_.stat(name)); }

    /// A front end may have no L1.
    bool has_l1() const { return run_.has_stat("l1.sector_accesses"); }

    void head() {
        text_ += fmt::format("{} on {}: {} SMs, configuration {}, mergelane {}{}\n", printable(run_.workload), machine_.name, machine_.sms,
                             run_.config_hash.substr(0, 12), run_.version, run_.edition.empty() ? "" : " with " + run_.edition);
        text_ += fmt::format("validated: {}\n", machine_.validated.empty() ? "not stated" : machine_.validated);
        if (!run_.partial.empty())
            text_ += fmt::format("PARTIAL RESULT: stopped early ({}); rates and shares cover the simulated part\n", run_.partial);
    }

    /// "1,234,567 +- 1.3 % (95 %)"
    void estimate(std::string_view label, const Estimate& one, std::string_view unit) {
        const bool stated = run_.sample.requested_error > 0;
        line(label, grouped(static_cast<std::uint64_t>(one.value + 0.5)), stated ? "" : unit,
             stated ? fmt::format("+- {:.2f} % (95 %) {}", 100 * one.relative(), unit) : "no interval");
    }
    void sample() {
        const SampleFacts& facts = run_.sample;
        if (!facts.any()) return;
        heading("Sampled: all values below are estimates");
        line("launches simulated", grouped(facts.simulated), fmt::format("of {}", grouped(facts.launches)),
             fmt::format("from {} strata, in {} pass{}", facts.strata.size(), facts.passes, facts.passes == 1 ? "" : "es"));
        line("waves simulated", grouped(facts.simulated_waves), fmt::format("of {}", grouped(facts.waves)),
             fmt::format("{} % of the warp instructions",
                         percent(static_cast<double>(facts.simulated_instructions), static_cast<double>(facts.warp_instructions))));
        if (facts.launches_in_parts != 0)
            line("launches simulated in parts", grouped(facts.launches_in_parts), "",
                 fmt::format("{} of {} stretches, besides the first and the last", grouped(facts.simulated_stretches),
                             grouped(facts.stretches)));
        estimate("cycles", facts.cycles, "core cycles");
        for (const std::string_view name : {"l1.sector_misses", "l2.sector_misses", "dram.requests", "noc.reply.flits"}) {
            for (std::size_t i = 0; i < run_.stats.size(); ++i) {
                if (run_.stats[i].name == name) estimate(name, facts.stats[i], run_.stats[i].unit);
            }
        }
        for (const RatioEstimate& one : facts.ratios)
            line(one.name, fmt::format("{:.4f}", one.analytic.value), "",
                 fmt::format("+- {:.4f} (95 %; bootstrap {:.4f} to {:.4f})", one.analytic.half_width, one.low, one.high));
        if (facts.simulated <= 8) return;
        text_ += "  times of loads and counts by unit are those of the launches simulated\n";
    }

    void performance() {
        heading("Performance");
        line("cycles", grouped(run_.cycles), "core cycles", fmt::format("{:.1f} us at {} MHz", seconds_ * 1e6, machine_.core_mhz));
        line("kernel time", grouped(run_.kernel_cycles()), "core cycles",
             fmt::format("{:.2f} us", run_.microseconds(run_.kernel_cycles())));
        line("launch overhead", grouped(run_.launch_cycles()), "core cycles",
             fmt::format("{:.2f} us, included in cycles and in all rates below", run_.microseconds(run_.launch_cycles())));
        line("warp instructions", grouped(run_.warp_instructions), "",
             fmt::format("{:.1f} active lanes each", ratio(s("sm.thread_instructions"), s("sm.warp_instructions"))));
        line("IPC", fmt::format("{:.2f}", ratio(s("sm.warp_instructions"), cycles_)), "warp instr/cycle",
             fmt::format("{:.3f} per SM", ratio(s("sm.warp_instructions"), cycles_ * machine_.sms)));
        for (const KernelResult& kernel : run_.kernels) {
            if (run_.kernels.size() > 8) break;
            line("kernel " + printable(kernel.name), grouped(kernel.cycles), "core cycles",
                 fmt::format("{} CTA{}, {} per SM (limit: {}){}{}", grouped(kernel.ctas), kernel.ctas == 1 ? "" : "s", kernel.ctas_per_sm,
                             kernel.limited_by, registers_text(kernel), kernel.at_placement ? ", executed at placement" : ""));
        }
    }

    void caches() {
        heading("Caches");
        const auto note = [&](double pending, double accesses) { return fmt::format("+ {} % hits on misses", percent(pending, accesses)); };
        if (has_l1()) {
            const double loads = s("l1.sector_accesses") - s("l1.sector_write_accesses");
            line("L1 sector accesses", grouped(run_.stat("l1.sector_accesses")), "sectors");
            line("L1 load hit rate", percent(s("l1.sector_hits"), loads), "%", note(s("l1.sector_pending_hits"), loads));
        }
        line("L2 sector accesses", grouped(run_.stat("l2.sector_accesses")), "sectors");
        line("L2 hit rate", percent(s("l2.sector_hits"), s("l2.sector_accesses")), "%",
             note(s("l2.sector_pending_hits"), s("l2.sector_accesses")));
        line("DRAM row hit rate", percent(s("dram.requests") - s("dram.row_misses"), s("dram.requests")), "%");
    }

    /// The metrics of the enabled mechanisms; those that did nothing share a line.
    void metrics() {
        std::string_view last;
        std::string idle;
        for (const Metric& metric : run_.metrics) {
            const bool first = metric.heading != last;
            last = metric.heading;
            if (did_nothing(metric.heading)) {
                if (first) idle += fmt::format("{}{}", idle.empty() ? "" : ", ", metric.heading);
                continue;
            }
            if (first) heading(metric.heading);
            line(metric.name, fmt::format("{:.1f}", metric.value), metric.unit, metric.note);
        }
        if (!idle.empty()) text_ += fmt::format("\nAll zero: {}\n", idle);
    }
    bool did_nothing(std::string_view heading) const {
        return std::all_of(run_.metrics.begin(), run_.metrics.end(),
                           [&](const Metric& metric) { return metric.heading != heading || metric.value == 0; });
    }

    void latencies() {
        heading("Mean latency");
        line("load, issue to use", mean(s("sm.load_latency"), s("sm.loads")), "core cycles");
        if (has_l1()) line("L1 miss to fill", mean(s("l1.miss_latency"), s("l1.fills")), "core cycles");
        line("request network wait", mean(s("noc.request.wait"), s("noc.request.packets")), "network cycles");
        line("reply network wait", mean(s("noc.reply.wait"), s("noc.reply.packets")), "network cycles");
        line("L2 miss to fill", mean(s("l2.fetch_latency"), s("l2.fetches")), "L2 cycles");
        line("DRAM queue", mean(s("dram.queue_wait"), s("dram.requests")), "DRAM cycles");
    }

    /// Stages that take at least one percent, longest first, and the rest.
    void load_times() {
        const LoadTimes& times = run_.load_times;
        if (times.total == 0) return;
        heading(fmt::format("Where loads spend their time, issue to use ({} of {} loads followed)", grouped(times.loads),
                            grouped(run_.stat("sm.loads"))));
        const double all = static_cast<double>(times.total);
        const double cycles = 1.0 / run_.units_per_cycle / static_cast<double>(times.loads);
        std::vector<std::pair<double, std::size_t>> longest;
        for (std::size_t s = 0; s < times.spent.size(); ++s) longest.emplace_back(-static_cast<double>(times.spent[s]), s);
        std::sort(longest.begin(), longest.end());
        double rest = all;
        for (const auto& [spent, s] : longest) {
            if (-spent < 0.01 * all) break;
            line(run_.stages[s].first, fmt::format("{:.1f}", -spent * cycles), "cycles per load",
                 fmt::format("{:>5} %  {}", percent(-spent, all), run_.stages[s].second));
            rest += spent;
        }
        line("all others", fmt::format("{:.1f}", rest * cycles), "cycles per load", fmt::format("{:>5} %", percent(rest, all)));
    }

    void bandwidths() {
        heading("Bandwidth");
        for (const report::Bandwidth& b : report::bandwidths(machine_, has_l1(), [this](std::string_view name) { return s(name); })) {
            line(b.level, fmt::format("{:.1f}", ratio(b.bytes, seconds_) / 1e9), "GB/s",
                 fmt::format("{:>5} % of {:.1f}", percent(ratio(b.bytes, seconds_), b.peak), b.peak / 1e9));
        }
        line("network : DRAM peak", fmt::format("{:.2f}", machine_.network_to_dram), "to 1");
    }

    void schedulers() {
        heading("Scheduler cycles");
        const double slots = cycles_ * machine_.sms * machine_.schedulers_per_sm;
        double named = 0;
        for (const report::IssueSlot& slot : report::kIssueSlots) {
            line(slot.label, percent(s(slot.counter), slots), "%");
            named += s(slot.counter);
            if (slot.counter == std::string_view("sm.stall_memory")) memory_waits(s(slot.counter), slots);
        }
        line(report::kNoWarp.label, percent(std::max(0.0, slots - named), slots), "%");
    }

    /// The same by stage, as far as the loads that ended the waits say; stages below one percent are left out.
    void memory_waits(double waits, double slots) {
        const std::vector<std::uint64_t>& stalled = run_.load_times.stalled;
        const double all = static_cast<double>(std::accumulate(stalled.begin(), stalled.end(), std::uint64_t{0}));
        for (std::size_t i = 0; i < stalled.size(); ++i) {
            const double share = ratio(static_cast<double>(stalled[i]), all) * waits;
            if (share >= 0.01 * slots) line("  in " + run_.stages[i].first, percent(share, slots), "%", run_.stages[i].second);
        }
    }

    void energy(const EnergyReport& report) {
        heading(fmt::format("Energy by {} ({})", report.table, report.kind == "bottom_up" ? "bottom up" : report.kind));
        const double total = static_cast<double>(report.total_fj);
        for (const auto& [component, fj] : report.components) {
            if (fj != 0)
                line(component, fmt::format("{:.2f}", static_cast<double>(fj) * 1e-9), "uJ",
                     fmt::format("{:>5} %", percent(static_cast<double>(fj), total)));
        }
        line("total", fmt::format("{:.2f}", total * 1e-9), "uJ",
             fmt::format("{:.2f} W, energy x delay {:.4g} nJs", ratio(report.joules, report.seconds), report.joule_seconds * 1e9));
        for (const std::string& note : report.notes) text_ += fmt::format("  note: {}\n", note);
    }

    void foot() {
        text_ += fmt::format(
            "\nSimulated in {:.2f} s ({:.2f} CPU s, {} thread{}, window {:.0f} cycles): {} cycles/s, {} warp instr/s\ndigest {}\n",
            run_.wall_seconds, run_.cpu_seconds, run_.threads, run_.threads == 1 ? "" : "s", run_.window_cycles,
            grouped(static_cast<std::uint64_t>(ratio(cycles_, run_.wall_seconds))),
            grouped(static_cast<std::uint64_t>(ratio(s("sm.warp_instructions"), run_.wall_seconds))), run_.digest);
    }

    const RunResult& run_;
    const MachineFacts& machine_ = run_.machine;
    const double cycles_ = static_cast<double>(run_.cycles);
    const double seconds_ = ratio(cycles_, machine_.core_mhz * 1e6);
    std::string text_;
};

}  // namespace

std::string registers_text(const KernelResult& kernel) {
    if (kernel.registers_from == "given") return {};
    return fmt::format(", registers: {}, {}", kernel.registers,
                       kernel.registers_from == "cubin" ? "from the cubin" : "estimated from the PTX");
}

std::string summary(const RunResult& result) {
    return Summary(result).all();
}

}  // namespace mergelane
