// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "advise/advice.hpp"
#include "core/text.hpp"
#include "report/page.hpp"

namespace mergelane {

namespace {

using report::cell;
using report::escaped;
using report::Json;

constexpr std::uint32_t kMostCells = 64;  ///< along a side of a map
constexpr double kMapPixels = 300;

/// Where and when the tasks of a plane begin, if all take equally long.
struct Schedule {
    std::vector<std::uint32_t> sm;
    std::vector<std::uint32_t> wave;
    std::uint32_t waves = 0;
};

Schedule schedule_of(const Candidate& candidate, const Dim3& grid, std::uint32_t sms, std::uint32_t slots) {
    Schedule schedule;
    schedule.sm.resize(grid.count());
    schedule.wave.resize(grid.count());
    const std::unique_ptr<TaskSource> tasks = candidate.tasks(grid, sms, slots);
    const std::uint32_t resident = candidate.resident(slots);
    for (bool any = true; any; schedule.waves += any ? 1 : 0) {
        any = false;
        for (std::uint32_t slot = 0; slot < resident; ++slot) {
            for (std::uint32_t sm = 0; sm < sms; ++sm) {
                std::uint64_t task = 0;
                if (!tasks->next(sm, slot, task)) continue;
                schedule.sm[task] = sm;
                schedule.wave[task] = schedule.waves;
                any = true;
            }
        }
    }
    return schedule;
}

/// Neighbouring SMs have contrasting colours.
std::string sm_colour(std::uint32_t sm) {
    return fmt::format("hsl({},60%,{}%)", sm * 137 % 360, sm % 2 == 0 ? 45 : 65);
}

std::string time_colour(std::uint32_t wave, std::uint32_t waves) {
    const double late = waves <= 1 ? 0 : static_cast<double>(wave) / (waves - 1);
    return fmt::format("hsl(210,55%,{:.0f}%)", 90 - 65 * late);
}

template <class Colour>
std::string grid_map(const Dim3& grid, const std::string& title, Colour&& colour) {
    const std::uint32_t width = std::min(grid.x, kMostCells), height = std::min(grid.y, kMostCells);
    const double cell = std::max(2.0, std::min(kMapPixels / width, kMapPixels / std::max(height, 8u)));
    std::string svg = fmt::format(
        "<svg role=\"img\" aria-label=\"{0}\" width=\"{1:.0f}\" height=\"{2:.0f}\" viewBox=\"0 0 {1:.0f} {2:.0f}\" "
        "xmlns=\"http://www.w3.org/2000/svg\"><title>{0}</title>",
        escaped(title), cell * width, cell * height);
    for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
            svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>", x * cell, y * cell,
                               cell - 0.4, cell - 0.4, colour(std::uint64_t{y} * grid.x + x));
        }
    }
    return svg + "</svg>";
}

class AdvicePage {
public:
    explicit AdvicePage(const Advice& advice)
        : advice_(advice),
          forecast_(advice.forecast),
          page_(fmt::format("CTA order of {} on {}", printable(advice.workload), advice.machine.name)) {}

    std::string all() {
        page_.fact("Configuration", advice_.config_hash, true);
        page_.fact("Mergelane", advice_.version);
        lead();
        limits();
        kernels();
        page_.section("Candidates");
        gains();
        traffic();
        maps();
        return page_.write();
    }

private:
    std::string name(std::size_t candidate) const { return forecast_.candidates[candidate].name(); }

    void lead() {
        const bool leave = advice_.all.candidate == 0;
        std::string code;
        if (!leave) {
            for (const std::string& line : advice_code(forecast_.candidates[advice_.all.candidate])) code += escaped(line) + "\n";
        }
        page_.lead(fmt::format(
            "<div class=\"bottleneck\"><p><strong>{}</strong></p>{}</div>\n",
            leave ? std::string("No change: no simulated order improves performance.")
                  : escaped(fmt::format("Use {}: {:.2f} times as fast in simulation.", name(advice_.all.candidate), advice_.all.gain)),
            leave ? "" : "<pre>" + code + "</pre>"));
    }

    void limits() {
        if (advice_.findings.empty()) return;
        page_.section("What limits the unchanged program");
        std::string rows;
        for (const explain::Finding& finding : advice_.findings)
            rows += "<tr>" + cell(fmt::format("{:.0f} %", 100 * finding.share), true) + cell(finding.sentence) + cell(finding.remedy) +
                    "</tr>\n";
        page_.add(report::table_of("<th class=\"n\">of the time</th><th>finding</th><th>what helps</th>", rows));
    }

