// SPDX-License-Identifier: MIT
// The advice of a rule of mechanisms as text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "advise/mechanism_rule.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"

namespace mergelane {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kTellsNothing = 0.05;  ///< percent of the time

/// Properties by how much they say for the mechanism, or against it.
std::vector<std::size_t> reasons(const MechanismAdvice::Gain& gain) {
    std::vector<std::size_t> list;
    for (std::size_t p = 0; p < gain.saved.size(); ++p) {
        if (std::abs(gain.saved[p]) >= kTellsNothing) list.push_back(p);
    }
    const bool faster = gain.predicted > 1;
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return faster ? gain.saved[a] > gain.saved[b] : gain.saved[a] < gain.saved[b]; });
    return list;
}

std::string reason_text(const MechanismRule& rule, const MechanismAdvice& advice, std::size_t mechanism) {
    const MechanismAdvice::Gain& gain = advice.gains[mechanism];
    const std::vector<std::size_t> list = reasons(gain);
    if (list.empty()) return rule.mechanisms[mechanism].weights.empty() ? "the mean of the programs" : "like the mean of the programs";
    const std::size_t p = list.front();
    return fmt::format("{} {:.2f} (mean {:.2f}): {:+.1f} % of the time", rule.properties[p].name, advice.values[p], rule.properties[p].mean,
                       -gain.saved[p]);
}

std::string accuracy_text(const MechanismRule& rule) {
    std::string text = fmt::format("Accuracy, each program left out in turn: the best, or within {:g} % of it", rule.near_percent);
    for (const MechanismRule::Accuracy& one : rule.accuracy)
        text += fmt::format("\n  {:<28}{:>3} of {} programs, mean loss {:.1f} %", one.name, one.near, rule.programs.size(), one.lost);
    return text + "\n";
}

std::string recommendation_text(const MechanismRule& rule, const MechanismAdvice& advice) {
    if (!advice.best) return "\nNo mechanism is predicted to gain.\n";
    const RuleMechanism& best = rule.mechanisms[*advice.best];
    return fmt::format("\nTry {}: {:.2f} times as fast, predicted; mean of the programs {:.2f}, worst {:.2f} ({}).\n  {}\n", best.name,
                       advice.gains[*advice.best].predicted, best.mean, best.worst, best.worst_program, best.set);
}

std::string names_in_lines(const std::vector<std::string>& names) {
    constexpr std::size_t kWidth = 100;
    std::string text = "  ";
    std::size_t begins = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string word = names[i] + (i + 1 == names.size() ? "" : ",");
        if (text.size() - begins + word.size() > kWidth) {
            text.back() = '\n';
            begins = text.size();
            text += "  ";
        }
        text += word + " ";
    }
    text.back() = '\n';
    return text;
}

}  // namespace

std::string mechanism_text(const MechanismRule& rule, const MechanismAdvice& advice) {
    std::string text =
        fmt::format("{}: which mechanism helps most on {}, from its profile alone\n\n", printable(advice.workload), rule.machine);
    text += fmt::format("{:<19}{:>9}  {:<16}  {}\n", "mechanism", "predicted", "80 % lie in", "because");
    for (const std::size_t m : advice.order) {
        const RuleMechanism& mechanism = rule.mechanisms[m];
        const MechanismAdvice::Gain& gain = advice.gains[m];
        text += fmt::format("{:<19}{:>8.2f}x  {:<16}  {}{}\n", mechanism.name, gain.predicted,
                            fmt::format("{:.2f}x to {:.2f}x", gain.low, gain.high), reason_text(rule, advice, m),
                            mechanism.base.empty() ? "" : fmt::format("; relative to {}", mechanism.base));
    }
    text += recommendation_text(rule, advice);
    if (!rule.properties.empty()) text += "\nProperties, from 0 to 1\n";
    for (std::size_t p = 0; p < rule.properties.size(); ++p)
        text += fmt::format("  {:<20}{:>5.2f}  mean {:.2f}  {}\n", rule.properties[p].name, advice.values[p], rule.properties[p].mean,
                            rule.properties[p].meaning);
    text += "\n" + accuracy_text(rule);
    text += fmt::format("Learnt from {} of {} programs of the study '{}', simulated on {}:\n{}", rule.programs.size(), rule.planned,
                        rule.study, rule.machine, names_in_lines(rule.programs));
    return text + "Other machines, sizes and settings may differ: simulate before you decide.\n";
}

std::string mechanism_json(const MechanismRule& rule, const MechanismAdvice& advice) {
    Json json{{"schema", 1}, {"workload", advice.workload}, {"machine", rule.machine}, {"study", rule.study}, {"method", rule.method}};
    json["recommended"] = advice.best ? Json(rule.mechanisms[*advice.best].name) : Json("none");
    json["mechanisms"] = Json::array();
    for (const std::size_t m : advice.order) {
        const RuleMechanism& mechanism = rule.mechanisms[m];
        const MechanismAdvice::Gain& gain = advice.gains[m];
        Json one{{"name", mechanism.name}, {"set", mechanism.set}, {"may_be_recommended", mechanism.named}};
        if (!mechanism.base.empty()) one["beside"] = mechanism.base;
        one["predicted_gain"] = gain.predicted;
        one["low"] = gain.low;
        one["high"] = gain.high;
        one["reasons"] = Json::array();
        for (const std::size_t p : reasons(gain))
            one["reasons"].push_back({{"property", rule.properties[p].name}, {"saved_percent", gain.saved[p]}});
        one["programs_mean_gain"] = mechanism.mean;
        one["programs_worst_gain"] = mechanism.worst;
        one["programs_worst"] = mechanism.worst_program;
        json["mechanisms"].push_back(std::move(one));
    }
    json["properties"] = Json::array();
    for (std::size_t p = 0; p < rule.properties.size(); ++p)
        json["properties"].push_back({{"name", rule.properties[p].name},
                                      {"meaning", rule.properties[p].meaning},
                                      {"value", advice.values[p]},
                                      {"programs_mean", rule.properties[p].mean}});
    json["accuracy"] = Json::array();
    for (const MechanismRule::Accuracy& one : rule.accuracy)
        json["accuracy"].push_back(
            {{"rule", one.name}, {"near_best", one.near}, {"of", rule.programs.size()}, {"mean_loss_percent", one.lost}});
    json["near_percent"] = rule.near_percent;
    json["programs"] = rule.programs;
    json["programs_planned"] = rule.planned;
    return json_text(json, 2) + "\n";
}

}  // namespace mergelane
