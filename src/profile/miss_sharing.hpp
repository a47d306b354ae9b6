// SPDX-License-Identifier: MIT
// What SMs ask the L2 for shortly after another SM did: what merging in an SM cluster, a shared L1 or merging at the L2 could save.
// A distance is counted in L1 misses per SM, not in time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "profile/replay.hpp"

namespace mergelane {

/// Roughly: reads in flight, twice; the lines of a small cache; those of an L1.
inline constexpr std::array<std::uint32_t, 4> kMissDistances = {8, 32, 96, 256};

class MissSharing final : public MissWatcher {
public:
    explicit MissSharing(std::uint32_t sms, std::uint32_t sms_per_cluster);
    void starts() override;
    void missed(std::uint32_t sm, Addr line) override;

    using Shares = std::array<std::uint64_t, kMissDistances.size()>;
    std::uint64_t misses() const { return misses_; }
    /// Of the misses, those whose line another SM missed at most so many misses before: of the same SM cluster, and anywhere.
    const Shares& in_cluster() const { return in_cluster_; }
    const Shares& in_gpu() const { return in_gpu_; }

private:
    /// The last misses of a line by two different SMs.
    struct Last {
        static constexpr std::uint32_t kNobody = ~0u;
        std::uint32_t sm = kNobody;
        std::uint32_t other_sm = kNobody;
        std::uint64_t at = 0;
        std::uint64_t other_at = 0;
    };
    static void see(Last& last, std::uint32_t sm, std::uint64_t now, std::uint32_t sms, Shares& shares);

    const std::uint32_t sms_, sms_per_cluster_;
    std::uint64_t misses_ = 0;
    std::vector<std::uint64_t> cluster_misses_;
    Shares in_cluster_{}, in_gpu_{};
    std::vector<std::unordered_map<Addr, Last>> by_cluster_;
    std::unordered_map<Addr, Last> anywhere_;
};

}  // namespace mergelane
