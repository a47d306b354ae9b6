// SPDX-License-Identifier: MIT
// The passes of a sampled run over its workload: one takes signatures, the others simulate chosen launches.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sampling/sampled_run.hpp"
#include "sampling/signature.hpp"
#include "sampling/waves.hpp"

namespace mergelane::sampling {

struct Signatures {
    std::vector<Signature> launches;
    std::vector<L2Traffic> traffic;  ///< of each launch in the machine's L2, without timing
    std::vector<LongLaunch> parts;   ///< of each launch
    double seconds = 0;              ///< CPU time, including the execution of the launches
};
Signatures take_signatures(const MachineSpec& spec, const Options& options);

/// A launch that was simulated. If it was simulated in pieces, `result` and `span` are those of its first and last stretch.
struct Simulated {
    std::uint32_t launch = 0;
    KernelResult result;     ///< its values include what it left in flight
    std::uint64_t span = 0;  ///< cycles from its start to when the next launch may start
    std::uint64_t gap = 0;   ///< of these, cycles after its last CTA
    std::uint64_t waves = 0;
    std::uint64_t warp_instructions = 0;  ///< simulated
    std::vector<std::uint32_t> chosen;    ///< stretches in between that were simulated
    std::vector<Counts> stretches;        ///< what happened in each of them
};

/// A pass, or a segment of it.
struct Pass {
    RunResult result;
    std::vector<Simulated> launches;
    std::uint64_t warmed = 0;
    double seconds = 0;          ///< CPU time
    double warming_seconds = 0;  ///< of these: launches that were not simulated
};

class KeptRun;

/// Simulates the launches `chosen`, in ascending order, in segments, each on a machine that is idle at first. Segments that `kept` has are
/// not simulated again, and the others are given to it. The last one may be partial.
std::vector<Pass> simulate(const MachineSpec& spec, const Options& options, const Signatures& signatures, std::vector<std::uint32_t> chosen,
                           const KeptRun* kept, std::uint64_t number);

/// Where segments end, as positions in `chosen`: after so many warp instructions, where the launches that are walked before the next chosen
/// one begin behind the last one. 0: there is one segment.
std::vector<std::size_t> segment_ends(std::span<const Signature> launches, std::span<const std::uint32_t> chosen,
                                      std::span<const std::uint32_t> from, std::uint64_t instructions);

/// For each chosen launch, the first one before it that must be walked so that the L2 holds what it would hold after all of them: twice as
/// many distinct lines as it has room for.
std::vector<std::uint32_t> warm_from(std::span<const Signature> launches, std::span<const std::uint32_t> chosen, std::uint64_t l2_lines);

}  // namespace mergelane::sampling
