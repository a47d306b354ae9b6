// SPDX-License-Identifier: MIT
// What limits the load/store unit. First, what an ideal coalescer between warps could save: the line requests of an SM's loads in issue
// order, as they leave the coalescer of each warp, through windows of so many requests. A request whose line is among the last W that
// remained is not needed. Second, what else the SM gets done while its L1 can take nothing.
#pragma once

#include <array>
#include <cstdint>

#include "core/component.hpp"
#include "core/meter.hpp"
#include "sm/coalescer.hpp"

namespace mergelane {

/// lsu.meter
struct LsuMeterSpec final : MeterSpec<LsuMeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    std::unique_ptr<SmObserver> at_sm(const SmPlace& place) const override;
};

class LsuMeter final : public SmObserver {
public:
    static constexpr std::array<std::uint32_t, 8> kWindows = {1, 2, 4, 8, 16, 32, 64, 128};  ///< requests

    explicit LsuMeter(std::uint32_t block_bytes) : block_bytes_(block_bytes) {}

    /// Only loads that use the L1 count.
    void memory_issued(const StaticInst& inst, const LaneAddresses& lanes, std::uint32_t active) override;
    void issued(std::uint64_t computed, bool l1_is_full) override {
        if (l1_is_full) while_full_ += computed - computed_;
        computed_ = computed;
    }
    void stats(StatFields& f, Cycle now) const override;

private:
    struct Window {
        std::array<Addr, kWindows.back()> lines{};  ///< a ring of those that remained last
        std::uint64_t kept = 0;
    };

    const std::uint32_t block_bytes_;
    std::array<Window, kWindows.size()> windows_;
    BlockList blocks_;  ///< of the load at hand
    std::uint64_t requests_ = 0, loads_ = 0, lanes_ = 0, divergent_ = 0, while_full_ = 0, computed_ = 0;
};

}  // namespace mergelane
