// SPDX-License-Identifier: MIT
// Which order suits a workload's CTAs: everything is predicted, the most promising is simulated, and the best is recommended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/prediction.hpp"
#include "core/result.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

/// Where reuse between CTAs comes from, after the CTA clustering paper.
enum class Locality : std::uint8_t {
    algorithm,   ///< CTAs read the same data
    cache_line,  ///< CTAs, or loads of one CTA, read different parts of the same lines
    data,        ///< addresses come from memory
    write,       ///< CTAs write what others read
    streaming    ///< hardly any reuse, or only of what all CTAs read
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
    std::size_t candidate = 0;  ///< recommended; 0: leave it
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
    std::vector<Trial> trials;          ///< the unchanged workload first
    std::vector<KernelAdvice> kernels;  ///< as in the forecast
    Choice all;                         ///< one order for all kernels
    double least_gain = 1;              ///< below that nothing is recommended
    double worst_error = 0;             ///< of predicted against simulated gains, as a factor minus one

    const Trial* trial_of(std::size_t candidate) const;  ///< nullptr: it was only predicted
    double gain(const Trial& trial) const;
    double predicted_gain(std::size_t candidate) const;
    /// The one that loads most: its class is the program's.
    std::size_t main_kernel() const;
    /// Along which neighbours share more; where it is the same, which of the two agents promise more. Columns when there is one direction
    /// only, or hardly anything to share, as in the paper.
    TaskOrder::Kind direction() const;
};

struct AdviseOptions {
    ForecastOptions forecast;
    std::uint32_t simulations = 6;  ///< besides the unchanged workload
    double least_gain = 1.02;
    std::uint32_t threads = 1;  ///< candidates at the same time; the advice does not depend on it
    RunOptions run;
    /// What is done and its share of all such work. Comes from any thread, one at a time; what it throws ends everything.
    std::function<void(std::string_view what, double share)> progress;
};

/// The machine with further overrides.
using Configure = std::function<MachineSpec(const std::vector<std::string>&)>;

Advice advise(const Configure& configure, const OpenWorkload& open, const AdviseOptions& options);

Reason locality_of(const KernelForecast& kernel);

/// What to write for a candidate, in the words of our header and of libraries.
std::vector<std::string> advice_code(const Candidate& candidate);

std::string advice_text(const Advice& advice);
std::string advice_json(const Advice& advice);
/// One page that needs no other file.
std::string advice_html(const Advice& advice);

}  // namespace mergelane
