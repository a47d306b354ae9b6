// SPDX-License-Identifier: MIT
// GPCs: SMs among which the CTAs of a cluster are placed, and the network between them (ADR 0049).
#pragma once

#include <vector>

#include "core/section.hpp"

namespace mergelane {

struct GpcSpec final : SectionOf<GpcSpec> {
    static constexpr std::uint32_t kMostSms = 255;  ///< of one GPC

    bool on = false;
    std::vector<std::uint32_t> sms = {0};  ///< 0: one GPC has all
    std::uint32_t latency = 36;
    std::uint32_t bytes_per_cycle = 16;
    std::uint32_t multicast_bytes_per_cycle = 64;
    std::uint32_t barrier_latency = 20;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
    /// Number of the first SM of each GPC, and `all`.
    std::vector<std::uint32_t> first_sms(std::uint32_t all) const;
};

}  // namespace mergelane
