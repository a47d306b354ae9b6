// SPDX-License-Identifier: MIT
// What a workload asks of memory, read from its instruction streams: no machine, no caches, no timing.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "profile/line_request.hpp"
#include "profile/window_study.hpp"

namespace mergelane {

/// The computing classes, then memory by operation and space, then the rest.
inline constexpr std::uint32_t kInstructionKinds = kComputeClasses + 9 + 3;
std::string kind_name(std::uint32_t kind);
std::uint32_t kind_of(const StaticInst& inst);

struct ProfileCounts {
    std::array<std::uint64_t, kInstructionKinds> kinds{};  ///< warp instructions
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::uint64_t full_warps = 0;  ///< warp instructions with 32 active lanes
    std::uint64_t ctas = 0;

    // Global memory: warp-level accesses with an active lane; loads, stores, atomics.
    struct Access {
        std::uint64_t accesses = 0;
        std::uint64_t lanes = 0;
        std::uint64_t bytes = 0;  ///< that lanes ask for
        std::uint64_t lines = 0;  ///< line requests: distinct 128-byte lines of each access
        std::uint64_t sectors = 0;
    };
    std::array<Access, 3> access;
    static constexpr std::array<std::uint32_t, 6> kLineBuckets = {1, 2, 4, 8, 16, 32};
    std::array<std::uint64_t, kLineBuckets.size()> by_lines{};      ///< accesses with up to so many lines
    std::array<std::uint64_t, kMappingNames.size()> mapping{};      ///< line requests
    std::array<std::uint64_t, kStudyWindows.size()> window_left{};  ///< load line requests left, see window_study.hpp
    std::uint64_t footprint_lines = 0;
    std::uint64_t footprint_sectors = 0;
    std::uint64_t intra_cta_reuses = 0;  ///< line requests whose line the same CTA had touched
    std::uint64_t inter_cta_reuses = 0;  ///< first touch by a CTA of a line that another one touches, too

    Access all_accesses() const;
    void add(const ProfileCounts& other);  ///< all but the footprint
};

struct KernelProfile {
    KernelInfo info;
    ProfileCounts counts;
};

struct ProfileOptions {
    std::uint32_t sms = 15;      ///< CTAs are dealt to so many SMs in turn, for the window study
    std::uint32_t resident = 0;  ///< CTAs of an SM that run at the same time; 0: as many as make 48 warps, at most 8
    /// After every CTA: kernel (from 1), CTAs done, CTAs. What it throws ends the profile.
    std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)> progress;
};

struct Profile {
    std::string workload;
    std::uint32_t sms = 0;
    std::vector<KernelProfile> kernels;
    ProfileCounts total;
};

/// Memory is bounded by the footprint: about 56 bytes per 8 KiB region that is touched, twice with several kernels, plus the
/// lines of the CTAs that are open (32 bytes each). CTAs of one SM take turns, memory access by memory access.
Profile profile_workload(Workload& workload, const ProfileOptions& options);

std::string profile_summary(const Profile& profile);
std::string profile_json(const Profile& profile);
std::string profile_csv(const Profile& profile);

}  // namespace mergelane
