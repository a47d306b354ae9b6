// SPDX-License-Identifier: MIT
// Intra-cluster locality: which part of a cluster's L1 read misses asks again for a line the cluster asked for in the last
// so many cycles, and whether it wants the same words as another CTA or only the same line. Exact: a cluster's bus
// carries one request per cycle, so a ring of as many requests as the longest window has cycles forgets nothing.
#pragma once

#include <array>
#include <vector>

#include "core/fields.hpp"
#include "core/packet.hpp"

namespace mergelane {

class LocalityMeter {
public:
    static constexpr std::array<std::uint32_t, 4> kWindows = {500, 1000, 1500, 2000};  ///< cycles

    LocalityMeter();

    /// Forgets all requests: CTA numbers start anew.
    void begin_kernel() { first_ = next_; }
    /// A read of `block` crosses the bus; at most one per cycle.
    void see(Addr block, const ReadNote& note, Cycle now);

    std::uint64_t reads() const { return reads_; }
    std::uint64_t line_sharing(std::size_t window) const { return line_[window]; }
    std::uint64_t data_sharing(std::size_t window) const { return data_[window]; }
    void stats(StatFields& f) const;

private:
    static constexpr std::uint32_t kRing = 2048;
    static constexpr std::uint32_t kBuckets = 4096;
    static_assert(kRing >= kWindows.back());

    struct Request {
        Addr block;
        Cycle at;
        std::uint64_t cta;
        std::uint64_t before;  ///< number of the previous request in the same bucket
        std::uint32_t words;
    };

    std::uint64_t next_ = kRing;  ///< number of the next request; older than next_ - kRing is overwritten
    std::uint64_t first_ = kRing;
    std::vector<Request> ring_;
    std::vector<std::uint64_t> latest_;  ///< per bucket
    std::uint64_t reads_ = 0;
    std::array<std::uint64_t, kWindows.size()> line_{};
    std::array<std::uint64_t, kWindows.size()> data_{};
};

}  // namespace mergelane
