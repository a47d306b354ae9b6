// SPDX-License-Identifier: MIT
// What a workload requests from memory, derived from its instruction streams: no machine, no caches, no timing.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/kernel.hpp"
#include "profile/line_request.hpp"
#include "profile/window_study.hpp"

namespace mergelane {

/// Arithmetic classes, then memory by operation and space, then the rest.
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
        std::uint64_t bytes = 0;  ///< requested by lanes
        std::uint64_t lines = 0;  ///< line requests: distinct 128-byte lines of each access
        std::uint64_t sectors = 0;
    };
    std::array<Access, 3> access;
    static constexpr std::array<std::uint32_t, 6> kLineBuckets = {1, 2, 4, 8, 16, 32};
    std::array<std::uint64_t, kLineBuckets.size()> by_lines{};      ///< accesses by number of lines
    std::array<std::uint64_t, kMappingNames.size()> mapping{};      ///< line requests
    std::array<std::uint64_t, kStudyWindows.size()> window_left{};  ///< remaining load line requests, see window_study.hpp
    std::uint64_t footprint_lines = 0;
    std::uint64_t footprint_sectors = 0;
    std::uint64_t intra_cta_reuses = 0;  ///< line requests whose line the same CTA has already touched
    std::uint64_t inter_cta_reuses = 0;  ///< first touch by a CTA of a line that another CTA touches as well

    Access all_accesses() const;
    void add(const ProfileCounts& other);  ///< everything except the footprint
};

struct KernelProfile {
    KernelInfo info;
    ProfileCounts counts;
    std::uint64_t launches = 1;
};

struct ProfileOptions {
    std::uint32_t sms = 15;      ///< CTAs are assigned round robin to this many SMs, for the window study
    std::uint32_t resident = 0;  ///< concurrent CTAs per SM; 0: as many as make 48 warps, at most 8
    /// Called after every CTA: kernel (1-based), CTAs done, CTAs. An exception ends the profile.
    std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)> progress;
};

/// One figure: a count, or a ratio of two.
struct ProfileMetric {
    std::string group;
    std::string heading;  ///< of the group in the text
    std::string name;
    std::variant<std::uint64_t, double> value;
    std::string unit;
};
std::vector<ProfileMetric> profile_metrics(const ProfileCounts& counts);

struct Profile {
    std::string workload;
    std::uint32_t sms = 0;
    std::vector<KernelProfile> kernels;
    ProfileCounts total;
    std::vector<ProfileMetric> more;  ///< further metrics of the whole workload
};
/// Those of the total, and the further ones.
std::vector<ProfileMetric> all_metrics(const Profile& profile);

/// Memory is bounded by the footprint: about 56 bytes per touched 8 KiB region, twice that with several kernels, plus the lines of open
/// CTAs (32 bytes each). CTAs of one SM take turns, memory access by memory access.
Profile profile_workload(Workload& workload, const ProfileOptions& options);

/// Kernels of the same name as one, with the largest of their footprints.
Profile by_name(const Profile& profile);

/// "8 x 8 x 1"
std::string dimensions(const Dim3& size);
std::string profile_summary(const Profile& profile);
std::string profile_json(const Profile& profile);
std::string profile_csv(const Profile& profile);

}  // namespace mergelane
