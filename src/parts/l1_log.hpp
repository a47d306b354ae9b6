// SPDX-License-Identifier: MIT
// What happens in one L1, for meters that compare several. The cache writes it while its domain runs alone; the meter reads and empties
// it between windows, when all domains have met.
#pragma once

#include <vector>

#include "core/types.hpp"

namespace mergelane {

/// On cache lines of its own: caches of different domains may run in different threads.
class alignas(64) L1Log {
public:
    enum class What : std::uint8_t {
        miss,    ///< a load asks for the block from below
        fill,    ///< it arrived
        gained,  ///< loads hit it from now on, because it arrived or was written whole
        lost,    ///< they do no longer: evicted, invalidated by a store, flushed
    };
    struct Entry {
        Cycle at;
        Addr block;
        What what;
    };

    // Not inlined: most caches have no log, and should not pay for it.
    [[gnu::noinline, gnu::cold]] void note(What what, Addr block, Cycle now) {
        now_ = now;
        entries_.push_back({now, block, what});
    }
    /// What happens before anybody says another time, such as a flush, happens at `now`.
    void set_time(Cycle now) { now_ = now; }
    Cycle time() const { return now_; }

    const std::vector<Entry>& entries() const { return entries_; }
    void clear() { entries_.clear(); }

private:
    std::vector<Entry> entries_;  ///< since somebody looked last, in the order in which they happened
    Cycle now_ = 0;
};

}  // namespace mergelane
