// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "advise/advice.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"

namespace mergelane {

namespace {

using How = Candidate::How;
using Kind = TaskOrder::Kind;

double megabytes(std::uint64_t sectors) {
    return static_cast<double>(sectors) * 32 / 1e6;
}

std::string order_call(const Candidate& candidate) {
    const std::string tile = candidate.tiled() ? std::to_string(candidate.tile) : "";
    return fmt::format("Order::{}({})", candidate.order(), candidate.kind == Kind::table ? "numbers" : tile);
}

class Text {
public:
    explicit Text(const Advice& advice) : advice_(advice), forecast_(advice.forecast) {}

    std::string all() {
        out_ += fmt::format("{} on {}: {} SMs, configuration {:.12}, mergelane {}\n", printable(advice_.workload), advice_.machine.name,
                            advice_.machine.sms, advice_.config_hash, advice_.version);
        for (std::size_t k = 0; k < forecast_.kernels.size(); ++k) kernel(k);
        limits();
        whole();
        table();
        out_ += advice_.waits_text;
        verdict();
        return std::move(out_);
    }

private:
    void kernel(std::size_t index) {
        const KernelForecast& kernel = forecast_.kernels[index];
        const Traffic& traffic = kernel.by_candidate.front().traffic;
        out_ += fmt::format("\n{}: {} CTAs of {} warps in {}, {} on an SM\n", readable_name(kernel.info.name), grouped(kernel.ctas),
                            kernel.info.warps_per_cta(), kernel.launches == 1 ? "one launch" : fmt::format("{} launches", kernel.launches),
                            kernel.slots);
        out_ += fmt::format("  {}: {}\n", locality_name(advice_.kernels[index].reason.locality), advice_.kernels[index].reason.evidence);
        out_ += fmt::format(
            "  predicted traffic of the unchanged kernel: {:.1f} MB requested, {:.1f} MB from the L2, {:.1f} MB from DRAM; {:.0f} % of the "
            "lines CTAs access are shared\n",
            megabytes(traffic.loads), megabytes(traffic.l1_misses), megabytes(traffic.l2_misses), 100 * kernel.sharing.line_reuse());
        const Choice& choice = advice_.kernels[index].choice;
        if (choice.candidate == 0)
            out_ += fmt::format("  no change: no simulated order gains {}\n", least_gain());
        else
            out_ += fmt::format("  {}: {:.2f} times as fast in simulation\n", forecast_.candidates[choice.candidate].name(), choice.gain);
    }

    /// What an order of CTAs does not change, too.
    void limits() {
        std::size_t shown = 0;
        for (const explain::Finding& finding : advice_.findings) {
            if (finding.share < 0.05 || shown == 4) break;
            if (shown++ == 0) out_ += "\nWhat limits the unchanged program, by share of the time (mergelane explain says more)\n";
            out_ += fmt::format("  {:>3.0f} %  {}\n         {}\n", 100 * finding.share, finding.sentence, finding.remedy);
        }
    }

    std::string least_gain() const { return fmt::format("{:.0f} %", 100 * (advice_.least_gain - 1)); }

    /// Applies to the program, not to one kernel.
    void whole() {
        if (const std::optional<Forecast::Cuts>& cuts = forecast_.cuts)
            out_ += fmt::format(
                "\nOf what CTAs share, {:.0f} % would be between SMs if each had a part of the rows, {:.0f} % of the columns, {:.0f} % as "
                "a "
                "graph in balanced parts.\n",
                100 * cuts->rows, 100 * cuts->columns, 100 * cuts->partition);
        for (const Candidate& candidate : forecast_.candidates) {
            if (candidate.how != How::as_it_is || candidate.past_l1.empty()) continue;
            out_ += fmt::format("\nAs it is, {} of {} loads find less than 5 % of their data in the L1 (at {:#x} in the PTX).\n",
                                candidate.past_l1.size(), forecast_.loads, fmt::join(candidate.past_l1, ", "));
            break;
        }
    }

