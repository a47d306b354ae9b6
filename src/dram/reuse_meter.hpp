// SPDX-License-Identifier: MIT
// How far apart requests to one row arrive at a channel: how many row activations reordering within a window of arrivals could save. Does
// not affect timing; off by default.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "core/fields.hpp"
#include "core/meter.hpp"

namespace mergelane {

/// dram.reuse_meter
struct ReuseMeterSpec final : MeterSpec<ReuseMeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void metrics(Metrics& metrics) const override;
    std::unique_ptr<DramObserver> at_dram(const DramPlace& place) const override;
};

/// A row is open when its bank's previous request was for it, as in order of arrival, or when a request for it arrived within the window,
/// whatever came between. A full queue of as many requests is the same only as long as none waits while many others pass.
class ReuseMeter final : public DramObserver {
public:
    static constexpr std::array<std::uint32_t, 5> kWindows = {32, 64, 128, 256, 512};  ///< requests, the later one included

    explicit ReuseMeter(std::uint32_t banks) : row_(banks, kNone) {}

    void arrived(std::uint32_t bank, std::uint64_t row, std::uint32_t bursts, bool write, Cycle now) override;
    void stats(StatFields& f, Cycle now) const override;

private:
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};

    std::vector<std::uint64_t> row_;                         ///< of each bank's previous request
    std::unordered_map<std::uint64_t, std::uint64_t> last_;  ///< number of the previous request for a row
    std::uint64_t requests_ = 0, in_order_ = 0;
    std::array<std::uint64_t, kWindows.size()> within_{};
};

}  // namespace mergelane
