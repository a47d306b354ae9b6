// SPDX-License-Identifier: MIT
// Predicts the speedup of more threads from the host cost of each domain, window by window. docs/performance.md lists what
// the model omits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace mergelane {

/// Host cost of the domains in the measured windows.
class DomainCosts {
public:
    /// `threads`: the numbers of threads that will be asked about.
    explicit DomainCosts(std::vector<std::uint32_t> threads);

    /// One window: what every domain cost, in nanoseconds, always in the same order.
    void add_window(std::span<const std::uint64_t> costs);

    std::uint64_t windows() const { return windows_; }
    const std::vector<std::uint32_t>& threads() const { return threads_; }
    /// Mean cost of all domains of a window.
    double window() const { return windows_ == 0 ? 0 : static_cast<double>(total()) / static_cast<double>(windows_); }
    /// Mean cost of a window on that many threads, packed longest first, with a barrier after it.
    double window_on(std::uint32_t threads) const;
    /// Upper bound of the speedup of that many threads without barriers: all windows packed as one.
    double ideal_speedup(std::uint32_t threads) const;
    /// The most expensive domain, and its share of the total.
    std::size_t longest() const { return static_cast<std::size_t>(std::max_element(sums_.begin(), sums_.end()) - sums_.begin()); }
    double longest_share() const { return total() == 0 ? 0 : static_cast<double>(sums_[longest()]) / static_cast<double>(total()); }

private:
    std::uint64_t total() const { return std::accumulate(sums_.begin(), sums_.end(), std::uint64_t{0}); }

    std::vector<std::uint32_t> threads_;
    std::vector<std::uint64_t> sums_;  ///< per domain
    std::vector<double> packed_;       ///< per number of threads
    std::uint64_t windows_ = 0;
};

/// A window on n threads takes serial + scale * window_on(n) + meeting * (n - 1) nanoseconds: every thread that joins writes the
/// same counter once more.
struct ThreadModel {
    double one = 0;      ///< a window on one thread, as timed
    double serial = 0;   ///< of it, outside the domains
    double scale = 1;    ///< domains when timed as a whole against domains timed one by one, at most 1
    double meeting = 0;  ///< per further thread

    double speedup(const DomainCosts& costs, std::uint32_t threads) const;
};

/// `one` and `several`: nanoseconds per window on one and on `threads` threads; without the latter meetings cost nothing.
ThreadModel fit_thread_model(const DomainCosts& costs, double one, std::uint32_t threads = 1, double several = 0);

}  // namespace mergelane
