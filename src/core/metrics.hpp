// SPDX-License-Identifier: MIT
// Metrics derived from statistics for the summary and JSON, defined by the component that counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mergelane {

struct Metric {
    std::string heading;  ///< heading in the summary
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

    /// Whether the statistic exists: mechanisms that are not selected count nothing.
    bool has(std::string_view name) const { return has_(name); }
    /// Throws for an unknown statistic.
    std::uint64_t count(std::string_view name) const { return stat_(name); }
    /// Maximum over components.
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
