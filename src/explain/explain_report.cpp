// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "explain/finding.hpp"
#include "report/instructions.hpp"

namespace mergelane::explain {

namespace {

using Json = nlohmann::ordered_json;

std::string verdict(const std::optional<double>& gain) {
    if (!gain) return "not confirmed: it cannot be simulated";
    return fmt::format("{:.2f} times as fast{}", *gain, *gain < kConfirms ? ": not confirmed" : "");
}

std::string finding_text(std::size_t rank, const Finding& finding, bool measured) {
    std::string text = fmt::format("{:>3}. {}\n", rank, finding.sentence);
    text += fmt::format("     estimated cost: {:.0f} % of the time", 100 * finding.share);
    for (const auto& [name, value] : finding.numbers) text += fmt::format("; {} {}", name, value);
    text += "\n";
    if (measured) {
        text += finding.what_if ? fmt::format("     what if {}: {}", finding.what_if->text, verdict(finding.gain))
                                : fmt::format("     {}", verdict(std::nullopt));
        if (const double ranked = ranked_gain(finding); ranked < finding.gain.value_or(0))
            text +=
                fmt::format("; ranked as {:.2f}, the most that the estimated cost allows, because this changes the amount of work", ranked);
        text += "\n";
    }
    return text + fmt::format("     {}\n", finding.remedy);
}

/// A few words for a heading.
std::string title_of(std::string_view id) {
    static constexpr std::pair<std::string_view, std::string_view> kTitles[] = {{"launch_bound", "Kernel launch overhead"},
                                                                                {"partial_wave", "Partial last wave"},
                                                                                {"sm_imbalance", "Imbalance between SMs"},
                                                                                {"occupancy", "Occupancy"},
                                                                                {"too_few_warps", "Too few warps"},
                                                                                {"barriers", "Barriers"},
                                                                                {"uncoalesced", "Uncoalesced accesses"},
                                                                                {"bank_conflicts", "Bank conflicts in shared memory"},
                                                                                {"atomics_one_address", "Atomics on one address"},
                                                                                {"l1_mshrs", "MSHRs of the L1"},
                                                                                {"l1_merges", "Merge limit of the L1"},
                                                                                {"l1_ways", "Ways of the L1"},
                                                                                {"l2_mshrs", "MSHRs of the L2"},
                                                                                {"l2_merges", "Merge limit of the L2"},
                                                                                {"hot_slice", "Hot slice or channel"},
                                                                                {"network_bandwidth", "Network bandwidth"},
                                                                                {"dram_bandwidth", "DRAM bandwidth"},
                                                                                {"row_conflicts", "Row conflicts"},
                                                                                {"arithmetic", "Arithmetic"}};
    for (const auto& [known, title] : kTitles) {
        if (known == id) return std::string(title);
    }
    return std::string(id);
}

/// "A load takes 282 cycles from issue to use: 49 % in l2.merge_limit, ..."
std::string longest_stages(const RunResult& run) {
    const LoadTimes& times = run.load_times;
    if (times.total == 0) return {};
    std::vector<std::pair<std::uint64_t, std::size_t>> stages;
    for (std::size_t s = 0; s < times.spent.size(); ++s) stages.emplace_back(times.spent[s], s);
    constexpr std::size_t kShown = 3;
    std::partial_sort(stages.begin(), stages.begin() + std::min(kShown, stages.size()), stages.end(), std::greater());
    std::string parts;
    for (std::size_t i = 0; i < std::min(kShown, stages.size()) && stages[i].first != 0; ++i)
        parts += fmt::format("{}{:.0f} % in {}", i == 0 ? "" : ", ",
                             100.0 * static_cast<double>(stages[i].first) / static_cast<double>(times.total),
                             run.stages[stages[i].second].first);
    const double cycles = static_cast<double>(times.total) / run.units_per_cycle / static_cast<double>(times.loads);
    return fmt::format("A load takes {:.0f} cycles ({:.0f} ns) from issue to use: {}.\n", cycles, 1000 * cycles / run.machine.core_mhz,
                       parts);
}

Json json_of(const WhatIf& what_if) {
    return {{"text", what_if.text}, {"overrides", what_if.overrides}};
}

Json json_of(const std::optional<double>& gain) {
    return gain ? Json(*gain) : Json(nullptr);
}

bool is_measured(const Explanation& explanation) {
    for (const Bound& bound : explanation.bounds) {
        if (bound.gain) return true;
    }
    return false;
}

}  // namespace

std::string to_text(const Explanation& explanation, const RunResult& run) {
    const bool measured = is_measured(explanation);
    std::string text = fmt::format("{} on {}, configuration {}, mergelane {}: {} cycles\n", run.workload, run.machine.name,
                                   run.config_hash.substr(0, 12), run.version, run.cycles);
    text += fmt::format("validated: {}\n\nWhat limits it: {}.\n", run.machine.validated.empty() ? "not stated" : run.machine.validated,
                        explanation.headline);
    for (const std::string& remark : explanation.remarks) text += remark + "\n";
    text += longest_stages(run);
    text += measured ? "\nFindings, by measured gain\n" : "\nFindings, by share of the time; shares overlap (--what-if simulates each)\n";
    for (std::size_t i = 0; i < explanation.findings.size(); ++i) text += finding_text(i + 1, explanation.findings[i], measured);
    if (!measured) return text + longest_waits(run);
    text += "\nUpper bounds (idealised machines)\n";
    for (const Bound& bound : explanation.bounds) {
        if (bound.gain) text += fmt::format("     {}: {:.2f} times as fast\n", bound.what_if.text, *bound.gain);
    }
    return text + longest_waits(run);
}

std::vector<mergelane::Finding> page_findings(const Explanation& explanation) {
    std::vector<mergelane::Finding> list;
    for (const Finding& finding : explanation.findings) {
        mergelane::Finding made{
            title_of(finding.id), fmt::format("{}. What helps: {}.", finding.sentence, finding.remedy), finding.numbers, {}};
        made.sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(made.sentence.front())));
        made.numbers.insert(made.numbers.begin(), {"share of the time", fmt::format("{:.0f} %", 100 * finding.share)});
        if (finding.gain && *finding.gain >= kConfirms) made.confirmed_gain = ranked_gain(finding);
        if (finding.gain && *finding.gain < kConfirms) made.numbers.emplace_back("what if " + finding.what_if->text, verdict(finding.gain));
        list.push_back(std::move(made));
    }
    for (const Bound& bound : explanation.bounds) {
        if (!bound.gain) continue;
        if (list.empty() || list.back().title != "Upper bounds")
            list.push_back({"Upper bounds", "Speedups of idealised machines, for comparison.", {}, {}});
        list.back().numbers.emplace_back(bound.what_if.text, fmt::format("{:.2f} times as fast", *bound.gain));
    }
    return list;
}

