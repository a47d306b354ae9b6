// SPDX-License-Identifier: MIT
// The result of a run for Python. Everything large is converted when it is asked for.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "files/result_file.hpp"
#include "module.hpp"
#include "report/derived.hpp"
#include "report/instructions.hpp"
#include "report/report.hpp"

namespace py = pybind11;

namespace mergelane::python {

namespace {

/// For numpy.frombuffer.
py::bytes bytes_of(const std::vector<std::uint64_t>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint64_t)};
}

/// Name, value, highest, unit, meaning.
py::list stats_of(const RunResult& result) {
    py::list list;
    for (const StatValue& stat : result.stats) list.append(py::make_tuple(stat.name, stat.value, stat.highest, stat.unit, stat.meaning));
    return list;
}

py::list metrics_of(const RunResult& result) {
    py::list list;
    for (const Metric& metric : result.metrics)
        list.append(py::make_tuple(metric.heading, metric.name, metric.value, metric.unit, metric.note));
    return list;
}

/// What the schedulers did in their issue slots: label, meaning, slots.
py::list issue_slots_of(const RunResult& result) {
    std::uint64_t left = result.cycles * result.machine.sms * result.machine.schedulers_per_sm;
    py::list list;
    for (const report::IssueSlot& slot : report::kIssueSlots) {
        const std::uint64_t slots = result.stat(slot.counter);
        left -= std::min(left, slots);
        list.append(py::make_tuple(slot.label, slot.sentence, slots));
    }
    list.append(py::make_tuple(report::kNoWarp.label, report::kNoWarp.sentence, left));
    return list;
}

/// Where loads spend their time: stage, meaning, core cycles, stalled core cycles.
py::list stages_of(const RunResult& result) {
    const auto cycles = [&](std::uint64_t time) { return static_cast<double>(time) / result.units_per_cycle; };
    py::list list;
    for (std::size_t s = 0; s < result.stages.size(); ++s)
        list.append(py::make_tuple(result.stages[s].first, result.stages[s].second, cycles(result.load_times.spent[s]),
                                   cycles(result.load_times.stalled[s])));
    return list;
}

/// The attributes of each kernel, and a matrix of their statistics.
py::tuple kernels_of(const RunResult& result) {
    py::list list;
    std::vector<std::uint64_t> values;
    for (const KernelResult& kernel : result.kernels) {
        list.append(py::make_tuple(kernel.name, kernel.ctas, kernel.ctas_per_sm, kernel.limited_by, kernel.registers, kernel.registers_from,
                                   kernel.start, kernel.cycles, kernel.warp_instructions));
        values.insert(values.end(), kernel.values.begin(), kernel.values.end());
    }
    return py::make_tuple(list, bytes_of(values));
}

/// Start and length of each interval, and a matrix of their statistics.
py::object intervals_of(const RunResult& result) {
    const Intervals& intervals = result.intervals;
    if (intervals.size() == 0) return py::none();
    std::vector<std::uint64_t> starts, lengths;
    for (std::size_t i = 0; i < intervals.size(); ++i) {
        starts.push_back(intervals.start(i));
        lengths.push_back(intervals.length(i));
    }
    return py::make_tuple(bytes_of(starts), bytes_of(lengths), bytes_of(intervals.counts));
}

/// Table, kind, seconds, joules, items.
py::list energy_of(const RunResult& result) {
    py::list list;
    for (const EnergyReport& report : result.energy) {
        py::list items;
        for (const EnergyItem& item : report.items)
            items.append(py::make_tuple(report.table, item.component, item.name, item.count, item.unit, item.unit_fj, item.fj));
        list.append(py::make_tuple(report.table, report.kind, report.seconds, report.joules, items));
    }
    return list;
}

}  // namespace

void add_result(py::module_& module) {
    module.def("write_file", [](const std::string& path, const std::string& text) { write_result(path, text); });
    py::class_<RunResult, std::shared_ptr<RunResult>>(module, "RunResult")
        .def_readonly("version", &RunResult::version)
        .def_readonly("model", &RunResult::model)
        .def_readonly("config_hash", &RunResult::config_hash)
        .def_readonly("workload", &RunResult::workload)
        .def_readonly("digest", &RunResult::digest)
        .def_readonly("partial", &RunResult::partial)
        .def_readonly("cycles", &RunResult::cycles)
        .def_readonly("warp_instructions", &RunResult::warp_instructions)
        .def_readonly("cpu_seconds", &RunResult::cpu_seconds)
        .def_readonly("wall_seconds", &RunResult::wall_seconds)
        .def_readonly("threads", &RunResult::threads)
        .def_readonly("config", &RunResult::config)
        .def_readonly("per_unit", &RunResult::per_unit)
        .def_property_readonly("gpu", [](const RunResult& result) { return result.machine.name; })
        .def_property_readonly("validated", [](const RunResult& result) { return result.machine.validated; })
        .def_property_readonly("kernel_cycles", &RunResult::kernel_cycles)
        .def_property_readonly("microseconds", [](const RunResult& result) { return result.microseconds(result.cycles); })
        .def_property_readonly("followed_loads", [](const RunResult& result) { return result.load_times.loads; })
        .def("stat", [](const RunResult& result, const std::string& name) { return result.stat(name); })
        .def("stats", &stats_of)
        .def("metrics", &metrics_of)
        .def("issue_slots", &issue_slots_of)
        .def("stages", &stages_of)
        .def("kernels", &kernels_of)
        .def("intervals", &intervals_of)
        .def("energy", &energy_of)
        .def("by_instruction", [](const RunResult& result) { return instructions_json(result).dump(); })
        .def("summary", [](const RunResult& result) { return summary(result); })
        .def("json", [](const RunResult& result) { return to_json(result); })
        .def("html", [](const RunResult& result) { return to_html(result); })
        .def("head_html", [](const RunResult& result) { return to_html_head(result); })
        .def("csv", [](const RunResult& result) { return to_csv(result); });
}

}  // namespace mergelane::python
