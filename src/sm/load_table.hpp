// SPDX-License-Identifier: MIT
// Loads and atomics between issue and the availability of their values. A front end resolves them request by request; the SM is notified
// when the last one completes.
#pragma once

#include <algorithm>
#include <vector>

#include "core/kernel.hpp"
#include "core/types.hpp"

namespace mergelane {

struct Load {
    const StaticInst* inst = nullptr;
    Cycle issued = 0;
    Cycle latest = 0;  ///< when the last of its values so far is available
    std::uint16_t remaining = 0;
    std::uint8_t warp = 0;
};

/// What the SM is told about its memory instructions. It counts one transaction per instruction at issue; a store with several requests
/// reports the additional ones.
class MemoryListener {
public:
    virtual void load_finished(const Load& load, Cycle now) = 0;
    virtual void store_split(std::uint32_t warp, std::uint32_t further_requests) = 0;
    virtual void store_answered(std::uint32_t warp, Cycle now) = 0;

protected:
    ~MemoryListener() = default;
};

class LoadTable {
public:
    /// Few tables are ever full: they grow on demand.
    LoadTable(std::uint32_t entries, MemoryListener& listener) : listener_(listener), entries_(entries) {
        loads_.reserve(std::min(entries, kFirst));
        free_.reserve(std::min(entries, kFirst));
    }

    /// A front end that also keeps loads elsewhere may need more.
    void allow(std::uint32_t entries) { entries_ = std::max(entries_, entries); }
    bool full() const { return free_.empty() && loads_.size() == entries_; }
    /// A load that completes after this many requests.
    std::uint16_t open(const StaticInst& inst, std::uint32_t warp, Cycle issued, std::uint32_t requests) {
        auto index = static_cast<std::uint16_t>(loads_.size());
        if (free_.empty()) {
            loads_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        loads_[index] = {&inst, issued, 0, static_cast<std::uint16_t>(requests), static_cast<std::uint8_t>(warp)};
        return index;
    }
    /// The values of one request are available from `at` on.
    void resolve(std::uint16_t index, Cycle at, Cycle now) {
        Load& load = loads_[index];
        load.latest = std::max(load.latest, at);
        if (--load.remaining != 0) return;
        free_.push_back(index);
        listener_.load_finished(load, now);
    }
    MemoryListener& listener() { return listener_; }

private:
    MemoryListener& listener_;
    static constexpr std::uint32_t kFirst = 64;
    std::uint32_t entries_;
    std::vector<Load> loads_;
    std::vector<std::uint16_t> free_;  ///< of those that were ever used
};

}  // namespace mergelane
