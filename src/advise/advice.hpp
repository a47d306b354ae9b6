// SPDX-License-Identifier: MIT
// Recommends an execution order for a workload's CTAs: all candidates are predicted, the most promising simulated, the best recommended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/prediction.hpp"
#include "core/result.hpp"
#include "explain/finding.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

/// Sources of reuse between CTAs, as defined in the CTA clustering paper.
enum class Locality : std::uint8_t {
    algorithm,   ///< CTAs read the same data
    cache_line,  ///< CTAs, or loads of one CTA, read different parts of the same lines
    data,        ///< addresses come from memory
    write,       ///< CTAs write what others read
    streaming    ///< hardly any reuse, or only of data that all CTAs read
};
std::string_view locality_name(Locality locality);

struct Reason {
    Locality locality = Locality::streaming;
    std::string evidence;  ///< a sentence
};

/// A candidate that was simulated.
struct Trial {
    std::size_t candidate = 0;
    std::uint64_t cycles = 0;
    std::vector<std::uint64_t> by_kernel;  ///< cycles of all launches, as in the forecast
    std::uint64_t l2_sectors = 0;          ///< read, written or updated there
    std::uint64_t dram_sectors = 0;        ///< read
};

struct Choice {
    std::size_t candidate = 0;  ///< recommended; 0: no change
    double gain = 1;            ///< simulated
};

struct KernelAdvice {
    Reason reason;
    Choice choice;
};

struct Advice {
    std::string workload, version, config_hash;
    MachineFacts machine;
    Forecast forecast;
    std::vector<Trial> trials;               ///< the unchanged workload first
    std::vector<KernelAdvice> kernels;       ///< as in the forecast
    Choice all;                              ///< one order for all kernels
    double least_gain = 1;                   ///< minimum gain for a recommendation
    std::vector<explain::Finding> findings;  ///< what limits the unchanged workload
    std::string waits_text, waits_json;      ///< of the unchanged workload, by instruction; empty if not requested
    double worst_error = 0;                  ///< of predicted relative to simulated gains, as a factor minus one

    const Trial* trial_of(std::size_t candidate) const;  ///< nullptr: only predicted
    double gain(const Trial& trial) const;
    double predicted_gain(std::size_t candidate) const;
    /// The kernel with the most loads: its class is the program's.
    std::size_t main_kernel() const;
    /// The direction along which neighbours share more; on a tie, the direction for which agents promise more. Columns if there is only one
    /// direction or hardly any sharing, as in the paper.
    TaskOrder::Kind direction() const;
};

struct AdviseOptions {
    ForecastOptions forecast;
    std::uint32_t simulations = 6;  ///< in addition to the unchanged workload
    double least_gain = 1.02;
    std::uint32_t threads = 1;  ///< concurrent candidates; does not affect the advice
    RunOptions run;
    /// The current activity and its progress. Called from any thread, one at a time; an exception ends everything.
    std::function<void(std::string_view what, double share)> progress;
};

/// The machine with further overrides.
using Configure = std::function<MachineSpec(const std::vector<std::string>&)>;

Advice advise(const Configure& configure, const OpenWorkload& open, const AdviseOptions& options);

/// The code for a candidate, using the CTA clustering header and library equivalents.
std::vector<std::string> advice_code(const Candidate& candidate);

std::string advice_text(const Advice& advice);
std::string advice_json(const Advice& advice);
/// A self-contained page.
std::string advice_html(const Advice& advice);

}  // namespace mergelane