    void table() {
        out_ += fmt::format("\n{:<36}{:>10}{:>10}{:>10}{:>12}{:>12}\n", "candidate, all kernels", "L2, MB", "DRAM, MB", "predicted",
                            "simulated", "cycles");
        std::vector<std::size_t> order(forecast_.candidates.size());
        for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
        std::stable_sort(order.begin() + 1, order.end(),
                         [&](std::size_t a, std::size_t b) { return forecast_.total(a).cycles < forecast_.total(b).cycles; });
        for (const std::size_t c : order) {
            const Prediction total = forecast_.total(c);
            const Trial* const trial = advice_.trial_of(c);
            out_ += fmt::format("{:<36}{:>10.1f}{:>10.1f}{:>9.2f}x{:>12}{:>12}\n", forecast_.candidates[c].name(),
                                megabytes(total.traffic.to_l2()), megabytes(total.traffic.to_dram()), advice_.predicted_gain(c),
                                trial == nullptr ? "-" : fmt::format("{:.2f}x", advice_.gain(*trial)),
                                trial == nullptr ? "-" : grouped(trial->cycles));
        }
        out_ += "Traffic is predicted; the predicted speed is a rough bound derived from it";
        out_ += advice_.trials.size() == 1
                    ? ".\n"
                    : fmt::format(", with an error of up to {:.0f} % against simulation.\n", 100 * advice_.worst_error);
    }

    void verdict() {
        if (advice_.trials.size() == 1) {
            out_ += "\nOnly the unchanged program was simulated, so there is no recommendation; use --simulations 1 or more.\n";
            return;
        }
        if (advice_.all.candidate == 0) {
            out_ += fmt::format("\nNo change: no simulated order makes the program {} faster.\n", least_gain());
            return;
        }
        const Candidate& best = forecast_.candidates[advice_.all.candidate];
        out_ += fmt::format("\nUse {}: {:.2f} times as fast in simulation.\n", best.name(), advice_.all.gain);
        for (const std::string& line : advice_code(best)) out_ += "  " + line + "\n";
        if (best.kind == Kind::table) {
            out_ += "  for the table, see \"table\" in --json\n";
            return;
        }
        out_ += "  to reproduce it, add ";
        for (const std::string& override : best.overrides()) out_ += "--set " + override + " ";
        out_ += "to mergelane run, or to mergelane cuda for a program\n";
        if (forecast_.kernels.size() > 1)
            out_ += "  this speedup is with all kernels changed; change only the kernels that gain individually, see above\n";
        if (best.how == How::agents)
            out_ +=
                "  as many CTAs as before must fit on an SM: compare register counts (ptxas -v), and limit them (__launch_bounds__) if "
                "necessary\n";
    }

