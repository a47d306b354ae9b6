// SPDX-License-Identifier: MIT
// Policies whose lines leave in the order of a queue. The tag array keeps it beside its tags, so that a hit costs no call.
#pragma once

#include "parts/replacement.hpp"

namespace mergelane {

template <Replacement::Order kOrder>
class QueueOrder final : public Replacement {
public:
    Order order() const override { return kOrder; }
    void touched(std::uint32_t) override {}
    void filled(std::uint32_t) override {}
    std::uint32_t victim(std::uint32_t, std::uint32_t, const std::uint8_t*) override { return kNoSlot; }
};

}  // namespace mergelane
