// SPDX-License-Identifier: MIT
// `mergelane compare`: any number of machines, the same workloads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runs/plan.hpp"
#include "runs/store.hpp"
#include "study/judge.hpp"

namespace mergelane::study {

struct ComparedMachine {
    std::string name;  ///< in tables: A, B, ...
    std::string gpu;   ///< preset or .toml file
    std::vector<std::string> overrides;
    std::uint32_t core_mhz = 0;
    double dram_peak = 0;   ///< bytes per microsecond
    std::string validated;  ///< what the preset was compared with; empty: not stated
    std::string label() const;
};

struct ComparedWorkload {
    std::string label;    ///< as the user wrote it
    std::string program;  ///< benchmark or file
};

/// One quantity of all machines; ratios are to the first one.
struct ComparedQuantity {
    std::string name, unit;
    std::vector<Series> values, ratios;  ///< by machine
    int digits = -1;                     ///< of the values in the text table, which has none of them if negative
    bool compared = true;                ///< the text table has ratios
    /// Of sampled runs: half-widths of the 95 % intervals of both, missing where none is known.
    std::vector<Series> half_widths = {}, ratio_half_widths = {};
};

struct Comparison {
    std::vector<ComparedMachine> machines;
    std::string size;
    std::vector<std::string> workloads;
    std::vector<ComparedQuantity> quantities;
    std::vector<std::string> failures;  ///< as sentences
    std::vector<std::string> notes = {};
    std::string sample = {};  ///< options of sampled runs
};

class CompareStudy {
public:
    /// Machines are named in their order. `sample`: how runs are sampled; empty: they are not.
    CompareStudy(std::vector<ComparedMachine> machines, std::vector<ComparedWorkload> workloads, std::string size, std::uint64_t seed,
                 const Registry& registry = built_in(), std::string sample = "");
    const Plan& plan() const { return plan_; }
    /// Times, hit rates, traffic by level, and energy by each of the tables.
    Comparison compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const;

private:
    using Value = std::function<double(const RunRecord&, const ComparedMachine&)>;
    /// A value for each machine and workload.
    std::vector<Series> measured(const StoreContents& contents, const Value& value) const;
    /// And their half-widths, if runs are sampled.
    void add_ratios(ComparedQuantity& quantity) const;
    void add_notes(Comparison& comparison) const;

    std::vector<ComparedMachine> machines_;
    std::vector<ComparedWorkload> workloads_;
    std::string size_, sample_;
    const Registry& registry_;
    Plan plan_;
    std::vector<std::vector<std::size_t>> runs_;  ///< by machine and workload
};

}  // namespace mergelane::study