    const Advice& advice_;
    const Forecast& forecast_;
    std::string out_;
};

nlohmann::json traffic_json(const Traffic& traffic) {
    return {{"loads_bytes", traffic.loads * 32},       {"l2_bytes", traffic.to_l2() * 32},        {"dram_bytes", traffic.to_dram() * 32},
            {"l1_miss_bytes", traffic.l1_misses * 32}, {"l2_miss_bytes", traffic.l2_misses * 32}, {"dram_rows", traffic.row_misses}};
}

nlohmann::json findings_json(const std::vector<explain::Finding>& findings) {
    nlohmann::json list = nlohmann::json::array();
    for (const explain::Finding& finding : findings)
        list.push_back({{"id", finding.id}, {"share", finding.share}, {"sentence", finding.sentence}, {"remedy", finding.remedy}});
    return list;
}

}  // namespace

std::vector<std::string> advice_code(const Candidate& candidate) {
    const std::string order = order_call(candidate);
    std::vector<std::string> lines;
    if (!candidate.past_l1.empty())
        lines.push_back(fmt::format("CUDA                       __ldcg(pointer) for the loads at {:#x} in the PTX",
                                    fmt::join(candidate.past_l1, ", ")));
    if (candidate.how == How::as_it_is) return lines;
    if (candidate.how == How::agents) {
        const std::string active =
            candidate.agents == 0 ? ""
                                  : fmt::format(", mergelane::AgentOptions{{{0}, mergelane::AgentId::counter, {0}}}", candidate.agents);
        lines.push_back(
            fmt::format("mergelane/cta_cluster.cuh  state.plan(agents, kernel, block, 0, grid, mergelane::{}{})", order, active));
        lines.emplace_back("                           for (const dim3 block : agents) { ... }");
        return lines;
    }
    lines.push_back(fmt::format("mergelane/cta_cluster.cuh  const dim3 block = mergelane::swizzle(mergelane::{});", order));
    if (candidate.kind == Kind::bands) {
        lines.push_back(fmt::format("Triton                     GROUP_SIZE_M = {}, if y counts rows of the result", candidate.tile));
        lines.push_back(fmt::format("CUTLASS                    swizzle {}, raster order along M", candidate.tile));
    } else if (candidate.kind == Kind::columns) {
        lines.emplace_back("CUTLASS                    swizzle 1, raster order along M");
    }
    return lines;
}

std::string advice_text(const Advice& advice) {
    return Text(advice).all();
}

std::string advice_json(const Advice& advice) {
    const Forecast& forecast = advice.forecast;
    nlohmann::json all = {{"schema", 2},  // docs/schema/advise.json
                          {"version", advice.version},
                          {"workload", advice.workload},
                          {"gpu", advice.machine.name},
                          {"config_hash", advice.config_hash},
                          {"worst_error", advice.worst_error},
                          {"recommended", forecast.candidates[advice.all.candidate].name()},
                          {"gain", advice.all.gain},
                          {"class", locality_name(advice.kernels[advice.main_kernel()].reason.locality)},
                          {"direction", advice.direction() == Kind::rows ? "rows" : "columns"}};
    if (forecast.cuts)
        all["cut"] = {{"partition", forecast.cuts->partition}, {"rows", forecast.cuts->rows}, {"columns", forecast.cuts->columns}};
    all["findings"] = findings_json(advice.findings);
    for (std::size_t c = 0; c < forecast.candidates.size(); ++c) {
        const Prediction total = forecast.total(c);
        nlohmann::json one = {{"name", forecast.candidates[c].name()},
                              {"overrides", forecast.candidates[c].overrides()},
                              {"predicted", traffic_json(total.traffic)},
                              {"predicted_gain", advice.predicted_gain(c)}};
        if (forecast.candidates[c].table != nullptr) one["table"] = *forecast.candidates[c].table;
        if (const Trial* const trial = advice.trial_of(c)) {
            one["cycles"] = trial->cycles;
            one["gain"] = advice.gain(*trial);
            one["l2_bytes"] = trial->l2_sectors * 32;
            one["dram_read_bytes"] = trial->dram_sectors * 32;
        }
        all["candidates"].push_back(std::move(one));
    }
    for (std::size_t k = 0; k < forecast.kernels.size(); ++k) {
        const KernelForecast& kernel = forecast.kernels[k];
        const KernelAdvice& one = advice.kernels[k];
        all["kernels"].push_back({{"name", kernel.info.name},
                                  {"launches", kernel.launches},
                                  {"ctas", kernel.ctas},
                                  {"grid", {kernel.info.grid.x, kernel.info.grid.y, kernel.info.grid.z}},
                                  {"ctas_per_sm", kernel.slots},
                                  {"class", locality_name(one.reason.locality)},
                                  {"evidence", one.reason.evidence},
                                  {"line_reuse", kernel.sharing.line_reuse()},
                                  {"sector_reuse", kernel.sharing.sector_reuse()},
                                  {"passed_on", share(kernel.sharing.passed_sectors, kernel.sharing.sectors)},
                                  {"lines_per_load", share(kernel.counts.load_lines, kernel.counts.loads)},
                                  {"near_share", share(kernel.counts.near_sectors, kernel.counts.load_sectors)},
                                  {"addresses_from_memory", share(kernel.counts.found, kernel.counts.watched)},
                                  {"shared_addresses_from_memory", share(kernel.counts.found_shared, kernel.counts.watched_shared)},
                                  {"ordered_line_reuse", kernel.sharing.ordered_line_reuse()},
                                  {"ordered_sector_reuse", kernel.sharing.ordered_sector_reuse()},
                                  {"common_share", kernel.sharing.common_share()},
                                  {"along_x", kernel.sharing.along_x},
                                  {"along_y", kernel.sharing.along_y},
                                  {"cta_lines", kernel.sharing.cta_lines},
                                  {"recommended", forecast.candidates[one.choice.candidate].name()},
                                  {"gain", one.choice.gain}});
    }
    if (!advice.waits_json.empty()) all["by_instruction"] = nlohmann::json::parse(advice.waits_json);
    return json_text(all, 1) + "\n";
}

}  // namespace mergelane
