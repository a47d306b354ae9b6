// SPDX-License-Identifier: MIT
#include "profile/miss_sharing.hpp"

namespace mergelane {

MissSharing::MissSharing(std::uint32_t sms, std::uint32_t sms_per_cluster)
    : sms_(sms),
      sms_per_cluster_(sms_per_cluster),
      cluster_misses_((sms + sms_per_cluster - 1) / sms_per_cluster),
      by_cluster_(cluster_misses_.size()) {}

/// Launches share nothing.
void MissSharing::starts() {
    for (auto& lines : by_cluster_) lines.clear();
    anywhere_.clear();
}

void MissSharing::missed(std::uint32_t sm, Addr line) {
    const std::uint32_t cluster = sm / sms_per_cluster_;
    see(by_cluster_[cluster][line], sm, ++cluster_misses_[cluster], sms_per_cluster_, in_cluster_);
    see(anywhere_[line], sm, ++misses_, sms_, in_gpu_);
}

void MissSharing::see(Last& last, std::uint32_t sm, std::uint64_t now, std::uint32_t sms, Shares& shares) {
    const bool mine = last.sm == sm;
    if ((mine ? last.other_sm : last.sm) != Last::kNobody) {
        const std::uint64_t distance = now - (mine ? last.other_at : last.at);
        for (std::size_t i = 0; i < shares.size(); ++i) shares[i] += distance <= std::uint64_t{kMissDistances[i]} * sms ? 1 : 0;
    }
    if (!mine) {
        last.other_sm = last.sm;
        last.other_at = last.at;
        last.sm = sm;
    }
    last.at = now;
}

}  // namespace mergelane
