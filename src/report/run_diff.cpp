// SPDX-License-Identifier: MIT
#include "report/run_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/json_text.hpp"
#include "core/text.hpp"
#include "report/derived.hpp"

namespace mergelane {

namespace {

using report::Json;
using report::list;
using report::member;
using report::number;
using report::number_of;

constexpr int kDeepest = 16;
constexpr std::size_t kMostValues = 1'000'000;
constexpr std::size_t kShownText = 120;

/// What is kept of a result, by its first and third level: a counter of one of 100,000 kernels is not.
class Filter {
public:
    explicit Filter(const std::string& file) : file_(file) {}

    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kDeepest) refuse(fmt::format("is nested more than {} deep", kDeepest));
        if (event == Json::parse_event_t::key) {
            if (depth == 1) top_ = parsed.get<std::string>();
            if (depth == 3) third_ = parsed.get<std::string>();
            return depth == 1 || depth == 3 ? kept(depth) : true;
        }
        const bool begins = event != Json::parse_event_t::object_end && event != Json::parse_event_t::array_end;
        if (begins && kept(depth) && ++values_ > kMostValues) refuse(fmt::format("has more than {} values", kMostValues));
        return true;
    }

private:
    bool kept(int depth) const {
        static const std::set<std::string, std::less<>> kTop = {
            "version",   "edition",         "model",   "config_hash", "digest",      "gpu",           "machine",           "workload",
            "complete",  "stopped_because", "cycles",  "stats",       "units",       "config",        "kernels",           "energy",
            "load_time", "schema",          "highest", "meanings",    "cpu_seconds", "kernel_cycles", "warp_instructions", "sample"};
        if (!kTop.contains(top_)) return depth == 0;
        if (depth < 3) return true;
        if (top_ == "kernels") return third_ == "name" || third_ == "cycles";
        if (top_ == "energy") return third_ == "joules" || third_ == "total_fj" || third_ == "components_fj";
        return true;
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: {}, which no result has; give the output of 'mergelane run --json FILE'", file_, why));
    }

    const std::string& file_;
    std::string top_, third_;
    std::size_t values_ = 0;
};

std::string shown(const Json& value) {
    return printable(report::text_of(value), kShownText);
}

RunDiff::Side side_of(const Json& run, const std::string& file) {
    const auto text = [&](const char* key) { return shown(member(run, key)); };
    return {file, text("version"), text("gpu"), text("workload"), text("config_hash"), text("digest")};
}

std::vector<std::string> notes_of(const Json& a, const Json& b) {
    std::vector<std::string> notes;
    const auto differ = [&](const char* key, const char* what, const char* so) {
        const std::string first = shown(member(a, key)), second = shown(member(b, key));
        if (first != second) notes.push_back(fmt::format("{} differ (A '{}', B '{}'): {}", what, first, second, so));
    };
    differ("workload", "workloads", "counters are not those of the same work");
    differ("model", "model versions", "differences may come from the simulator, not from the machine");
    differ("edition", "user-defined models", "differences may come from them, not from the machine");
    for (const auto& [name, run] : {std::pair("A", &a), {"B", &b}}) {
        if (member(*run, "sample").is_object())
            notes.push_back(
                fmt::format("{} is sampled: its numbers are estimates, and times of loads are those of its simulated launches; changes are "
                            "given +- the "
                            "half-widths of 95 % intervals where they are known, as if the errors of A and B were independent",
                            name));
        if (member(*run, "complete") == false)
            notes.push_back(fmt::format("{} is a partial result ({})", name, report::text(*run, "stopped_because")));
    }
    return notes;
}

std::vector<ChangedKey> configuration_of(const Json& a, const Json& b) {
    std::map<std::string, ChangedKey> keys;
    const auto take = [&](const Json& run, std::string ChangedKey::*side) {
        const Json& config = member(run, "config");
        for (auto at = config.begin(); config.is_object() && at != config.end(); ++at) {
            ChangedKey& key = keys[at.key()];
            key.key = printable(at.key(), kShownText);
            key.*side = shown(at.value());
        }
    };
    take(a, &ChangedKey::a);
    take(b, &ChangedKey::b);
    std::vector<ChangedKey> changed;
    for (auto& [name, key] : keys) {
        if (key.a != key.b) changed.push_back(std::move(key));
    }
    return changed;
}

/// Collects what changed, then orders it by effect.
class Group {
public:
    Group(std::string id, std::string title) { group_ = {std::move(id), std::move(title), {}, 0}; }

