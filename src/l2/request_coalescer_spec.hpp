// SPDX-License-Identifier: MIT
// l2.lrc: the L2 request coalescer, between the request network and each L2 slice. Off by default.
#pragma once

#include "core/section.hpp"

namespace mergelane {

struct RequestCoalescerSpec final : SectionOf<RequestCoalescerSpec> {
    enum class OnStore : std::uint8_t { ignore, close };

    bool on = false;
    std::uint32_t entries = 1024;
    std::uint32_t max_merged = 4;
    OnStore on_store = OnStore::ignore;

    void fields(SpecFields& f) override;
    bool enabled() const override { return on; }
    void laws(LawBook& book) const override;
    void metrics(Metrics& metrics) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
};

}  // namespace mergelane
