// SPDX-License-Identifier: MIT
// Comparison point of the WarpPool paper: a banked L1. Each bank looks up one line of the current load per cycle, in any order among the
// banks. Only one of them may miss in a cycle, because MSHRs are searched once. A line that may not miss stalls its bank.
#pragma once

#include "core/section.hpp"
#include "parts/index_hash.hpp"
#include "sm/in_order_front.hpp"

namespace mergelane {

/// lsu.front = "banked"
struct BankedSpec final : SectionOf<BankedSpec> {
    std::uint32_t banks = 8;

    void fields(SpecFields& f) override;
    void check(const MachineFacts& machine, const Sections& others, Problems& problems) const override;
    void metrics(Metrics& metrics) const override;
};

class BankedFront final : public InOrderFront {
public:
    BankedFront(const FrontContext& context, const BankedSpec& spec);

    void step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;

private:
    void serve_load(Cycle now);

    const std::uint32_t bank_mask_;
    const std::uint32_t line_shift_;
    const IndexHash set_hash_;
    std::uint64_t left_ = 0;  ///< blocks of the head still to be looked up
    std::uint64_t lookups_ = 0, cycles_ = 0;
};

}  // namespace mergelane
