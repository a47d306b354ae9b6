// SPDX-License-Identifier: MIT
// Shared memory: banks that serve one access at a time, for as many cycles as its bank conflicts require.
#pragma once

#include <algorithm>

#include "sm/coalescer.hpp"
#include "sm/sm_spec.hpp"

namespace mergelane {

class SharedMemory {
public:
    explicit SharedMemory(const SmSpec& spec) : banks_(spec.shared_banks), latency_(spec.shared_latency) {}

    void launch() { free_at_ = 0; }
    std::uint32_t degree(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes) const {
        return bank_conflict_degree(lanes, active, lane_bytes, banks_);
    }
    /// When the banks become free.
    Cycle free_at() const { return free_at_; }
    /// Occupies the banks, which are free at `at`. Returns when the values are available.
    Cycle access(std::uint32_t degree, Cycle at) {
        bank_cycles_ += degree;
        free_at_ = at + degree;
        return at + latency_ + degree - 1;
    }
    /// Data that was copied from global memory is written as soon as the banks are free. Returns when that is done. The addresses are not
    /// known, and taken to be consecutive; these cycles belong to no access, so they are not counted with those of accesses.
    Cycle write_copied(std::uint32_t bytes, Cycle now) {
        free_at_ = std::max(free_at_, now) + (bytes + 4 * banks_ - 1) / (4 * banks_);
        return free_at_;
    }
    /// An access from another SM, in so many passes, as soon as the banks are free. Returns when its values are available. Like copies, it
    /// belongs to no instruction of this SM.
    Cycle serve_remote(std::uint32_t passes, Cycle now) {
        free_at_ = std::max(free_at_, now) + passes;
        return free_at_ + latency_ - 1;
    }
    std::uint64_t bank_cycles() const { return bank_cycles_; }

private:
    const std::uint32_t banks_;
    const std::uint32_t latency_;
    Cycle free_at_ = 0;
    std::uint64_t bank_cycles_ = 0;
};

}  // namespace mergelane
