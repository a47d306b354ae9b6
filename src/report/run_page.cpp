// SPDX-License-Identifier: MIT
// The page of one run: what limits it first, then where slots, latency and bandwidth go, by kernel, by unit, over time and by line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "report/derived.hpp"
#include "report/drawings.hpp"
#include "report/html_report.hpp"
#include "report/page.hpp"
#include "report/roofline.hpp"

namespace mergelane {

using namespace report;

namespace {

constexpr double kSector = 32;               // bytes
constexpr std::size_t kMostStacks = 20;      // kernels with a stack of their own
constexpr std::size_t kMostLines = 2000;     // of source
constexpr std::size_t kMostIntervals = 400;  // points of a curve

double value_or_zero(const Json& object, const char* key) {
    return number(object, key).value_or(0);
}

double stat(const Json& record, const char* name) {
    return std::max(0.0, value_or_zero(member(record, "stats"), name));
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

/// A kernel or the run, in units of issue slots; the last entry is the rest.
std::vector<double> issue_slots(const Json& record, double slots) {
    std::vector<double> uses;
    double named = 0;
    for (const IssueSlot& slot : kIssueSlots) {
        uses.push_back(stat(record, slot.counter));
        named += uses.back();
    }
    uses.push_back(std::max(0.0, slots - named));
    return uses;
}

const IssueSlot& slot_of(std::size_t use) {
    return use < std::size(kIssueSlots) ? kIssueSlots[use] : kNoWarp;
}

class RunPage {
public:
    RunPage(const Json& run, const std::vector<Finding>& findings)
        : run_(run),
          findings_(findings),
          sms_(std::max(0.0, value_or_zero(member(run, "machine"), "sms"))),
          slots_per_cycle_(sms_ * std::max(1.0, value_or_zero(member(run, "machine"), "schedulers_per_sm"))),
          mhz_(std::max(0.0, value_or_zero(member(run, "machine"), "core_mhz"))),
          page_(fmt::format("{} on {}", printable(text(run, "workload")), text(run, "gpu"))) {
        for (const Json& kernel : list(run, "kernels")) kernels_.push_back(&kernel);
        std::stable_sort(kernels_.begin(), kernels_.end(),
                         [](const Json* a, const Json* b) { return value_or_zero(*a, "cycles") > value_or_zero(*b, "cycles"); });
    }

    std::string write() {
        lead();
        facts();
        sample();
        if (!findings_.empty()) findings();
        slots();
        latency();
        bandwidth();
        kernels();
        over_time();
        units();
        source();
        energy();
        counters();
        return page_.write();
    }

    std::string head() {
        lead();
        facts();
        slots();
        return page_.fragment();
    }

private:
    static double cycles_of(const Json& record) { return std::max(0.0, value_or_zero(record, "cycles")); }
    double seconds(double cycles) const { return mhz_ > 0 ? cycles / (mhz_ * 1e6) : 0; }

    void lead() {
        std::string html = "<div class=\"bottleneck\">\n";
        const auto line = [&](const std::string& words) { html += fmt::format("<p>{}</p>\n", words); };
        if (findings_.empty()) {
            const double slots = cycles_of(run_) * slots_per_cycle_;
            const std::vector<double> uses = issue_slots(run_, slots);
            // A grid may be too small for the machine: what limits it is then asked of the SMs that have work.
            constexpr double kWorthALine = 0.05;
            auto most = static_cast<std::size_t>(std::max_element(uses.begin(), uses.end() - 1) - uses.begin());
            const bool small = uses.back() > uses[most];
            if (small && uses[most] < kWorthALine * slots) most = uses.size() - 1;
            line(fmt::format("<strong>{}</strong>", most == 0 ? "Instruction issue" : capitalised(slot_of(most).label)));
            line(fmt::format("{} of the issue slots {}, more than anything else{}.{}", percent_text(uses[most], slots),
                             slot_of(most).sentence,
                             small && most + 1 < uses.size()
                                 ? fmt::format(" while there are warps; {} {}", percent_text(uses.back(), slots), kNoWarp.sentence)
                                 : "",
                             most == 0 ? "" : fmt::format(" {} {}.", percent_text(uses[0], slots), kIssueSlots[0].sentence)));
            if (const std::string loads = slowest_stage(); !loads.empty()) line(loads);
        } else {
            const Finding& first = findings_.front();
            line(fmt::format("<strong>{}</strong>", escaped(first.title)));
            line(escaped(first.sentence));
            if (first.confirmed_gain) line(escaped(gain_text(*first.confirmed_gain)));
        }
        if (const std::string why = text(run_, "stopped_because"); !why.empty())
            line(fmt::format("<em>Partial result: stopped early ({}).</em> Rates and shares cover the simulated part.", escaped(why)));
        page_.lead(html + "</div>\n");
    }

    static std::string gain_text(double gain) {
        return fmt::format("Confirmed by a simulation without this limit: {:.2f} times as fast.", gain);
    }

    /// A sentence about the stage in which loads spend most of their time; empty if that was not measured.
    std::string slowest_stage() const {
        const Json& times = member(run_, "load_time");
        const double cycles = value_or_zero(times, "cycles"), loads = value_or_zero(times, "loads");
        const Json& stages = member(times, "stages");
        std::string name;
        double most = 0;
        if (!stages.is_object()) return "";
        for (const auto& [stage, value] : stages.items()) {
            const double spent = number_of(value).value_or(0);
            if (spent > most) {
                most = spent;
                name = stage;
            }
        }
        if (most <= 0 || cycles <= 0 || loads <= 0) return "";
        // The mean is of all loads, the shares are of those that were followed.
        const Json& stats = member(run_, "stats");
        const double all = value_or_zero(stats, "sm.loads");
        const double mean = all > 0 ? value_or_zero(stats, "sm.load_latency") / all : cycles / loads;
        return fmt::format("Loads take {} cycles on average, of which {} in <b>{}</b>.", whole(mean), percent_text(most, cycles),
                           escaped(name));
    }

    void facts() {
        const double cycles = cycles_of(run_);
        page_.fact("GPU", text(run_, "gpu"));
        page_.fact("SMs", whole(sms_));
        page_.fact("Time", fmt::format("{:.1f} us", seconds(cycles) * 1e6));
        page_.fact("Cycles", whole(cycles));
        page_.fact("Launches", whole(number(run_, "launches").value_or(static_cast<double>(kernels_.size()))));
        page_.fact("IPC", fmt::format("{:.2f}", cycles > 0 ? stat(run_, "sm.warp_instructions") / cycles : 0));
        page_.fact("Mergelane", text(run_, "version"));
        page_.fact("Configuration", text(run_, "config_hash").substr(0, 12), true);
        if (const std::string validated = text(run_, "validated"); !validated.empty()) page_.fact("Validated", validated);
    }

    /// "1,234 +- 1.3 %"
    static std::string interval_text(const Json& estimate) {
        return fmt::format("{} +- {:.2f} %", whole(value_or_zero(estimate, "value")), 100 * value_or_zero(estimate, "relative"));
    }
    /// What stands behind the estimates of a sampled run.
    void sample() {
        const Json& sample = member(run_, "sample");
        if (!sample.is_object()) return;
        page_.section("Sample");
        page_.add(
            fmt::format("<p>All values are estimates from {} of {} launches, {} of the warp instructions. Cycles: {} with a confidence of "
                        "95 %. Times of "
                        "loads and counts by unit are those of the launches simulated.</p>\n",
                        whole(value_or_zero(sample, "simulated_launches")), whole(value_or_zero(sample, "launches")),
                        percent_text(value_or_zero(sample, "simulated_warp_instructions"), value_or_zero(sample, "warp_instructions")),
                        value_or_zero(sample, "requested_error") > 0 ? interval_text(member(sample, "cycles")) : "no interval is known"));
        if (value_or_zero(sample, "launches_in_parts") > 0)
            page_.add(fmt::format(
                "<p>{} of these launches were simulated in parts: {} of {} waves, {} of {} stretches of whole waves besides the "
                "first and the last of each launch.</p>\n",
                whole(value_or_zero(sample, "launches_in_parts")), whole(value_or_zero(sample, "simulated_waves")),
                whole(value_or_zero(sample, "waves")), whole(value_or_zero(sample, "simulated_stretches")),
                whole(value_or_zero(sample, "stretches"))));
        std::string rows;
        for (const Json& stratum : list(sample, "strata")) {
            rows += fmt::format(
                "<tr>{}{}{}{}{}</tr>\n", cell(printable(text(stratum, "kernel"))),
                cell(whole(value_or_zero(stratum, "first_launch")), true), cell(whole(value_or_zero(stratum, "launches")), true),
                cell(whole(value_or_zero(stratum, "simulated_launches")), true),
                cell(percent_text(value_or_zero(stratum, "warp_instructions"), value_or_zero(sample, "warp_instructions")), true));
        }
        page_.add(fmt::format("<details><summary>Strata</summary>\n{}</details>\n",
                              table_of("<th>kernel</th><th class=\"n\">first launch</th><th class=\"n\">launches</th><th class=\"n\">"
                                       "simulated</th><th class=\"n\">warp instructions</th>",
                                       rows)));
    }

    void findings() {
        page_.section("Findings");
        for (const Finding& finding : findings_) {
            std::string rows;
            for (const auto& [name, value] : finding.numbers)
                rows += fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escaped(name), cell(value, true));
            page_.add(fmt::format("<h3>{}</h3>\n<p>{}</p>\n", escaped(finding.title), escaped(finding.sentence)));
            if (finding.confirmed_gain) page_.add(fmt::format("<p>{}</p>\n", escaped(gain_text(*finding.confirmed_gain))));
            if (!rows.empty()) page_.add(table_of("<th>number</th><th class=\"n\">value</th>", rows));
        }
    }

    std::string kernel_label(const Json& kernel) const {
        const double launches = number(kernel, "launches").value_or(1);
        return readable_name(text(kernel, "name")) + (launches > 1 ? fmt::format(" x {}", whole(launches)) : "");
    }

    /// A row for the run and one for each of its longest kernels.
    template <class Values>
    std::vector<StackRow> stack_rows(Values&& values) const {
        std::vector<StackRow> rows = {{"whole run", values(run_)}};
        for (std::size_t k = 0; k < std::min(kernels_.size(), kMostStacks) && kernels_.size() > 1; ++k)
            rows.push_back({kernel_label(*kernels_[k]), values(*kernels_[k])});
        return rows;
    }
    std::string longest_note() const {
        return kernels_.size() <= kMostStacks
                   ? ""
                   : fmt::format(" The {} kernels that take longest are shown; all are in the table below.", kMostStacks);
    }

    void slots() {
        page_.section("Issue slots");
        std::vector<StackPart> parts;
        for (std::size_t use = 0; use <= std::size(kIssueSlots); ++use)
            parts.push_back({slot_of(use).label, slot_of(use).sentence,
                             use == 0                        ? "issued"
                             : use == std::size(kIssueSlots) ? "empty"
                                                             : ""});
        page_.add(fmt::format("<p>What the schedulers of all SMs did in each cycle.{}</p>\n", longest_note()));
        page_.add(stacks(parts, stack_rows([&](const Json& record) { return issue_slots(record, cycles_of(record) * slots_per_cycle_); })));
    }

    void latency() {
        const Json& times = member(run_, "load_time");
        const Json& stages = member(times, "stages");
        if (!stages.is_object() || stages.empty() || value_or_zero(times, "loads") <= 0) return;
        page_.section("Latency of loads");
        std::vector<StackPart> parts;  // of both stacks, so that a stage has one colour
        for (const auto& entry : stages.items()) parts.push_back({entry.key(), "", ""});
        for (const auto& [key, sentence] :
             {std::pair{"stages",
                        "Where loads spend their time, from issue until the value is available, in the order of the memory path."},
              std::pair{"stalled", "Scheduler cycles waiting for memory, by the stage of the load that ended the wait."}}) {
            const Json& of_run = member(times, key);
            if (!of_run.is_object() || of_run.empty()) continue;
            page_.add(fmt::format("<p>{}{}</p>\n", sentence, longest_note()));
            page_.add(stacks(parts, stack_rows([&, key = key](const Json& record) {
                                 const Json& spent = member(member(record, "load_time"), key);
                                 std::vector<double> values;
                                 for (const StackPart& part : parts)
                                     values.push_back(std::max(0.0, value_or_zero(spent, part.name.c_str())));
                                 return values;
                             })));
        }
        stage_table(times);
    }

    void stage_table(const Json& times) {
        const double loads = value_or_zero(times, "loads"), cycles = value_or_zero(times, "cycles");
        const auto entry = [&](const char* key, const std::string& name) { return value_or_zero(member(times, key), name.c_str()); };
        std::string rows;
        for (const auto& stage : member(times, "stages").items())
            rows += fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}</tr>\n", escaped(stage.key()),
                                cell(fmt::format("{:.1f}", entry("stages", stage.key()) / loads), true),
                                cell(percent_text(entry("stages", stage.key()), cycles), true),
                                cell(whole(entry("stalled", stage.key())), true));
        page_.add(
            fmt::format("<details><summary>Values</summary>\n{}</details>\n",
                        table_of("<th>stage</th><th class=\"n\">cycles per load</th><th class=\"n\">share</th><th class=\"n\">stalled "
                                 "scheduler cycles</th>",
                                 rows)));
    }

