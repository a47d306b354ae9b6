// SPDX-License-Identifier: MIT
// State of an SM's asynchronous operations of sm_90 (ADR 0048), made with the first of them: mbarriers that count, and what warps wait for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/kernel.hpp"
#include "sm/mbarriers.hpp"

namespace mergelane {

class AsyncUnit {
public:
    explicit AsyncUnit(std::size_t warps) : warps_(warps) {}

    /// What a warp arrives at or waits for: see has_values().
    struct Values {
        std::uint32_t count = 0;
        std::array<Addr, kWarpLanes> value;
    };
    /// Groups of operations of a warp, in the order in which they ended. Each counts those that are not done.
    class Groups {
    public:
        void clear() { *this = {}; }
        /// The group of an operation that is issued now.
        std::uint64_t issued() {
            ++pending_.back();
            return first_ + pending_.size() - 1;
        }
        void done(std::uint64_t group) {
            --pending_[group - first_];
            forget_complete();
        }
        void end_group() {
            pending_.push_back(0);
            forget_complete();
        }
        /// Whether at most the last `left` of the ended groups are incomplete.
        bool all_but(std::uint64_t left) const {
            for (std::uint64_t g = 0; g + 1 + left < pending_.size(); ++g) {
                if (pending_[g] != 0) return false;
            }
            return true;
        }

    private:
        void forget_complete() {
            while (pending_.size() > 1 && pending_.front() == 0) {
                pending_.erase(pending_.begin());
                ++first_;
            }
        }
        std::vector<std::uint64_t> pending_ = {0};  ///< per group; the last one has not ended
        std::uint64_t first_ = 0;                   ///< number of the first one
    };
    /// Groups of products, whose ends are known when they are issued.
    class Products {
    public:
        void clear() { *this = {}; }
        void issued(Cycle done) { open_ = std::max(open_, done); }
        void end_group(Cycle now) {
            ended_.erase(ended_.begin(), std::find_if(ended_.begin(), ended_.end(), [=](Cycle done) { return done > now; }));
            ended_.push_back(open_);
            open_ = 0;
        }
        /// When at most the last `left` of the ended groups are incomplete.
        Cycle all_but(std::size_t left) const {
            Cycle at = 0;
            for (std::size_t g = 0; g + left < ended_.size(); ++g) at = std::max(at, ended_[g]);
            return at;
        }

    private:
        std::vector<Cycle> ended_;
        Cycle open_ = 0;
    };
    struct Warp {
        Values wait;
        Groups sent, stored;  ///< of bulk stores: what was read from shared memory, and what is in global memory
        Products products;
        std::uint64_t cluster_phase = 0;  ///< of the barrier of its cluster, when it arrived there
        std::vector<Addr> arrivals;       ///< of accesses to shared memory on their way: the number of mbarriers, and these
        void clear() {
            wait.count = 0;
            arrivals.clear();
            sent.clear();
            stored.clear();
            products.clear();
        }
    };
    Warp& warp(std::uint32_t slot) { return warps_[slot]; }
    const Warp& warp(std::uint32_t slot) const { return warps_[slot]; }

    /// An mbarrier of the CTA counts an event at this time.
    struct Event {
        Cycle at;
        std::uint64_t cta;
        Addr barrier;
        std::uint32_t context;
    };
    void expect(const Event& event) {
        const auto later = std::find_if(events_.begin(), events_.end(), [&](const Event& e) { return e.at > event.at; });
        events_.insert(later, event);
    }
    Cycle next_event() const { return events_.empty() ? kNever : events_.front().at; }
    Event take_event() {
        const Event event = events_.front();
        events_.erase(events_.begin());
        return event;
    }
    /// Whether the mbarriers have counted the events that the warp waits for.
    bool reached(std::uint32_t context, std::uint32_t slot) const {
        const Values& wait = warps_[slot].wait;
        for (std::uint32_t v = 0; v + 1 < wait.count; v += 2) {
            if (barriers.events(context, wait.value[v]) < wait.value[v + 1]) return false;
        }
        return true;
    }

    Mbarriers barriers;

private:
    std::vector<Warp> warps_;
    std::vector<Event> events_;  ///< by time; few
};

}  // namespace mergelane
