// SPDX-License-Identifier: MIT
// What limits a run: findings of rules over its accounts, the one that costs most first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "explain/changed_workload.hpp"
#include "explain/watched_workload.hpp"
#include "report/finding.hpp"

namespace mergelane::explain {

/// The same run with one thing changed: some keys of the machine, or a habit of the workload.
struct WhatIf {
    std::string text;  ///< "l2.mshr_merges = 64"
    std::vector<std::string> overrides;
    ChangePlan change;
};

struct Finding {
    std::string_view id;  ///< "l2_merges"
    std::string sentence;
    std::string remedy;
    std::vector<std::pair<std::string, std::string>> numbers;
    double share = 0;  ///< estimated share of the time that this limit costs
    std::optional<WhatIf> what_if;
    std::optional<double> gain;  ///< of throughput, measured with what_if: 1.7 is 1.7 times as fast
};

/// A limit that nothing real can lift: listed apart.
struct Bound {
    std::string_view id;
    WhatIf what_if;
    std::optional<double> gain;
};

struct Explanation {
    std::string headline;
    std::vector<std::string> remarks;  ///< SMs without work, for example
    std::vector<Finding> findings;     ///< by share, or by gain where it was measured
    std::vector<Bound> bounds;
};

/// `run`: with the time of every load accounted for. `accesses`: of its workload.
Explanation explain(const RunResult& run, const AccessFacts& accesses);

/// Simulates each what-if and ranks the findings by what it gains. `simulate` returns nothing where a change is impossible.
using Simulate = std::function<std::optional<RunResult>(const WhatIf&)>;
void confirm(Explanation& explanation, const RunResult& run, const Simulate& simulate);

/// What a finding is ranked by. A change of how much is done has a gain of its own, for example that of twice the warps where SMs have
/// room: it counts up to what the accounts say that the limit costs.
double ranked_gain(const Finding& finding);

/// Gains of less than this are no confirmation.
inline constexpr double kConfirms = 1.05;

std::string to_text(const Explanation& explanation, const RunResult& run);
/// For the page of the run.
std::vector<mergelane::Finding> page_findings(const Explanation& explanation);
std::string to_json(const Explanation& explanation, const RunResult& run);

}  // namespace mergelane::explain