    void kernels() {
        page_.section("Kernels");
        std::string rows;
        for (std::size_t k = 0; k < forecast_.kernels.size(); ++k) {
            const KernelForecast& kernel = forecast_.kernels[k];
            const Reason& reason = advice_.kernels[k].reason;
            const Choice& choice = advice_.kernels[k].choice;
            rows +=
                "<tr>" + cell(readable_name(kernel.info.name)) + cell(grouped(kernel.ctas), true) +
                cell(fmt::format("{}", kernel.slots), true) + cell(std::string(locality_name(reason.locality))) + cell(reason.evidence) +
                cell(choice.candidate == 0 ? "leave it" : fmt::format("{}, {:.2f} times", name(choice.candidate), choice.gain)) + "</tr>\n";
        }
        page_.add(
            report::table_of("<th>kernel</th><th class=\"n\">CTAs</th><th class=\"n\">on an SM</th><th>class</th><th>evidence</th>"
                             "<th>advice</th>",
                             rows, report::kWide));
    }

    void gains() {
        Json chart = {
            {"kind", "bars"}, {"title", "Speed-up"}, {"x_title", "candidate"}, {"y_title", "over the unchanged program"}, {"baseline", 1}};
        chart["data"] = Json::array();
        for (const Trial& trial : advice_.trials) {
            const std::string x = forecast_.candidates[trial.candidate].short_name();
            chart["data"].push_back({{"x", x}, {"series", "predicted"}, {"y", advice_.predicted_gain(trial.candidate)}});
            chart["data"].push_back({{"x", x}, {"series", "simulated"}, {"y", advice_.gain(trial)}});
        }
        page_.add(report::read_chart(chart));
    }

    void traffic() {
        Json chart = {{"kind", "bars"}, {"title", "Predicted traffic"}, {"x_title", "candidate"}, {"y_title", "MB"}};
        chart["data"] = Json::array();
        for (const Trial& trial : advice_.trials) {
            const Traffic total = forecast_.total(trial.candidate).traffic;
            for (const auto& [level, sectors] : {std::pair{"L2", total.to_l2()}, std::pair{"DRAM", total.to_dram()}})
                chart["data"].push_back({{"x", forecast_.candidates[trial.candidate].short_name()},
                                         {"series", level},
                                         {"y", static_cast<double>(sectors) * 32 / 1e6}});
        }
        page_.add(report::read_chart(chart));
    }

    void maps() {
        std::size_t largest = 0;
        for (std::size_t k = 0; k < forecast_.kernels.size(); ++k) {
            if (forecast_.kernels[k].info.ctas() > forecast_.kernels[largest].info.ctas()) largest = k;
        }
        const KernelForecast& kernel = forecast_.kernels[largest];
        const Dim3& grid = kernel.info.grid;
        page_.section("Where and when CTAs run");
        page_.add(fmt::format(
            "<p>{}, {} x {} x {} CTAs{}; left by SM, right by time (light first), if all take equally long.</p>\n",
            escaped(readable_name(kernel.info.name)), grid.x, grid.y, grid.z,
            grid.x > kMostCells || grid.y > kMostCells ? fmt::format(", of which the first {0} x {0} are shown", kMostCells) : ""));
        for (const Trial& trial : advice_.trials) {
            const Schedule schedule = schedule_of(forecast_.candidates[trial.candidate], grid, advice_.machine.sms, kernel.slots);
            const std::string title = name(trial.candidate);
            page_.add(fmt::format(
                "<h3>{}</h3><div class=\"maps\"><figure>{}</figure><figure>{}</figure></div>\n", escaped(title),
                grid_map(grid, title + ", by SM", [&](std::uint64_t task) { return sm_colour(schedule.sm[task]); }),
                grid_map(grid, title + ", by time", [&](std::uint64_t task) { return time_colour(schedule.wave[task], schedule.waves); })));
        }
    }

    const Advice& advice_;
    const Forecast& forecast_;
    report::Page page_;
};

}  // namespace

std::string advice_html(const Advice& advice) {
    return AdvicePage(advice).all();
}

}  // namespace mergelane
