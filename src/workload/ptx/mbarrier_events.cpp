// SPDX-License-Identifier: MIT
#include "workload/ptx/warp.hpp"

namespace mergelane::ptx {

void MbarrierEvents::count(const std::byte* barrier) {
    ++events_[barrier].now;
}

void MbarrierEvents::end_phase(const std::byte* barrier) {
    Events& events = events_[barrier];
    events.at_end = events.now;
}

std::uint64_t MbarrierEvents::of_last_phase(const std::byte* barrier) const {
    const auto found = events_.find(barrier);
    return found == events_.end() ? 0 : found->second.at_end;
}

void MbarrierEvents::forget(const std::byte* first, std::size_t bytes) {
    events_.erase(events_.lower_bound(first), events_.lower_bound(first + bytes));
}

}  // namespace mergelane::ptx