    static double bytes_of(const Json& record, const std::string& level) {
        if (level == "L1") return stat(record, "l1.sector_accesses") * kSector;
        if (level == "L2") return stat(record, "l2.sector_accesses") * kSector;
        if (level == "DRAM") return (stat(record, "dram.sector_reads") + stat(record, "dram.sector_writes")) * kSector;
        return 0;
    }
    double peak_of(const std::string& level) const {
        for (const Json& one : list(run_, "bandwidth")) {
            if (text(one, "level") == level) return value_or_zero(one, "peak_gb_per_s") * 1e9;
        }
        return 0;
    }

    void bandwidth() {
        const double time = seconds(cycles_of(run_));
        const Json& levels = list(run_, "bandwidth");
        if (levels.empty() || time <= 0) return;
        page_.section("Bandwidth and roofline");
        std::string rows;
        for (const Json& level : levels) {
            const double rate = value_or_zero(level, "bytes") / time, peak = value_or_zero(level, "peak_gb_per_s") * 1e9;
            rows +=
                fmt::format("<tr><th scope=\"row\">{}</th>{}{}<td class=\"n\"><meter max=\"1\" value=\"{:.3f}\"></meter> {}</td></tr>\n",
                            escaped(text(level, "level")), cell(fmt::format("{:.1f}", rate / 1e9), true),
                            cell(fmt::format("{:.1f}", peak / 1e9), true), peak > 0 ? rate / peak : 0, percent_text(rate, peak));
        }
        page_.add(table_of("<th>level</th><th class=\"n\">GB/s</th><th class=\"n\">peak</th><th class=\"n\">share of the peak</th>", rows));
        std::vector<Roof> roofs;
        std::vector<RooflinePoint> points;
        for (const char* const level : {"L1", "L2", "DRAM"}) {
            if (peak_of(level) <= 0) continue;
            roofs.push_back({level, peak_of(level)});
            const auto add = [&](const std::string& name, const Json& record) {
                const double bytes = bytes_of(record, level), instructions = stat(record, "sm.warp_instructions");
                const double took = seconds(cycles_of(record));
                if (bytes > 0 && instructions > 0 && took > 0)
                    points.push_back({name, level, instructions / bytes, instructions / took, cycles_of(record) / cycles_of(run_)});
            };
            for (const Json* kernel : kernels_) add(kernel_label(*kernel), *kernel);
        }
        const double issue = slots_per_cycle_ * mhz_ * 1e6;
        if (points.empty() || issue <= 0) return;
        page_.add(
            "<p>Each dot is a kernel at one level of the memory path: warp instructions per byte of traffic at that level, and warp "
            "instructions per second. The sloped lines are the bandwidths of the levels, the flat one is the issue rate of all schedulers. "
            "A dot close "
            "to "
            "its line is limited by that bandwidth. Both axes are logarithmic.</p>\n");
        page_.figure("Roofline", roofline(roofs, points, issue), "<p class=\"small\">The drawing requires scripts; see the values.</p>");
        page_.add(fmt::format("<details><summary>Values of this chart</summary>\n{}</details>\n", roofline_table(roofs, points, issue)));
    }

