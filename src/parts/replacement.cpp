// SPDX-License-Identifier: MIT
#include "parts/replacement.hpp"

namespace mergelane {

namespace {

/// Lines leave in the order of a queue. The tag array keeps it beside its tags, so that a hit costs no call.
template <Replacement::Order kOrder>
class QueueOrder final : public Replacement {
public:
    Order order() const override { return kOrder; }
    void touched(std::uint32_t) override {}
    void filled(std::uint32_t) override {}
    std::uint32_t victim(std::uint32_t, std::uint32_t, const std::uint8_t*) override { return kNoSlot; }

    static std::unique_ptr<Replacement> make(std::uint32_t, const Sections&) { return std::make_unique<QueueOrder>(); }
};

}  // namespace

// To add a policy: one file in parts/replacement/, the declaration of its maker above, and one line here.
void add_replacements(Registry& registry) {
    registry.add<Replacement>("lru", "least recently used", QueueOrder<Replacement::Order::by_use>::make);
    registry.add<Replacement>("fifo", "first in, first out", QueueOrder<Replacement::Order::by_fill>::make);
}

}  // namespace mergelane
