// SPDX-License-Identifier: MIT
// Figures derived from statistics, for people: written by the part that counts, shown by summary and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mergelane {

struct Metric {
    std::string heading;  ///< of the part of the summary it stands in
    std::string name;
    double value = 0;
    std::string unit;
    std::string note;
};

struct MachineFacts;

class Metrics {
public:
    using Count = std::function<std::uint64_t(std::string_view)>;

    Metrics(Count stat, Count highest, std::function<bool(std::string_view)> has, const MachineFacts& machine, std::uint64_t cycles)
        : stat_(std::move(stat)), highest_(std::move(highest)), has_(std::move(has)), machine_(machine), cycles_(cycles) {}

    /// Does anybody count it? For figures of what can be chosen and was not.
    bool has(std::string_view name) const { return has_(name); }
    /// Throws for a name that nobody counts.
    std::uint64_t count(std::string_view name) const { return stat_(name); }
    /// What the one component counted that counted most.
    std::uint64_t highest(std::string_view name) const { return highest_(name); }
    double operator()(std::string_view name) const { return static_cast<double>(stat_(name)); }
    static double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }
    static double percent(double part, double whole) { return 100 * ratio(part, whole); }
    double cycles() const { return static_cast<double>(cycles_); }
    const MachineFacts& machine() const { return machine_; }

    void add(std::string_view heading, std::string_view name, double value, std::string_view unit, std::string note = "") {
        list_.push_back({std::string(heading), std::string(name), value, std::string(unit), std::move(note)});
    }
    const std::vector<Metric>& list() const { return list_; }

private:
    Count stat_;
    Count highest_;
    std::function<bool(std::string_view)> has_;
    const MachineFacts& machine_;
    std::uint64_t cycles_;
    std::vector<Metric> list_;
};

}  // namespace mergelane