std::string to_json(const Explanation& explanation, const RunResult& run) {
    Json json = {{"schema", 1},
                 {"version", run.version},
                 {"model", run.model},
                 {"config_hash", run.config_hash},
                 {"workload", run.workload},
                 {"gpu", run.machine.name},
                 {"digest", run.digest},
                 {"cycles", run.cycles},
                 {"headline", explanation.headline},
                 {"remarks", explanation.remarks},
                 {"findings", Json::array()},
                 {"upper_bounds", Json::array()}};
    for (const Finding& finding : explanation.findings) {
        Json entry = {{"id", finding.id},
                      {"sentence", finding.sentence},
                      {"remedy", finding.remedy},
                      {"share", finding.share},
                      {"numbers", Json::array()}};
        for (const auto& [name, value] : finding.numbers) entry["numbers"].push_back({{"name", name}, {"value", value}});
        entry["what_if"] = finding.what_if ? json_of(*finding.what_if) : Json(nullptr);
        entry["gain"] = json_of(finding.gain);
        entry["confirmed"] = finding.gain && *finding.gain >= kConfirms;
        json["findings"].push_back(std::move(entry));
    }
    for (const Bound& bound : explanation.bounds)
        json["upper_bounds"].push_back({{"id", bound.id}, {"what_if", json_of(bound.what_if)}, {"gain", json_of(bound.gain)}});
    return json.dump(2) + "\n";
}

}  // namespace mergelane::explain
