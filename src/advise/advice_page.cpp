// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "advise/advice.hpp"
#include "core/text.hpp"
#include "report/embedded.hpp"
#include "report/html_report.hpp"
#include "report/loose_json.hpp"

namespace mergelane {

namespace {

using nlohmann::json;
using report::escaped;

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
        "<svg role=\"img\" aria-label=\"{0}\" width=\"{1:.0f}\" height=\"{2:.0f}\" xmlns=\"http://www.w3.org/2000/svg\"><title>{0}</title>",
        escaped(title), cell * width, cell * height);
    for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
            svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>", x * cell, y * cell,
                               cell - 0.4, cell - 0.4, colour(std::uint64_t{y} * grid.x + x));
        }
    }
    return svg + "</svg>";
}

class Page {
public:
    explicit Page(const Advice& advice) : advice_(advice), forecast_(advice.forecast) {}

    std::string all() {
        const std::string title = fmt::format("CTA order of {} on {}", advice_.workload, advice_.machine.name);
        out_ = fmt::format(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{1}"
            ".maps{{display:flex;flex-wrap:wrap;gap:24px}}.maps figure{{margin:0}}</style></head><body><h1>{0}</h1>",
            escaped(title), report::embedded::page_style());
        out_ +=
            fmt::format("<p class=\"small\">configuration {}, mergelane {}</p>", escaped(advice_.config_hash), escaped(advice_.version));
        const bool leave = advice_.all.candidate == 0;
        out_ += fmt::format("<p class=\"lead\"><b>{}</b></p>", leave ? std::string("No change: no simulated order improves performance.")
                                                                     : escaped(fmt::format("Use {}: {:.2f} times as fast in simulation.",
                                                                                           name(advice_.all.candidate), advice_.all.gain)));
        if (!leave) {
            out_ += "<pre>";
            for (const std::string& line : advice_code(forecast_.candidates[advice_.all.candidate])) out_ += escaped(line) + "\n";
            out_ += "</pre>";
        }
        kernels();
        out_ += "<h2>Candidates</h2>";
        gains();
        traffic();
        maps();
        return out_ + "</body></html>\n";
    }

private:
    std::string name(std::size_t candidate) const { return forecast_.candidates[candidate].name(); }

    void kernels() {
        out_ +=
            "<h2>Kernels</h2><div class=\"scroll\"><table class=\"wide\"><thead><tr><th>kernel</th><th class=\"n\">CTAs</th><th "
            "class=\"n\">on an SM</th>"
            "<th>class</th><th>evidence</th><th>advice</th></tr></thead><tbody>";
        for (std::size_t k = 0; k < forecast_.kernels.size(); ++k) {
            const KernelForecast& kernel = forecast_.kernels[k];
            const Reason& reason = advice_.kernels[k].reason;
            const Choice& choice = advice_.kernels[k].choice;
            out_ += fmt::format(
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(readable_name(kernel.info.name)), grouped(kernel.ctas), kernel.slots, locality_name(reason.locality),
                escaped(reason.evidence),
                choice.candidate == 0 ? "leave it" : escaped(fmt::format("{}, {:.2f} times", name(choice.candidate), choice.gain)));
        }
        out_ += "</tbody></table></div>";
    }

    void gains() {
        json chart = {
            {"kind", "bars"}, {"title", "Speed-up"}, {"x_title", "candidate"}, {"y_title", "over the unchanged program"}, {"baseline", 1}};
        for (const Trial& trial : advice_.trials) {
            const std::string x = forecast_.candidates[trial.candidate].short_name();
            chart["data"].push_back({{"x", x}, {"series", "predicted"}, {"y", advice_.predicted_gain(trial.candidate)}});
            chart["data"].push_back({{"x", x}, {"series", "simulated"}, {"y", advice_.gain(trial)}});
        }
        out_ += "<figure>" + svg_chart(chart) + "</figure>";
    }

    void traffic() {
        json chart = {{"kind", "bars"}, {"title", "Predicted traffic"}, {"x_title", "candidate"}, {"y_title", "MB"}};
        for (const Trial& trial : advice_.trials) {
            const Traffic total = forecast_.total(trial.candidate).traffic;
            for (const auto& [level, sectors] : {std::pair{"L2", total.to_l2()}, std::pair{"DRAM", total.to_dram()}})
                chart["data"].push_back({{"x", forecast_.candidates[trial.candidate].short_name()},
                                         {"series", level},
                                         {"y", static_cast<double>(sectors) * 32 / 1e6}});
        }
        out_ += "<figure>" + svg_chart(chart) + "</figure>";
    }

    void maps() {
        std::size_t largest = 0;
        for (std::size_t k = 0; k < forecast_.kernels.size(); ++k) {
            if (forecast_.kernels[k].info.ctas() > forecast_.kernels[largest].info.ctas()) largest = k;
        }
        const KernelForecast& kernel = forecast_.kernels[largest];
        const Dim3& grid = kernel.info.grid;
        out_ += fmt::format(
            "<h2>Where and when CTAs run</h2><p>{}, {} x {} x {} CTAs{}; left by SM, right by time (light first), if all take equally "
            "long.</p>",
            escaped(readable_name(kernel.info.name)), grid.x, grid.y, grid.z,
            grid.x > kMostCells || grid.y > kMostCells ? fmt::format(", of which the first {0} x {0} are shown", kMostCells) : "");
        for (const Trial& trial : advice_.trials) {
            const Schedule schedule = schedule_of(forecast_.candidates[trial.candidate], grid, advice_.machine.sms, kernel.slots);
            const std::string title = name(trial.candidate);
            out_ += fmt::format(
                "<h3>{}</h3><div class=\"maps\"><figure>{}</figure><figure>{}</figure></div>", escaped(title),
                grid_map(grid, title + ", by SM", [&](std::uint64_t task) { return sm_colour(schedule.sm[task]); }),
                grid_map(grid, title + ", by time", [&](std::uint64_t task) { return time_colour(schedule.wave[task], schedule.waves); }));
        }
    }

    const Advice& advice_;
    const Forecast& forecast_;
    std::string out_;
};

}  // namespace

std::string advice_html(const Advice& advice) {
    return Page(advice).all();
}

}  // namespace mergelane
