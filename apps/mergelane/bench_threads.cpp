// SPDX-License-Identifier: MIT
#include "bench_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace mergelane {

namespace {

constexpr std::uint32_t kMeasureEvery = 16;  ///< windows; measuring one disturbs it slightly
constexpr std::array<std::uint32_t, 6> kPredicted = {2, 4, 8, 16, 32, 64};

std::vector<std::uint32_t> asked_about(std::uint32_t threads) {
    std::vector<std::uint32_t> list(kPredicted.begin(), kPredicted.end());
    list.push_back(threads);
    return list;
}

/// Overhead in nanoseconds of reading the clock twice.
std::uint64_t clock_cost() {
    std::array<std::uint64_t, 101> differences{};
    for (std::uint64_t& difference : differences) {
        const auto start = std::chrono::steady_clock::now();
        difference = static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(differences.begin(), differences.begin() + differences.size() / 2, differences.end());
    return differences[differences.size() / 2];
}

}  // namespace

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

CostCollector::CostCollector(std::uint32_t threads) : costs_(asked_about(threads)), clock_(clock_cost()) {}

void CostCollector::attach(RunOptions& options) {
    options.threads = 1;
    options.measure_every = kMeasureEvery;
    options.after_window = [this](Machine& machine, Time) { after_window(machine); };
}

/// Returns false if the host was interrupted during the window: domains are timed by wall clock, which is cheap to read.
bool CostCollector::undisturbed() {
    const double wall = seconds_of(CLOCK_MONOTONIC) - wall_;
    const double used = seconds_of(CLOCK_THREAD_CPUTIME_ID) - used_;
    wall_ += wall;
    used_ += used;
    return wall < 1.1 * used;
}

void CostCollector::after_window(Machine& machine) {
    ++windows_;
    if (domains_.empty()) {
        domains_ = machine.domains();
        for (const Domain* domain : domains_) names_.push_back(domain->name());
        before_.resize(domains_.size());
        spent_.resize(domains_.size());
    }
    bool measured = false;
    const bool alone = undisturbed();
    for (std::size_t d = 0; d < domains_.size(); ++d) {
        const std::uint64_t spent = domains_[d]->host_cost - before_[d];
        before_[d] = domains_[d]->host_cost;
        spent_[d] = spent - std::min(spent, clock_);
        measured = measured || spent != 0;
    }
    if (measured && alone) costs_.add_window(spent_);
}

ThreadFigures thread_figures(std::string workload, const CostCollector& collector, std::uint32_t threads, double one_seconds,
                             double several_seconds) {
    const double to_window = 1e9 / static_cast<double>(std::max<std::uint64_t>(collector.windows(), 1));
    ThreadFigures figures;
    figures.workload = std::move(workload);
    figures.threads = threads;
    figures.one_seconds = one_seconds;
    figures.several_seconds = threads > 1 ? several_seconds : 0;
    const DomainCosts& costs = collector.costs();
    if (costs.windows() == 0) return figures;  // shorter than a window
    figures.ideal = costs.ideal_speedup(threads);
    figures.longest = collector.longest();
    figures.longest_share = costs.longest_share();
    figures.model = fit_thread_model(costs, one_seconds * to_window, threads, several_seconds * to_window);
    for (const std::uint32_t n : kPredicted) figures.predicted.emplace_back(n, figures.model.speedup(costs, n));
    return figures;
}

std::string thread_table(const std::vector<ThreadFigures>& all) {
    const std::uint32_t threads = all.front().threads;
    std::string text = fmt::format("\n{:<14}", "threads");
    if (threads > 1) text += fmt::format("{:>10}{:>9}", "speedup", "ideal");
    text += fmt::format("{:>9}  {:<22}{:>12}{:>12}", "share", "longest domain", "serial ns", "barrier ns");
    for (const std::uint32_t n : kPredicted) text += fmt::format("{:>8}", fmt::format("on {}", n));
    text += "\n";
    for (const ThreadFigures& f : all) {
        text += fmt::format("{:<14}", f.workload);
        if (threads > 1) text += fmt::format("{:>10.2f}{:>9.2f}", f.speedup(), f.ideal);
        text += fmt::format("{:>7.1f} %  {:<22}{:>12.0f}{:>12.0f}", 100 * f.longest_share, f.longest, f.model.serial, f.model.meeting);
        for (const auto& [n, gain] : f.predicted) text += fmt::format("{:>8.2f}", gain);
        text += "\n";
    }
    if (threads > 1)
        text += fmt::format(
            "speedup: wall clock of one thread over that of {}; ideal: all domains' work packed longest first, without barriers\n",
            threads);
    text +=
        "share: of the longest domain in the work of all domains; serial: nanoseconds per window outside the domains; barrier: nanoseconds "
        "per window for each further thread\n"
        "on N: speedup predicted by the model in docs/performance.md\n";
    return text;
}

nlohmann::ordered_json thread_json(const ThreadFigures& figures) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["threads"] = figures.threads;
    json["seconds_one"] = figures.one_seconds;
    if (figures.threads > 1) {
        json["seconds_several"] = figures.several_seconds;
        json["speedup"] = figures.speedup();
        json["ideal_speedup"] = figures.ideal;
    }
    json["longest_domain"] = figures.longest;
    json["longest_share"] = figures.longest_share;
    json["model"] = {{"window_ns", figures.model.one},
                     {"serial_ns", figures.model.serial},
                     {"scale", figures.model.scale},
                     {"meeting_ns", figures.model.meeting}};
    if (!figures.predicted.empty()) json["predicted"] = nlohmann::ordered_json::object();
    for (const auto& [n, gain] : figures.predicted) json["predicted"][std::to_string(n)] = gain;
    return json;
}

}  // namespace mergelane
