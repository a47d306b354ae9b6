// SPDX-License-Identifier: MIT
// Events that mbarriers have counted, per CTA slot and address in shared memory: arrivals, and copies that have completed. The functional
// execution knows how many events a wait needs (ADR 0048), so the timing model counts but never computes a phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace mergelane {

class Mbarriers {
public:
    void clear() { entries_.clear(); }
    /// The slot gets a new CTA.
    void forget(std::uint32_t context) {
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), [=](const Entry& e) { return e.context == context; }),
                       entries_.end());
    }
    void count(std::uint32_t context, Addr barrier) {
        if (Entry* const known = find(context, barrier); known != nullptr)
            ++known->events;
        else
            entries_.push_back({barrier, 1, context});
    }
    std::uint64_t events(std::uint32_t context, Addr barrier) const {
        const Entry* const known = const_cast<Mbarriers*>(this)->find(context, barrier);
        return known != nullptr ? known->events : 0;
    }

private:
    struct Entry {
        Addr barrier;
        std::uint64_t events;
        std::uint32_t context;
    };
    Entry* find(std::uint32_t context, Addr barrier) {
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [=](const Entry& e) { return e.barrier == barrier && e.context == context; });
        return found == entries_.end() ? nullptr : &*found;
    }
    std::vector<Entry> entries_;  ///< a kernel has few
};

}  // namespace mergelane
