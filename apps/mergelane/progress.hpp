// SPDX-License-Identifier: MIT
// Progress on standard error with an estimate of the remaining time: one line that changes on a terminal, else a line every ten seconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sim/simulation.hpp"

namespace mergelane {

class ProgressLine {
public:
    explicit ProgressLine(bool quiet);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void update(const Progress& progress);
    /// While a trace is indexed.
    void update_reading(std::uint64_t done, std::uint64_t total);
    /// While every CTA is read once, without simulation; `verb` as in "recording".
    void update_ctas(std::string_view verb, std::uint64_t kernel, std::uint64_t done, std::uint64_t total);
    /// While work with a known share is done; `what` as in "predicting".
    void update_share(std::string_view what, double share);
    /// While the runs of a study are done; negative seconds: not known yet.
    void update_runs(std::uint64_t done, std::uint64_t total, std::uint64_t failed, double seconds_left);
    void clear();

private:
    bool due(std::uint64_t kernel);
    void show(const std::string& line);
    std::string bar(std::uint64_t done, std::uint64_t total) const;
    std::string time_left(std::uint64_t done, std::uint64_t total) const;

    bool enabled_;
    bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = start_;
    std::uint64_t kernel_ = 0;
    std::chrono::steady_clock::time_point kernel_start_{};
};

/// "12 s", "3 min 05 s", "2 h 10 min"
std::string friendly_seconds(double seconds);

}  // namespace mergelane
