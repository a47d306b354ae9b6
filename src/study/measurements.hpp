// SPDX-License-Identifier: MIT
// Measurements of a study's runs, and the names available to the expressions of its files.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "energy/energy_model.hpp"
#include "runs/store.hpp"
#include "study/examples.hpp"
#include "study/published.hpp"
#include "study/study_spec.hpp"

namespace mergelane::study {

/// Source of the measurements.
struct Sources {
    /// The finished run, or nullptr.
    std::function<const RunRecord*(const Configuration&, const StudyWorkload&)> run;
    /// Throws InputError; nothing: energy is missing.
    std::function<std::shared_ptr<const EnergyData>(const std::string& table)> energy;
    /// Throws InputError when runs of the configuration do not count this; empty: not checked.
    std::function<void(const Configuration&, const std::string& statistic)> check_statistic;
};

/// By configuration, one value for each workload of the study.
class Measurements {
public:
    Measurements(const StudySpec& study, Sources sources) : study_(study), sources_(std::move(sources)) {}

    std::vector<double> ipc(const Configuration& configuration) const;
    std::vector<double> cycles(const Configuration& configuration) const;
    /// CPU seconds of the simulations; they depend on the host.
    std::vector<double> host_seconds(const Configuration& configuration) const;
    /// Of the number'th kernel that ran, counted from 1; missing where there are fewer.
    std::vector<double> kernel_cycles(const Configuration& configuration, std::size_t number) const;
    std::vector<double> stat(const Configuration& configuration, const std::string& name) const;
    /// Maximum over components; missing in records of earlier versions.
    std::vector<double> highest(const Configuration& configuration, const std::string& name) const;
    /// Of a component, "total", "edp" (joule seconds), or all prices of the table whose names end so.
    std::vector<double> energy(const Configuration& configuration, const std::string& table, const std::string& component) const;
    /// Of the configuration's machine, without a run: square millimetres of all structures whose names end so, watts of what flows
    /// whatever happens. Missing without energy tables.
    double area(const Configuration& configuration, const std::string& table, const std::string& structure) const;
    double power(const Configuration& configuration, const std::string& table, const std::string& name) const;
    /// Routers of the networks whose names end so.
    double crossbars(const Configuration& configuration, const std::string& network) const;
    /// `what`: a member of Revisit.
    double mapping_failures(const std::string& kind) const;
    double revisit(const Configuration& configuration, const std::string& what, std::uint32_t turnarounds, std::uint32_t divisions) const;
    const RunRecord* find(const Configuration& configuration, const StudyWorkload& workload) const {
        return sources_.run ? sources_.run(configuration, workload) : nullptr;
    }
    const StudySpec& study() const { return study_; }

private:
    using Quantity = std::function<double(const RunRecord&, const StudyWorkload&)>;
    std::vector<double> each(const Configuration& configuration, const Quantity& value) const;
    const EnergyData* energy_data(const std::string& table) const;

    const StudySpec& study_;
    Sources sources_;
    mutable std::map<std::string, std::shared_ptr<const EnergyData>> tables_;
    mutable std::map<std::string, EnergyReport> reports_;     ///< by table and key of the run
    mutable std::map<std::string, double> mapping_failures_;  ///< by kind
    mutable std::map<std::string, Revisit> revisits_;         ///< by configuration and arguments
};

/// Names of an experiment: its measures and those of the study, lists, and functions of measurements.
class StudyScope final : public Scope {
public:
    StudyScope(const Measurements& measurements, const ExperimentSpec& experiment, const Published& published)
        : measurements_(measurements), study_(measurements.study()), experiment_(experiment), published_(published) {}

    const Measure* measure(std::string_view name) const override;
    const std::vector<Value>* list(std::string_view name) const override { return study_.list(name); }
    const FunctionInfo* function(std::string_view name) const override;
    Value call(const FunctionInfo& function, std::span<const Value> arguments) const override;
    std::vector<std::string> names() const override;
    /// All functions of measurements.
    static std::vector<FunctionInfo> functions();

private:
    struct Call;
    struct Function;
    static std::span<const Function> table();
    const Configuration& known(const std::string& name) const;
    const Configuration& configuration(const std::string& name) const;  ///< which the experiment runs
    std::size_t workload(const std::string& name) const;

    const Measurements& measurements_;
    const StudySpec& study_;
    const ExperimentSpec& experiment_;
    const Published& published_;
};

/// From files and machines: energy tables as installed, statistics of the machine each configuration makes.
Sources installed_sources(const StudySpec& study);

}  // namespace mergelane::study
