// SPDX-License-Identifier: MIT
#include "core/result.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"

namespace mergelane {

namespace {

auto find(std::span<const StatValue> stats, std::string_view name) {
    return std::find_if(stats.begin(), stats.end(), [&](const StatValue& stat) { return stat.name == name; });
}

const StatValue& get_statistic(std::span<const StatValue> stats, std::string_view name) {
    if (const auto at = find(stats, name); at != stats.end()) return *at;
    throw InputError(unknown_statistic(name, names_of<std::string_view>(stats, &StatValue::name)));
}

}  // namespace

std::string unknown_statistic(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view near = nearest(name, known);
    return fmt::format("unknown statistic '{}'; {} A disabled mechanism has no statistics", name.substr(0, 80),
                       near.empty() ? "check its spelling." : fmt::format("did you mean '{}'?", near));
}

bool has_statistic(std::span<const StatValue> stats, std::string_view name) {
    return find(stats, name) != stats.end();
}

std::uint64_t statistic(std::span<const StatValue> stats, std::string_view name) {
    return get_statistic(stats, name).value;
}

std::uint64_t highest_statistic(std::span<const StatValue> stats, std::string_view name) {
    return get_statistic(stats, name).highest;
}

std::vector<StatValue> RunResult::stats_of(const KernelResult& kernel) const {
    std::vector<StatValue> list = stats;
    for (std::size_t i = 0; i < list.size(); ++i) list[i].value = kernel.values[i];
    return list;
}

std::uint64_t RunResult::kernel_cycles() const {
    if (sample.any()) return static_cast<std::uint64_t>(sample.kernel_cycles.value + 0.5);
    std::uint64_t sum = 0;
    for (const KernelResult& kernel : kernels) sum += kernel.cycles;
    return sum;
}

}  // namespace mergelane
