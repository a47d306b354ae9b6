// SPDX-License-Identifier: MIT
#include "advise/mechanism_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <variant>

#include "core/error.hpp"
#include "files/data_paths.hpp"
#include "files/toml_file.hpp"

namespace mergelane {

namespace {

constexpr double kLargest = 1e9;
constexpr std::array<std::string_view, 4> kKinds = {"percent", "rest", "saturating", "excess"};

RuleProperty read_property(TomlTable& table, const std::string& name) {
    RuleProperty property;
    property.name = name;
    property.meaning = table.text("meaning");
    property.mean = table.number("mean", 0, 1);
    table.each("term", [&](TomlTable& entry) {
        RuleTerm term;
        term.metric = entry.text("metric");
        const std::string kind = entry.one_of("kind", "kind", kKinds);
        term.kind = static_cast<RuleTerm::Kind>(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
        if (term.kind == RuleTerm::Kind::saturating) term.half = entry.number("half", 1e-6, kLargest);
        property.terms.push_back(std::move(term));
    });
    if (property.terms.empty()) fail_at(table.where(), fmt::format("property '{}' has no [[property.{}.term]]", name, name));
    return property;
}

RuleMechanism read_mechanism(TomlTable& table, const std::vector<RuleProperty>& properties) {
    RuleMechanism mechanism;
    mechanism.name = table.text("name");
    mechanism.set = table.text("set");
    mechanism.base = table.text("base", false);
    mechanism.named = table.flag("named", true);
    mechanism.time = table.number("time", 0, kLargest);
    mechanism.low = table.number("low", 0, kLargest);
    mechanism.high = table.number("high", 0, kLargest);
    mechanism.mean = table.number("mean", 0, kLargest);
    mechanism.worst = table.number("worst", 0, kLargest);
    mechanism.worst_program = table.text("worst_program");
    table.entries("weights", false, [&](const std::string& name, const toml::node& node) {
        const auto found = std::find_if(properties.begin(), properties.end(), [&](const RuleProperty& p) { return p.name == name; });
        const std::optional<double> weight = node.value<double>();
        if (found == properties.end()) table.fail(node, fmt::format("there is no [property.{}]", name));
        if (!weight) table.fail(node, "a weight is a number");
        mechanism.weights.emplace_back(static_cast<std::size_t>(found - properties.begin()), *weight);
    });
    return mechanism;
}

MechanismRule read_rule(const TomlFile& file) {
    TomlTable root = file.table("the rule");
    MechanismRule rule;
    rule.machine = root.text("machine");
    rule.study = root.text("study");
    rule.method = root.text("method");
    rule.planned = root.whole("planned", 1, 10'000);
    rule.programs = root.texts("programs", true);
    rule.near_percent = root.number("near_percent", 0, 100);
    rule.least_time = root.number("least_time", 0, kLargest);
    rule.most_time = root.number("most_time", rule.least_time, kLargest);
    root.each("accuracy", [&](TomlTable& table) {
        MechanismRule::Accuracy accuracy;
        accuracy.name = table.text("name");
        accuracy.near = table.whole("near", 0, rule.programs.size());
        accuracy.lost = table.number("lost", 0, 100);
        rule.accuracy.push_back(std::move(accuracy));
    });
    root.entries("property", false, [&](const std::string& name, const toml::node& node) {
        TomlTable table = root.inner(node, fmt::format("[property.{}]", name));
        rule.properties.push_back(read_property(table, name));
        table.done();
    });
    root.each("mechanism", [&](TomlTable& table) { rule.mechanisms.push_back(read_mechanism(table, rule.properties)); });
    root.done();
    if (rule.mechanisms.empty() || rule.accuracy.empty()) fail_at(root.where(), "a rule requires [[mechanism]] and [[accuracy]]");
    return rule;
}

double metric_of(const std::vector<ProfileMetric>& metrics, const std::string& name) {
    const std::size_t dot = name.find('.');
    const std::string group = name.substr(0, dot);
    for (const ProfileMetric& metric : metrics) {
        if (metric.group != group) continue;
        if (dot != std::string::npos && metric.name == name.substr(dot + 1))
            return std::visit([](auto value) { return static_cast<double>(value); }, metric.value);
    }
    if (group == "mix") return 0;  // lists only the kinds that occur
    throw InputError(fmt::format("the rule of mechanisms uses '{}', which no profile has; make the rule again for this version", name));
}

double value_of(const RuleTerm& term, double x) {
    switch (term.kind) {
        case RuleTerm::Kind::percent: return std::clamp(x / 100, 0.0, 1.0);
        case RuleTerm::Kind::rest: return 1 - std::clamp(x / 100, 0.0, 1.0);
        case RuleTerm::Kind::saturating: return std::max(x, 0.0) / (std::max(x, 0.0) + term.half);
        case RuleTerm::Kind::excess: return x <= 1 ? 0 : 1 - 1 / x;
    }
    return 0;
}

}  // namespace

MechanismRule read_mechanism_rule(const std::filesystem::path& file) {
    return read_rule(TomlFile(file));
}

MechanismRule parse_mechanism_rule(std::string_view text, const std::string& name) {
    return read_rule(TomlFile(text, name));
}

std::filesystem::path default_mechanism_rule() {
    const std::vector<std::filesystem::path> files =
        data_paths("MERGELANE_MECHANISM_RULE", "mechanism_rule.toml", "data/mechanism_rule.toml");
    if (!files.empty()) return files.front();
    throw InputError("mechanism_rule.toml was not found; set MERGELANE_MECHANISM_RULE to its path");
}

MechanismAdvice apply(const MechanismRule& rule, const std::string& workload, std::vector<ProfileMetric> metrics) {
    MechanismAdvice advice;
    advice.workload = workload;
    for (const RuleProperty& property : rule.properties) {
        double value = 1;
        for (const RuleTerm& term : property.terms) value *= value_of(term, metric_of(metrics, term.metric));
        advice.values.push_back(value);
    }
    for (const RuleMechanism& mechanism : rule.mechanisms) {
        MechanismAdvice::Gain gain;
        gain.saved.assign(rule.properties.size(), 0);
        double time = mechanism.time;
        for (const auto& [property, weight] : mechanism.weights) {
            const double change = weight * (advice.values[property] - rule.properties[property].mean);
            gain.saved[property] = -100 * std::expm1(change);
            time *= std::exp(change);
        }
        gain.predicted = 1 / std::clamp(time, rule.least_time, rule.most_time);
        gain.low = gain.predicted * mechanism.low;
        gain.high = gain.predicted * mechanism.high;
        advice.gains.push_back(std::move(gain));
    }
    advice.order.resize(rule.mechanisms.size());
    std::iota(advice.order.begin(), advice.order.end(), std::size_t{0});
    std::stable_sort(advice.order.begin(), advice.order.end(),
                     [&](std::size_t a, std::size_t b) { return advice.gains[a].predicted > advice.gains[b].predicted; });
    for (const std::size_t m : advice.order) {
        if (!rule.mechanisms[m].named) continue;
        if (advice.gains[m].predicted > 1) advice.best = m;
        break;
    }
    advice.metrics = std::move(metrics);
    return advice;
}

}  // namespace mergelane