    /// `whole`: what the change is a share of; `widths`: of the intervals of sampled runs.
    void add(const std::string& name, const std::string& unit, double a, double b, double whole, std::pair<double, double> widths = {}) {
        if (a == b) return;
        const double effect = whole > 0 ? std::abs(b - a) / whole : 1;
        group_.numbers.push_back({printable(name, kShownText), printable(unit, kShownText), a, b, effect, widths.first, widths.second});
    }
    /// Numbers of an object, those that only one of the two has included: they are 0 in the other.
    template <typename Add>
    static void each(const Json& a, const Json& b, const Add& add) {
        std::set<std::string> names;
        for (const Json* side : {&a, &b}) {
            for (auto at = side->begin(); side->is_object() && at != side->end(); ++at) names.insert(at.key());
        }
        for (const std::string& name : names) {
            const auto of = [&](const Json& side) { return number(side, name.c_str()); };
            if (of(a) || of(b)) add(name, of(a).value_or(0), of(b).value_or(0));
        }
    }
    void into(std::vector<ChangedGroup>& groups) {
        std::stable_sort(group_.numbers.begin(), group_.numbers.end(),
                         [](const ChangedNumber& x, const ChangedNumber& y) { return x.effect > y.effect; });
        group_.small = static_cast<std::size_t>(
            std::count_if(group_.numbers.begin(), group_.numbers.end(), [](const ChangedNumber& n) { return n.effect < kSmallEffect; }));
        if (!group_.numbers.empty()) groups.push_back(std::move(group_));
    }

private:
    ChangedGroup group_;
};

bool is_sampled(const Json& run) {
    return member(run, "sample").is_object();
}

/// Half-width of the interval of an estimate in `sample`; 0 if the run has none.
double width_of(const Json& run, const char* estimate, const std::string& statistic = "") {
    const Json& sample = member(run, "sample");
    if (number(sample, "requested_error").value_or(0) <= 0) return 0;
    const Json& found = member(sample, estimate);
    return std::max(0.0, number(statistic.empty() ? found : member(found, statistic.c_str()), "half_width").value_or(0));
}

double kernel_cycles(const Json& run) {
    if (is_sampled(run)) return number(run, "kernel_cycles").value_or(0);
    double sum = 0;
    for (const Json& kernel : list(run, "kernels")) sum += number(kernel, "cycles").value_or(0);
    return sum;
}

void add_time(const Json& a, const Json& b, std::vector<ChangedGroup>& groups) {
    Group group("time", "Time");
    const double total_a = number(a, "cycles").value_or(0), total_b = number(b, "cycles").value_or(0);
    const double kernels_a = kernel_cycles(a), kernels_b = kernel_cycles(b);
    const double mhz_a = number(member(a, "machine"), "core_mhz").value_or(0), mhz_b = number(member(b, "machine"), "core_mhz").value_or(0);
    const std::pair widths(width_of(a, "cycles"), width_of(b, "cycles"));
    const std::pair kernel_widths(width_of(a, "kernel_cycles"), width_of(b, "kernel_cycles"));
    if (mhz_a != mhz_b && mhz_a > 0 && mhz_b > 0)  // other clocks: cycles do not compare
        group.add("kernel time", "us", kernels_a / mhz_a, kernels_b / mhz_b, total_a / mhz_a,
                  {kernel_widths.first / mhz_a, kernel_widths.second / mhz_b});
    group.add("cycles", "core cycles", total_a, total_b, total_a, widths);
    group.add("kernel time", "core cycles", kernels_a, kernels_b, total_a, kernel_widths);
    group.add("launch overhead", "core cycles", total_a - kernels_a, total_b - kernels_b, total_a);
    group.into(groups);
    const Json& first = list(a, "kernels");
    const Json& second = list(b, "kernels");
    if (first.size() < 2 || first.size() != second.size() || is_sampled(a) || is_sampled(b)) return;
    Group kernels("kernels", "Kernels");
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (report::text(first[i], "name") != report::text(second[i], "name")) return;  // other work
        kernels.add(fmt::format("{} {}", i + 1, readable_name(report::text(first[i], "name"))), "core cycles",
                    number(first[i], "cycles").value_or(0), number(second[i], "cycles").value_or(0), total_a);
    }
    kernels.into(groups);
}

double issue_slots(const Json& run) {
    return number(run, "cycles").value_or(0) * number(member(run, "machine"), "sms").value_or(0) *
           number(member(run, "config"), "sm.schedulers").value_or(0);
}

/// Where the schedulers spent their cycles, in percent; empty without the counters for it.
std::vector<std::pair<std::string, double>> slot_stack(const Json& run) {
    const Json& stats = member(run, "stats");
    const double slots = issue_slots(run);
    if (!(slots > 0) || !number(stats, "sm.warp_instructions")) return {};
    std::vector<std::pair<std::string, double>> stack;
    double rest = 100;
    for (const report::IssueSlot& slot : report::kIssueSlots) {
        stack.emplace_back(slot.label, 100 * number(stats, slot.counter).value_or(0) / slots);
        rest -= stack.back().second;
    }
    stack.emplace_back("no resident warp", std::max(0.0, rest));
    return stack;
}

