// SPDX-License-Identifier: MIT
// Speedup from threads in a benchmark: measured, upper bound, and predicted for more threads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/domain.hpp"
#include "sim/simulation.hpp"
#include "sim/thread_model.hpp"

namespace mergelane {

/// The time of a clock of this host.
double seconds_of(clockid_t clock);

/// Collects the costs of domains in one run on one thread.
class CostCollector {
public:
    explicit CostCollector(std::uint32_t threads);

    /// Makes a run report to this collector, which must outlive it.
    void attach(RunOptions& options);

    const DomainCosts& costs() const { return costs_; }
    const std::string& longest() const { return names_[costs_.longest()]; }
    std::uint64_t windows() const { return windows_; }  ///< of the run, measured or not

private:
    void after_window(Machine& machine);
    bool undisturbed();

    DomainCosts costs_;
    std::uint64_t clock_;  ///< nanoseconds that one measurement adds
    std::vector<Domain*> domains_;
    std::vector<std::string> names_;
    std::vector<std::uint64_t> before_;
    std::vector<std::uint64_t> spent_;
    std::uint64_t windows_ = 0;
    double wall_ = 0;  ///< seconds at the end of the previous window
    double used_ = 0;  ///< CPU seconds of this thread by then
};

/// One workload on one and on several threads.
struct ThreadFigures {
    std::string workload;
    std::uint32_t threads = 1;
    double one_seconds = 0;
    double several_seconds = 0;  ///< 0: only one thread was timed
    double ideal = 1;
    std::string longest;
    double longest_share = 0;
    ThreadModel model;
    std::vector<std::pair<std::uint32_t, double>> predicted;  ///< threads, speedup

    double speedup() const { return several_seconds == 0 ? 1 : one_seconds / several_seconds; }
};

ThreadFigures thread_figures(std::string workload, const CostCollector& collector, std::uint32_t threads, double one_seconds,
                             double several_seconds);
std::string thread_table(const std::vector<ThreadFigures>& figures);
nlohmann::ordered_json thread_json(const ThreadFigures& figures);

}  // namespace mergelane
