// SPDX-License-Identifier: MIT
// `mergelane compare`: two machines, the same workloads.
#pragma once

#include <string>
#include <vector>

#include "runs/plan.hpp"
#include "runs/store.hpp"
#include "study/judge.hpp"

namespace mergelane::study {

struct ComparedMachine {
    std::string gpu;  ///< preset or .toml file
    std::vector<std::string> overrides;
    std::uint32_t core_mhz = 0;
    std::string label() const;
};

/// One quantity of both machines, and B over A.
struct ComparedQuantity {
    std::string name, unit;
    Series a, b, ratio;
    int digits = -1;       ///< of the values of A and B in the text table, which has none of them if negative
    bool compared = true;  ///< the text table has a column B/A
};

struct Comparison {
    ComparedMachine a, b;
    std::string size;
    std::vector<std::string> workloads;
    std::vector<ComparedQuantity> quantities;
    std::vector<std::string> failures;  ///< as sentences
    std::vector<std::string> notes = {};
};

class CompareStudy {
public:
    CompareStudy(ComparedMachine a, ComparedMachine b, std::vector<std::string> workloads, std::string size, std::uint64_t seed,
                 const Registry& registry = built_in());
    const Plan& plan() const { return plan_; }
    /// Kernel time, launch overhead, cycles, network reads, L2 accesses, and energy by each of the tables.
    Comparison compare(const StoreContents& contents, const std::vector<std::string>& energy_tables) const;

private:
    ComparedMachine a_, b_;
    std::vector<std::string> workloads_;
    std::string size_;
    const Registry& registry_;
    Plan plan_;
    std::vector<std::size_t> runs_a_, runs_b_;
};

}  // namespace mergelane::study
