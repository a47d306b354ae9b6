// SPDX-License-Identifier: MIT
// Units of an SM that sm_90 introduced (ADR 0048): the tensor memory accelerator, and products of matrices by warpgroups.
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct TmaSpec final : SectionOf<TmaSpec> {
    std::uint32_t blocks_per_cycle = 0;  ///< 0: there is none
    std::uint32_t latency = 100;

    void fields(SpecFields& f) override;
    bool enabled() const override { return blocks_per_cycle != 0; }
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
};

struct WgmmaSpec final : SectionOf<WgmmaSpec> {
    std::uint32_t rate = 0;  ///< 0: there is none

    void fields(SpecFields& f) override;
    bool enabled() const override { return rate != 0; }
    void metrics(Metrics& metrics) const override;
    /// Cycles for which a warp's part of m64nNk.. occupies its tensor unit. All types have 32 bytes of depth and the same time per byte.
    std::uint32_t cycles(std::uint32_t columns, bool a_from_registers, std::uint32_t shared_bytes_per_cycle) const;
};

}  // namespace mergelane
