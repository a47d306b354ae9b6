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
    struct Entry {
        Addr barrier;
        std::uint64_t events;
        std::uint32_t context;
    };
    static auto is(std::uint32_t context, Addr barrier) {
        return [=](const Entry& e) { return e.barrier == barrier && e.context == context; };
    }

public:
    void clear() { entries_.clear(); }
    /// The slot gets a new CTA.
    void forget(std::uint32_t context) {
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), [=](const Entry& e) { return e.context == context; }),
                       entries_.end());
    }
    void count(std::uint32_t context, Addr barrier) {
        const auto known = std::find_if(entries_.begin(), entries_.end(), is(context, barrier));
        if (known == entries_.end())
            entries_.push_back({barrier, 1, context});
        else
            ++known->events;
    }
    std::uint64_t events(std::uint32_t context, Addr barrier) const {
        const auto known = std::find_if(entries_.begin(), entries_.end(), is(context, barrier));
        return known == entries_.end() ? 0 : known->events;
    }

private:
    std::vector<Entry> entries_;  ///< a kernel has few
};

}  // namespace mergelane
