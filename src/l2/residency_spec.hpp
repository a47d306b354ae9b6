// SPDX-License-Identifier: MIT
// l2.residency: the L2 honours the eviction priorities of memory instructions (ADR 0054). Off by default.
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct ResidencySpec final : SectionOf<ResidencySpec> {
    bool on = false;
    std::uint32_t evict_last_share = 75;

    /// Lines of priority last that a set may hold.
    std::uint32_t most_last(std::uint32_t ways) const { return ways * evict_last_share / 100; }
    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
};

}  // namespace mergelane
