// SPDX-License-Identifier: MIT
// How an agent fetches the first data of its next task before that begins (clustering.prefetch): each warp reads the beginning of its
// part, loads what can be known of it into the L1, and gets what was read again when the task has begun.
#pragma once

#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

class TaskAhead {
public:
    /// `loads`: that a warp fetches for its next task, at most.
    TaskAhead(const KernelInfo& info, std::uint32_t loads)
        : info_(info), loads_(loads), warps_(info.warps_per_cta()), from_memory_(info.register_slots) {}

    /// Nothing has been read.
    void clear() {
        for (Warp& w : warps_) w.clear();
    }
    /// Reads the warp's part of the task that `stream` has been opened for until there is enough to fetch, a barrier, or the end. What lies
    /// behind a barrier may be what others have still to write.
    void read(std::uint32_t warp, CtaStream& stream);
    /// The next of the loads that fetch something; false: it has all of them.
    bool fetch(std::uint32_t warp, Run& run);
    /// The next run that was read; false: all that was read has been handed out.
    bool replay(std::uint32_t warp, Run& run);
    /// There is nothing behind what was read.
    bool read_all(std::uint32_t warp) const { return warps_[warp].ended; }
    /// Of the memory instruction that the warp issues now; false: it was not read ahead.
    bool addresses(std::uint32_t warp, const StaticInst& inst, LaneAddresses& out);

private:
    // Warps do not read on for ever when there is little to fetch.
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
        const StaticInst* fetching = nullptr;  ///< the load it got last to fetch something
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
    std::vector<bool> from_memory_;  ///< by register, while a warp's part is read: its value depends on what a load brings
};

}  // namespace mergelane
