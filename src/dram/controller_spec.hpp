// SPDX-License-Identifier: MIT
// The detailed DRAM controller: refresh, activation windows, a write queue, page policies, pseudo-channels, and queues of up to 512
// requests. Off by default: the machines of the studies were frozen with the plain one.
#pragma once

#include "core/section.hpp"
#include "dram/dram_spec.hpp"

namespace mergelane {

struct RequestOrderTraits;

/// dram.controller, and the timing parameters that only it knows. A timing of 0 adds no constraint.
struct DramControllerSpec final : SectionOf<DramControllerSpec> {
    enum class Page : std::uint8_t { open, closed, adaptive };
    enum class Refresh : std::uint8_t { none, all_bank, per_bank };

    std::string standard;  ///< which energy tables may price it
    bool on = false;
    std::uint32_t queue = 0;
    std::uint32_t write_queue = 0;
    std::uint32_t write_high = 0;
    std::uint32_t write_low = 0;
    std::uint32_t hit_cap = 4;
    Page page = Page::open;
    std::uint32_t page_timeout = 100;
    Refresh refresh = Refresh::none;
    std::uint32_t refresh_postpone = 0;
    std::uint32_t pseudo_channels = 1;
    std::uint32_t activate_cycles = 1;

    std::uint32_t tRCDWR = 0;
    std::uint32_t tRRDL = 0;
    std::uint32_t tFAW = 0;
    std::uint32_t tWTRL = 0;
    std::uint32_t tRTPL = 0;
    std::uint32_t tREFI = 0;
    std::uint32_t tRFC = 0;
    std::uint32_t tRFCpb = 0;
    std::uint32_t tRREFD = 0;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }

    /// `order`: of dram.scheduler.
    void check(const DramSpec& dram, const RequestOrderTraits& order, Problems& problems) const;
    using Section::check;
    /// DRAM cycles of the data of one column command. dram.bus_bytes is the width of the whole channel.
    std::uint32_t burst_cycles(const DramSpec& dram) const { return std::max(1u, dram.access_bytes * pseudo_channels / dram.bus_bytes); }
    /// Requests the controller holds.
    std::uint32_t capacity(const DramSpec& dram) const { return queue_of(dram) + write_queue; }
    std::uint32_t queue_of(const DramSpec& dram) const { return queue == 0 ? dram.queue : queue; }
    /// DRAM cycles of the data bus per column command, over all pseudo-channels.
    std::uint32_t column_cycles(const DramSpec& dram) const {
        return std::max(1u, std::max(burst_cycles(dram), dram.timing.tCCD) / pseudo_channels);
    }
    /// DRAM cycles between the refreshes of a pseudo-channel.
    std::uint32_t refresh_interval(const DramSpec& dram) const {
        return refresh == Refresh::per_bank ? std::max(1u, tREFI * pseudo_channels / dram.banks) : tREFI;
    }
};

}  // namespace mergelane