void add_stacks(const Json& a, const Json& b, std::vector<ChangedGroup>& groups) {
    Group slots("issue_slots", "Scheduler cycles");
    const auto first = slot_stack(a), second = slot_stack(b);
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
        slots.add(first[i].first, "%", first[i].second, second[i].second, 100);
    slots.into(groups);

    Group latency("load_time", "Load latency by stage");
    const Json& time_a = member(a, "load_time");
    const Json& time_b = member(b, "load_time");
    const double loads_a = number(time_a, "loads").value_or(0), loads_b = number(time_b, "loads").value_or(0);
    if (loads_a > 0 && loads_b > 0) {
        const double whole = number(time_a, "cycles").value_or(0) / loads_a;
        const auto per_load = [&](const std::string& name, double x, double y) {
            latency.add(name, "core cycles per load", x / loads_a, y / loads_b, whole);
        };
        per_load("all stages", number(time_a, "cycles").value_or(0), number(time_b, "cycles").value_or(0));
        Group::each(member(time_a, "stages"), member(time_b, "stages"), per_load);
    }
    latency.into(groups);

    Group stalls("memory_stalls", "Scheduler cycles waiting for memory, by the stage of the load");
    const double slots_a = issue_slots(a), slots_b = issue_slots(b);
    if (slots_a > 0 && slots_b > 0 && !is_sampled(a) && !is_sampled(b))  // stalls are those of the simulated launches
        Group::each(member(time_a, "stalled"), member(time_b, "stalled"),
                    [&](const std::string& name, double x, double y) { stalls.add(name, "%", 100 * x / slots_a, 100 * y / slots_b, 100); });
    stalls.into(groups);
}

void add_counters(const Json& a, const Json& b, std::vector<ChangedGroup>& groups) {
    const Json& first = member(a, "stats");
    const Json& second = member(b, "stats");
    const auto unit_of = [&](const std::string& name) {
        const std::string unit = report::text(member(a, "units"), name.c_str());
        return unit.empty() ? report::text(member(b, "units"), name.c_str()) : unit;
    };
    std::map<std::string, double> largest;  // by unit: counters of one unit can be compared
    Group::each(first, second, [&](const std::string& name, double x, double y) {
        double& most = largest[unit_of(name)];
        most = std::max({most, std::abs(x), std::abs(y)});
    });
    Group counters("counters", "Counters");
    Group::each(first, second, [&](const std::string& name, double x, double y) {
        const std::string unit = unit_of(name);
        counters.add(name, unit, x, y, largest[unit], {width_of(a, "stats", name), width_of(b, "stats", name)});
    });
    counters.into(groups);
}

void add_energy(const Json& a, const Json& b, std::vector<ChangedGroup>& groups) {
    Group energy("energy", "Energy");
    const Json& first = member(a, "energy");
    for (auto at = first.begin(); first.is_object() && at != first.end(); ++at) {
        const auto x = number(at.value(), "joules"), y = number(member(member(b, "energy"), at.key().c_str()), "joules");
        if (x && y) energy.add(at.key(), "J", *x, *y, *x);
    }
    energy.into(groups);
}

std::string change_text(const ChangedNumber& n) {
    if (n.unit == "%") return fmt::format("{:+.1f}", n.change());
    if (n.a == 0) return "new";
    const std::string width = n.has_interval() ? fmt::format(" +- {:.1f}", 100 * n.ratio_width()) : "";
    return fmt::format("{:+.1f}{} %", 100 * n.change() / n.a, width);
}

std::string number_text(double value) {
    const bool whole = value >= 0 && value < 1e15 && value == std::floor(value);
    return whole ? grouped(static_cast<std::uint64_t>(value)) : fmt::format("{:.4g}", value);
}

std::string group_text(const ChangedGroup& group, bool all) {
    std::string text;
    std::size_t width = 0;
    const std::size_t rows = all ? group.numbers.size() : group.numbers.size() - group.small;
    std::size_t change = 12;
    for (std::size_t i = 0; i < rows; ++i) {
        width = std::max(width, group.numbers[i].name.size());
        if (group.numbers[i].has_interval()) change = 20;
    }
    for (std::size_t i = 0; i < rows; ++i) {
        const ChangedNumber& n = group.numbers[i];
        text += fmt::format("  {:<{}}{:>18}{:>18}{:>{}}  {}\n", n.name, width + 2, number_text(n.a), number_text(n.b), change_text(n),
                            change, n.unit);
    }
    const std::string head =
        rows == 0 ? group.title + "\n" : fmt::format("{:<{}}{:>18}{:>18}{:>{}}\n", group.title, width + 4, "A", "B", "change", change);
    if (!all && group.small != 0) text += fmt::format("  {} smaller difference{} (--all)\n", group.small, group.small == 1 ? "" : "s");
    return head + text;
}

