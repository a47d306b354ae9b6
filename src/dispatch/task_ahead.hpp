// SPDX-License-Identifier: MIT
// Prefetching for the next task of an agent (clustering.prefetch): each warp reads the beginning of its part, loads the predictable part of
// its data into the L1, and replays what it read once the task has begun.
#pragma once

#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

class TaskAhead {
public:
    /// `loads`: maximum number of loads that a warp prefetches for its next task.
    TaskAhead(const KernelInfo& info, std::uint32_t loads)
        : info_(info), loads_(loads), warps_(info.warps_per_cta()), from_memory_(info.register_slots) {}

    /// Discards everything that was read.
    void clear() {
        for (Warp& w : warps_) w.clear();
    }
    /// Reads the warp's part of the task that `stream` has been opened for, until there is enough to prefetch, a barrier, or the end. Data
    /// behind a barrier may still have to be written by others.
    void read(std::uint32_t warp, CtaStream& stream);
    /// The next prefetching load; false: all were returned.
    bool fetch(std::uint32_t warp, Run& run);
    /// The next run that was read; false: all were returned.
    bool replay(std::uint32_t warp, Run& run);
    /// The part ends with what was read.
    bool read_all(std::uint32_t warp) const { return warps_[warp].ended; }
    /// Addresses of the memory instruction that the warp issues now; false: it was not read ahead.
    bool addresses(std::uint32_t warp, const StaticInst& inst, LaneAddresses& out);

private:
    // Limits how far a warp reads ahead if there is little to prefetch.
    static constexpr std::size_t kMostRuns = 1024;
    static constexpr std::size_t kMostAccesses = 64;

    struct Fetch {
        std::uint32_t access = 0;  ///< whose data
        std::uint32_t active = 0;
        std::uint8_t lane_bytes = 0;
    };
    struct Warp {
        std::vector<Run> runs;
        std::vector<LaneAddresses> accesses;  ///< of all memory instructions in the runs
        std::vector<Fetch> fetches;
        std::size_t next_run = 0, next_access = 0, next_fetch = 0;
        const StaticInst* fetching = nullptr;  ///< the most recently returned prefetching load
        bool ended = false;

        void clear() {
            runs.clear();
            accesses.clear();
            fetches.clear();
            next_run = next_access = next_fetch = 0;
            ended = false;
        }
    };

    bool look_at(Warp& w, std::uint32_t warp, CtaStream& stream, const Run& run);
    bool is_known(const StaticInst& inst) const;

    const KernelInfo& info_;
    const std::uint32_t loads_;
    std::vector<Warp> warps_;
    std::vector<bool> from_memory_;  ///< by register, while a warp's part is read: the value depends on a load
};

}  // namespace mergelane
