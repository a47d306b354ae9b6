// SPDX-License-Identifier: MIT
// What limits the load/store unit. First, what an ideal coalescer between warps could save: the line requests of an SM's loads in issue
// order, as they leave the coalescer of each warp, through windows of so many requests. A request whose line is among the last W that
// remained is not needed. Second, what else the SM gets done while its L1 can take nothing.
#pragma once

#include <array>
#include <cstdint>

#include "core/component.hpp"
#include "core/section.hpp"
#include "sm/coalescer.hpp"

namespace mergelane {

/// lsu.meter
struct LsuMeterSpec final : SectionOf<LsuMeterSpec> {
    bool on = false;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
};

class LsuMeter {
public:
    static constexpr std::array<std::uint32_t, 8> kWindows = {1, 2, 4, 8, 16, 32, 64, 128};  ///< requests

    explicit LsuMeter(std::uint32_t block_bytes) : block_bytes_(block_bytes) {}

    /// A memory instruction as it issues; only loads that use the L1 are looked at.
    void see(const StaticInst& inst, const LaneAddresses& lanes, std::uint32_t active);
    /// So many instructions that need no memory have issued by now; could the L1 not take the next request in this cycle?
    void computed(std::uint64_t instructions, bool l1_is_full) {
        if (l1_is_full) while_full_ += instructions - computed_;
        computed_ = instructions;
    }
    void stats(StatFields& f) const;

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
