// SPDX-License-Identifier: MIT
// The experiments of the ICC paper (intra-cluster coalescing): which runs each needs, and how its figure is built and judged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "energy/energy_model.hpp"
#include "study/judge.hpp"
#include "study/plan.hpp"
#include "study/published.hpp"
#include "study/store.hpp"

namespace mergelane::study {

inline constexpr const char* kIccMachine = "icc60";

/// A machine under test: icc60 with changes.
struct Configuration {
    std::string label;  ///< "DB+ICC"
    std::vector<std::string> overrides;
};

struct IccWorkload {
    std::string name;     ///< as in the paper
    std::string program;  ///< of the suite
};
const std::vector<IccWorkload>& icc_workloads();
std::vector<std::string> icc_workload_names();

// The configurations, by the paper's names.
Configuration icc_scheduler(const std::string& label);                  ///< RR2, GRR, GC, D; with the locality meter, which changes nothing
Configuration icc_network(const std::string& scheduler, double scale);  ///< network and L2 clocks scaled
Configuration icc_variant(const std::string& label);                    ///< D or DB, with +ICC or +ICC+CC
Configuration icc_table_size(std::uint32_t entries);                    ///< DB+ICC
Configuration icc_cache_size(std::uint32_t entries);                    ///< DB+ICC+CC
Configuration icc_clusters(std::uint32_t clusters, const std::string& variant);
inline constexpr double kNetworkScales[] = {0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2};
inline constexpr std::uint32_t kTableSizes[] = {8, 16, 32, 48, 64, 96, 160};
inline constexpr std::uint32_t kCacheSizes[] = {8, 16, 24, 48, 96};
inline constexpr std::uint32_t kClusterCounts[] = {6, 10, 12, 15};

/// What the runs measured, by configuration and workload.
class IccResults {
public:
    using Find = std::function<const RunRecord*(const Configuration&, const IccWorkload&)>;
    /// `find` gives the finished run or nullptr; `energy_tables` are loaded when first asked for.
    explicit IccResults(Find find) : find_(std::move(find)) {}

    /// value(record) of each workload; missing where there is no run.
    Series each(const Configuration& configuration, const std::function<double(const RunRecord&)>& value) const;
    Series ipc(const Configuration& configuration) const;
    Series stat(const Configuration& configuration, const std::string& name) const;
    /// 100 * sum of the numerators / denominator.
    Series percent(const Configuration& configuration, const std::vector<std::string>& numerators, const std::string& denominator) const;
    /// By component, or "total", or "edp" (joule seconds), in the table's units.
    Series energy(const Configuration& configuration, const std::string& table, const std::string& component) const;
    const RunRecord* find(const Configuration& configuration, const IccWorkload& workload) const { return find_(configuration, workload); }

private:
    const EnergyReport* report(const Configuration& configuration, const IccWorkload& workload, const std::string& table) const;

    Find find_;
    mutable std::map<std::string, std::shared_ptr<const EnergyData>> tables_;
    mutable std::map<std::string, EnergyReport> reports_;
};

struct IccExperiment {
    std::string id;
    std::string figure;
    std::string title;
    bool baseline;  ///< needs neither the block scheduler nor coalescing
    std::vector<Configuration> (*configurations)();
    void (*judge)(const IccResults& results, const Published& published, Experiment& experiment);
};
/// ICC-0 to ICC-12.
const std::vector<IccExperiment>& icc_experiments();
Experiment judge(const IccExperiment& experiment, const IccResults& results, const Published& published);

// One function for each, in icc_baseline.cpp, icc_main.cpp and icc_sizes.cpp.
void judge_icc0(const IccResults&, const Published&, Experiment&);
void judge_icc1(const IccResults&, const Published&, Experiment&);
void judge_icc2(const IccResults&, const Published&, Experiment&);
void judge_icc3(const IccResults&, const Published&, Experiment&);
void judge_icc4(const IccResults&, const Published&, Experiment&);
void judge_icc5(const IccResults&, const Published&, Experiment&);
void judge_icc6(const IccResults&, const Published&, Experiment&);
void judge_icc7(const IccResults&, const Published&, Experiment&);
void judge_icc8(const IccResults&, const Published&, Experiment&);
void judge_icc9(const IccResults&, const Published&, Experiment&);
void judge_icc10(const IccResults&, const Published&, Experiment&);
void judge_icc11(const IccResults&, const Published&, Experiment&);
void judge_icc12(const IccResults&, const Published&, Experiment&);

/// Place of a workload in icc_workloads() by the paper's name.
std::size_t icc_workload(std::string_view name);

}  // namespace mergelane::study
