// SPDX-License-Identifier: MIT
// The asynchronous copies of one warp, by group. A group ends with cp.async.commit_group or cp.async.mbarrier.arrive, and is complete when
// all of its copies are. Groups may complete in any order; waits refer to the order in which they ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/types.hpp"

namespace mergelane {

class CopyGroups {
public:
    static constexpr Addr kNoBarrier = ~Addr{0};

    void clear() {
        groups_.clear();
        open_ = {};
    }
    /// A copy is issued; it belongs to the group that ends next.
    void issued() { ++open_.pending; }
    /// `barrier`: of the mbarrier that observes the group, if any.
    void end_group(Addr barrier, Cycle now) {
        forget(now);
        open_.ended = now;
        open_.barrier = barrier;
        groups_.push_back(open_);
        open_ = {};
    }
    /// A copy that was issued at `issued` has its data in shared memory at `done`. A warp issues one instruction per cycle, so that the
    /// time of issue tells its group.
    void finished(Cycle issued, Cycle done) {
        const auto group = std::find_if(groups_.begin(), groups_.end(), [issued](const Group& g) { return issued < g.ended; });
        Group& mine = group != groups_.end() ? *group : open_;
        --mine.pending;
        mine.done = std::max(mine.done, done);
    }
    /// When at most `left` of the ended groups, the last ones, are incomplete; kNever: not known yet.
    Cycle all_but(std::size_t left) const { return groups_.size() <= left ? 0 : first(groups_.size() - left); }
    /// When the groups that `barrier` observes, and those before them, are complete.
    Cycle observed_by(Addr barrier) const {
        std::size_t count = groups_.size();
        while (count != 0 && groups_[count - 1].barrier != barrier) --count;
        return first(count);
    }

    Addr waits_at = kNoBarrier;  ///< mbarrier at which the warp waits for copies, of all warps of its CTA

private:
    struct Group {
        Cycle ended = kNever;
        Cycle done = 0;  ///< of the copies that have finished
        Addr barrier = kNoBarrier;
        std::uint32_t pending = 0;
    };
    Cycle first(std::size_t count) const {
        Cycle at = 0;
        for (std::size_t g = 0; g < count; ++g) at = groups_[g].pending != 0 ? kNever : std::max(at, groups_[g].done);
        return at;
    }
    /// Complete groups at the front make no wait longer.
    void forget(Cycle now) {
        const auto incomplete =
            std::find_if(groups_.begin(), groups_.end(), [now](const Group& g) { return g.pending != 0 || g.done > now; });
        groups_.erase(groups_.begin(), incomplete);
    }

    std::vector<Group> groups_;  ///< that have ended, oldest first
    Group open_;
};

}  // namespace mergelane