Json side_json(const RunDiff::Side& side) {
    return {{"file", side.file},         {"version", side.version},         {"gpu", side.gpu},
            {"workload", side.workload}, {"config_hash", side.config_hash}, {"digest", side.digest}};
}

}  // namespace

double ChangedNumber::change_width() const {
    return std::hypot(width_a, width_b);
}

double ChangedNumber::ratio_width() const {
    return a > 0 ? std::hypot(b / a * width_a, width_b) / a : 0;
}

Json read_run(std::string_view text, const std::string& file) {
    Json run;
    try {
        run = Json::parse(text, Filter(file));
    } catch (const Json::parse_error& error) {
        const std::size_t at = std::min<std::size_t>(error.byte, text.size());
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw InputError(
            fmt::format("{}:{}: is not valid JSON at byte {}; give the output of 'mergelane run --json FILE'", file, line, at));
    } catch (const Json::exception&) {  // a number that no type can hold
        throw InputError(fmt::format("{}: has a number out of range; give the output of 'mergelane run --json FILE'", file));
    }
    if (!number(run, "cycles") || !member(run, "stats").is_object())
        throw InputError(
            fmt::format("{}: has no 'cycles' or no 'stats'; give the output of 'mergelane run --json FILE' or 'mergelane cuda "
                        "--json FILE'",
                        file));
    return run;
}

RunDiff diff_runs(const Json& a, const std::string& file_a, const Json& b, const std::string& file_b) {
    RunDiff diff{side_of(a, file_a), side_of(b, file_b), notes_of(a, b), configuration_of(a, b), {}, false};
    diff.identical = !diff.a.digest.empty() && diff.a.digest == diff.b.digest;
    add_time(a, b, diff.groups);
    add_stacks(a, b, diff.groups);
    add_energy(a, b, diff.groups);
    add_counters(a, b, diff.groups);
    return diff;
}

std::string to_text(const RunDiff& diff, bool all) {
    std::string text;
    for (const auto& [name, side] : {std::pair("A", &diff.a), {"B", &diff.b}})
        text += fmt::format("{}: {}: {} on {}, configuration {}, mergelane {}\n", name, printable(side->file), side->workload, side->gpu,
                            side->config_hash.substr(0, 12), side->version);
    for (const std::string& note : diff.notes) text += fmt::format("note: {}\n", note);
    if (!diff.configuration.empty()) {
        std::size_t key = 13, first = 1;
        for (const ChangedKey& k : diff.configuration) {
            key = std::max(key, k.key.size());
            first = std::max(first, k.a.size());
        }
        text += fmt::format("\n{:<{}}{:<{}}{}\n", "Configuration", key + 4, "A", first + 2, "B");
        for (const ChangedKey& k : diff.configuration)
            text += fmt::format("  {:<{}}{:<{}}{}\n", k.key, key + 2, k.a.empty() ? "-" : k.a, first + 2, k.b.empty() ? "-" : k.b);
    }
    for (const ChangedGroup& group : diff.groups) text += "\n" + group_text(group, all);
    if (diff.identical)
        text += "\nThe digests are equal: no counter of any component differs.\n";
    else if (diff.groups.empty())
        text += "\nNo total differs; the digests do: counters of single components are not the same.\n";
    return text;
}

std::string to_json(const RunDiff& diff, bool all) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["schema"] = 1;
    json["a"] = side_json(diff.a);
    json["b"] = side_json(diff.b);
    json["notes"] = diff.notes;
    json["identical"] = diff.identical;
    json["configuration"] = nlohmann::ordered_json::array();
    for (const ChangedKey& k : diff.configuration) {
        nlohmann::ordered_json row = {{"key", k.key}, {"a", nullptr}, {"b", nullptr}};
        if (!k.a.empty()) row["a"] = k.a;
        if (!k.b.empty()) row["b"] = k.b;
        json["configuration"].push_back(std::move(row));
    }
    json["groups"] = nlohmann::ordered_json::array();
    for (const ChangedGroup& group : diff.groups) {
        nlohmann::ordered_json rows = nlohmann::ordered_json::array();
        for (const ChangedNumber& n : group.numbers) {
            if (!all && n.effect < kSmallEffect) break;
            rows.push_back({{"name", n.name}, {"unit", n.unit}, {"a", n.a}, {"b", n.b}, {"change", n.change()}, {"effect", n.effect}});
            if (!n.has_interval()) continue;
            rows.back()["change_half_width"] = n.change_width();
            if (n.a > 0) rows.back()["ratio_half_width"] = n.ratio_width();
        }
        json["groups"].push_back({{"id", group.id}, {"title", group.title}, {"small", group.small}, {"numbers", std::move(rows)}});
    }
    return json_text(json, 2) + "\n";
}

}  // namespace mergelane
