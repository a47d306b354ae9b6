// SPDX-License-Identifier: MIT
// l2.halves: an L2 in two halves, each next to one half of the SM clusters and of the DRAM channels. Off by default.
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct HalvesSpec final : SectionOf<HalvesSpec> {
    enum class Far : std::uint8_t { home, copy };

    bool on = false;
    Far far = Far::home;
    std::uint32_t latency = 75;
    std::uint32_t bytes_per_cycle = 64;
    std::uint32_t queue = 256;

    bool copies() const { return on && far == Far::copy; }
    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
};

}  // namespace mergelane