    void kernels() {
        if (kernels_.empty()) return;
        page_.section("Kernels");
        double all = 0;
        for (const Json* kernel : kernels_) all += cycles_of(*kernel);
        std::string head = head_cell("kernel");
        for (const char* const name :
             {"launches", "CTAs", "CTAs per SM", "cycles", "share", "IPC", "lanes", "L1 hits", "L2 hits", "DRAM GB/s"})
            head += head_cell(name, true);
        head += head_cell("largest use of issue slots");
        std::string rows;
        for (const Json* const kernel : kernels_) rows += kernel_row(*kernel, all);
        page_.add("<p>All launches; those of the same name share a row. Shares are of the kernel time, without launch overhead.</p>\n");
        page_.add(table_of(head, rows, kWide));
    }

    std::string kernel_row(const Json& kernel, double all) const {
        const double cycles = cycles_of(kernel), instructions = stat(kernel, "sm.warp_instructions");
        const double loads = stat(kernel, "l1.sector_accesses") - stat(kernel, "l1.sector_write_accesses");
        const std::vector<double> uses = issue_slots(kernel, cycles * slots_per_cycle_);
        const auto most = static_cast<std::size_t>(std::max_element(uses.begin(), uses.end()) - uses.begin());
        const auto ratio = [](double part, double all_of_it) { return fmt::format("{:.2f}", all_of_it > 0 ? part / all_of_it : 0); };
        const auto share = [](double part, double all_of_it) { return all_of_it > 0 ? percent_text(part, all_of_it) : "-"; };
        const double time = seconds(cycles);
        return fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}{}{}{}{}{}{}{}{}</tr>\n", escaped(readable_name(text(kernel, "name"))),
                           cell(whole(number(kernel, "launches").value_or(1)), true), cell(whole(value_or_zero(kernel, "ctas")), true),
                           cell(fmt::format("{} ({})", text(kernel, "ctas_per_sm"), text(kernel, "limited_by")), true),
                           cell(whole(cycles), true), cell(share(cycles, all), true), cell(ratio(instructions, cycles), true),
                           cell(ratio(stat(kernel, "sm.thread_instructions"), instructions), true),
                           cell(share(stat(kernel, "l1.sector_hits"), loads), true),
                           cell(share(stat(kernel, "l2.sector_hits"), stat(kernel, "l2.sector_accesses")), true),
                           cell(fmt::format("{:.1f}", time > 0 ? bytes_of(kernel, "DRAM") / time / 1e9 : 0), true),
                           cell(fmt::format("{} ({})", slot_of(most).label, percent_text(uses[most], cycles * slots_per_cycle_))));
    }

    void over_time() {
        const Json& intervals = member(run_, "intervals");
        const std::size_t count = std::min(list(intervals, "start").size(), list(intervals, "cycles").size());
        if (count < 2 || !member(intervals, "stats").is_object()) return;
        page_.section("Over time");
        page_.add(utilisation(intervals, count));
    }

    Chart utilisation(const Json& intervals, std::size_t count) const {
        Json chart = {{"kind", "lines"}, {"title", "Utilisation"}, {"x_title", "core cycles"}, {"y_title", "% of the peak"}};
        chart["data"] = Json::array();
        // Neighbouring intervals share a point if there are very many.
        const std::size_t shared = (count + kMostIntervals - 1) / kMostIntervals;
        for (std::size_t i = 0; i < count; i += shared) {
            Json record = {{"cycles", 0.0}, {"stats", Json::object()}};
            for (std::size_t k = i; k < std::min(count, i + shared); ++k)
                record["cycles"] = cycles_of(record) + std::max(0.0, number_of(list(intervals, "cycles")[k]).value_or(0));
            for (const auto& column : member(intervals, "stats").items()) {
                double sum = 0;
                for (std::size_t k = i; k < std::min(column.value().size(), i + shared) && column.value().is_array(); ++k)
                    sum += number_of(column.value()[k]).value_or(0);
                record["stats"][column.key()] = sum;
            }
            const double cycles = cycles_of(record);
            const auto add = [&](const char* name, double used) {
                if (cycles > 0)
                    chart["data"].push_back(
                        {{"x", number_of(list(intervals, "start")[i]).value_or(0)}, {"series", name}, {"y", 100 * used / cycles}});
            };
            add("issue slots", stat(record, "sm.warp_instructions") / slots_per_cycle_);
            for (const char* const level : {"L1", "L2", "DRAM"}) {
                if (peak_of(level) > 0) add(level, bytes_of(record, level) / (peak_of(level) / (mhz_ * 1e6)));
            }
        }
        return read_chart(chart);
    }

    void units() {
        const Json& units = member(run_, "per_unit");
        if (!units.is_object() || units.empty()) return;
        page_.section("SMs, slices and channels");
        page_.add("<p>The same counter of every unit: imbalance is visible as a pattern. Point at a square for its value.</p>\n");
        const auto cluster = static_cast<std::size_t>(std::clamp(value_or_zero(member(run_, "machine"), "sms_per_cluster"), 0.0, 1e6));
        for (const auto& unit : units.items()) {
            std::vector<double> values;
            if (!unit.value().is_array()) continue;
            for (const Json& value : unit.value()) values.push_back(std::max(0.0, number_of(value).value_or(0)));
            if (values.empty() || *std::max_element(values.begin(), values.end()) <= 0) continue;
            const bool of_sms = static_cast<double>(values.size()) == sms_;
            const std::string kind = of_sms                            ? "SM"
                                     : unit.key().starts_with("l2.")   ? "slice"
                                     : unit.key().starts_with("dram.") ? "channel"
                                                                       : "unit";
            page_.add(fmt::format("<h3>{} <span class=\"small\">{}, by {}</span></h3>\n", escaped(unit.key()),
                                  escaped(text(member(run_, "meanings"), unit.key().c_str())), kind));
            page_.add(heat_map(values, of_sms ? cluster : 0, kind));
        }
    }

    /// Instructions in the order of each program; the hottest of them if there are very many.
    void source() {
        std::vector<double> hottest;
        double all = 0;
        for (const Json& kernel : list(run_, "by_instruction")) {
            for (const Json& line : list(kernel, "instructions")) hottest.push_back(std::max(0.0, value_or_zero(line, "stalled")));
        }
        if (hottest.empty()) return;
        for (const double stalled : hottest) all += stalled;
        std::sort(hottest.begin(), hottest.end(), std::greater<>());
        const double least = hottest.size() > kMostLines ? hottest[kMostLines - 1] : 0;
        page_.section("Source");
        page_.add(fmt::format(
            "<p>Colour and share: cycles in which schedulers waited for the value of the instruction. Per access: requests of a warp, or "
            "passes over the banks of shared memory; ideal: the same for consecutive addresses.{}</p>\n",
            hottest.size() > kMostLines
                ? fmt::format(" The {} of {} instructions that wait longest are listed.", kMostLines, hottest.size())
                : ""));
        std::size_t shown = 0;
        for (const Json& kernel : list(run_, "by_instruction")) {
            std::string rows;
            for (const Json& line : list(kernel, "instructions")) {
                if (value_or_zero(line, "stalled") < least || shown == kMostLines) continue;
                ++shown;
                rows += source_row(line, hottest.front(), all);
            }
            if (rows.empty()) continue;
            page_.add(fmt::format("<h3>{}</h3>\n", escaped(readable_name(text(kernel, "kernel")))));
            page_.add(table_of(
                "<th>line</th><th class=\"n\">PTX</th><th>instruction</th><th class=\"n\">executions</th><th class=\"n\">lanes</th><th "
                "class=\"n\">per access</th><th class=\"n\">ideal</th><th class=\"n\">latency</th><th class=\"n\">share of waits</th>",
                rows, "<table class=\"source\">"));
        }
    }

    static std::string place_of(const Json& place) {
        const std::string file = text(place, "file");
        return file.empty() ? "" : file.substr(file.rfind('/') + 1) + ":" + text(place, "line");
    }
    static std::string source_row(const Json& line, double most, double all) {
        const double heat = std::max(0.0, value_or_zero(line, "stalled"));
        const std::string caller = place_of(member(line, "inlined_at"));
        const auto mean = [&](const char* sum, const char* count) {
            const double whole = value_or_zero(line, count);
            return cell(whole > 0 ? fmt::format("{:.1f}", value_or_zero(line, sum) / whole) : "", true);
        };
        return fmt::format("<tr style=\"--h:{:.2f}\">{}{}{}{}{}{}{}{}{}</tr>\n", most > 0 ? 0.6 * heat / most : 0,
                           cell(place_of(line) + (caller.empty() ? "" : " in " + caller)), cell(text(line, "ptx_line"), true),
                           cell(text(line, "opcode")), cell(whole(value_or_zero(line, "executions")), true), mean("lanes", "executions"),
                           mean("transactions", "accesses"), mean("ideal", "accesses"), mean("latency", "loads"),
                           cell(percent_text(heat, all), true));
    }

    void energy() {
        const Json& tables = member(run_, "energy");
        if (!tables.is_object() || tables.empty()) return;
        page_.section("Energy");
        for (const auto& table : tables.items()) {
            const Json& components = member(table.value(), "components_fj");
            if (!components.is_object()) continue;
            std::vector<StackPart> parts;
            StackRow row{fmt::format("{:.2f} uJ", value_or_zero(table.value(), "total_fj") * 1e-9), {}};
            for (const auto& component : components.items()) {
                parts.push_back({component.key(), "", ""});
                row.values.push_back(std::max(0.0, number_of(component.value()).value_or(0)));
            }
            page_.add(fmt::format("<h3>{}</h3>\n{}", escaped(table.key()), stacks(parts, std::vector{row})));
        }
    }

    void counters() {
        page_.section("All counters");
        std::string rows;
        const Json& stats = member(run_, "stats");
        const Json& intervals = member(member(run_, "sample"), "stats");
        if (stats.is_object()) {
            for (const auto& one : stats.items())
                rows += fmt::format(
                    "<tr><th scope=\"row\">{}</th>{}{}{}{}</tr>\n", escaped(one.key()),
                    cell(whole(number_of(one.value()).value_or(0)), true),
                    intervals.is_object()
                        ? cell(fmt::format("{:.2f} %", 100 * value_or_zero(member(intervals, one.key().c_str()), "relative")), true)
                        : "",
                    cell(text(member(run_, "units"), one.key().c_str())), cell(text(member(run_, "meanings"), one.key().c_str())));
        }
        page_.add(fmt::format("<details><summary>Counters of the run</summary>\n{}</details>\n",
                              table_of(fmt::format("<th>counter</th><th class=\"n\">value</th>{}<th>unit</th><th>meaning</th>",
                                                   intervals.is_object() ? "<th class=\"n\">+- (95 %)</th>" : ""),
                                       rows)));
        rows.clear();
        const Json& config = member(run_, "config");
        if (config.is_object()) {
            for (const auto& one : config.items())
                rows += fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escaped(one.key()), cell(text_of(one.value())));
        }
        page_.add(fmt::format("<details><summary>Configuration</summary>\n{}</details>\n<p class=\"small\">digest {}</p>\n",
                              table_of("<th>key</th><th>value</th>", rows), escaped(text(run_, "digest"))));
    }

    const Json& run_;
    const std::vector<Finding>& findings_;
    const double sms_, slots_per_cycle_, mhz_;
    Page page_;
    std::vector<const Json*> kernels_;  ///< longest first
};

}  // namespace

std::string run_page(const nlohmann::ordered_json& result, const std::vector<Finding>& findings) {
    return RunPage(result, findings).write();
}

std::string run_head(const nlohmann::ordered_json& result) {
    const std::vector<Finding> none;
    return RunPage(result, none).head();
}

}  // namespace mergelane
