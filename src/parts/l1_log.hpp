// SPDX-License-Identifier: MIT
// Event log of one L1, for meters that compare several caches. The cache appends while its domain runs; the meter reads and clears it
// between windows, when all domains are synchronised.
#pragma once

#include <vector>

#include "core/types.hpp"

namespace mergelane {

/// Aligned to cache lines, because caches of different domains may run in different threads.
class alignas(64) L1Log {
public:
    enum class What : std::uint8_t {
        miss,    ///< a load requests the block
        fill,    ///< the block arrived
        gained,  ///< loads hit it from now on, because it arrived or was fully written
        lost,    ///< loads no longer hit it: evicted, invalidated by a store, flushed
    };
    struct Entry {
        Cycle at;
        Addr block;
        What what;
    };

    // Not inlined: most caches have no log and should not pay for it.
    [[gnu::noinline, gnu::cold]] void note(What what, Addr block, Cycle now) {
        now_ = now;
        entries_.push_back({now, block, what});
    }
    /// Sets the time of events that carry none, such as a flush, to `now`.
    void set_time(Cycle now) { now_ = now; }
    Cycle time() const { return now_; }

    const std::vector<Entry>& entries() const { return entries_; }
    void clear() { entries_.clear(); }

private:
    std::vector<Entry> entries_;  ///< since they were last read, in order of occurrence
    Cycle now_ = 0;
};

}  // namespace mergelane
