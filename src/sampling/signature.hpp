// SPDX-License-Identifier: MIT
// What a launch does, from its instruction streams alone: no machine, no timing. Integers only, so that a launch that is executed and its
// recording that is replayed have equal signatures on every host.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "sampling/footprint.hpp"
#include "sampling/launch_walk.hpp"
#include "sampling/line_times.hpp"

namespace mergelane::sampling {

struct Signature {
    /// Classes of instructions that cost about the same.
    enum Mix : std::uint8_t { integer, floating, heavy, tensor, control, global, shared, mixes };
    static constexpr std::uint32_t kReuseBuckets = 16;

    std::string kernel;
    Dim3 grid;
    Dim3 block;
    std::uint32_t shared_bytes = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::array<std::uint64_t, mixes> mix{};  ///< warp instructions
    struct Access {
        std::uint64_t accesses = 0;  ///< of warps
        std::uint64_t lanes = 0;
        std::uint64_t lines = 0;  ///< of 128 bytes, per access
        std::uint64_t sectors = 0;
        bool operator==(const Access&) const = default;
    };
    std::array<Access, 3> access;  ///< loads, stores, atomics
    Footprint footprint;           ///< lines
    /// Accesses to a sample of lines by the time since the last access to the line, in line accesses: bucket b is up to 4^b. Earlier
    /// launches count. The last bucket has lines that no launch has accessed before.
    std::array<std::uint64_t, kReuseBuckets> reuse{};

    std::uint64_t ctas() const { return grid.count(); }
    std::uint64_t lines() const { return access[0].lines + access[1].lines + access[2].lines; }
    /// Adds other CTAs of the launch.
    void merge(const Signature& more);
    bool operator==(const Signature&) const = default;
};

/// Takes the signatures of the launches of a workload in turn.
class SignatureTaker {
public:
    /// Of a launch, or of some of its CTAs.
    Signature take(const KernelSource& kernel, const CtaRange& range = {});

private:
    /// A line that the launch has touched, to tell repetitions from the rest by a look.
    struct Known {
        Addr line = ~Addr{0};    ///< with kSampled if its reuse is counted
        std::uint64_t time = 0;  ///< of the last access of scattered lanes
    };
    static constexpr Addr kSampled = Addr{1} << 63;  ///< line numbers are below

    void touch(Signature& signature, Addr line) {
        ++now_;
        // A line that is not sampled changes nothing when it comes again.
        if (Known& known = known_[line % kKnown]; known.line != line) touch_new(signature, line, known);
    }
    void touch_new(Signature& signature, Addr line, Known& known);
    void count(Signature& signature, Signature::Access& access, const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes);
    void count_scattered(Signature& signature, Signature::Access& access, const LaneAddresses& lanes, std::uint32_t active,
                         std::uint32_t lane_bytes);
    void thin();

    static constexpr std::size_t kMostLines = std::size_t{1} << 20;  ///< in `last_`
    static constexpr std::size_t kKnown = 512;
    LineTimes last_;                     ///< time of the last access to sampled lines
    std::uint64_t now_ = 0;              ///< line accesses
    std::uint64_t mask_ = 15;            ///< of hashes of sampled lines (SHARDS: Waldspurger et al., FAST 2015)
    std::array<Known, kKnown> known_{};  ///< by line
};

}  // namespace mergelane::sampling
