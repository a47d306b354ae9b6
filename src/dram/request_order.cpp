// SPDX-License-Identifier: MIT
#include "dram/request_order.hpp"

#include "core/bits.hpp"

namespace mergelane {

namespace {

/// First ready, first come, first served: everything in the queue is a candidate.
class FrFcfs final : public RequestOrder {
public:
    bool sees_all() const override { return true; }
    std::uint64_t visible(std::uint64_t occupied, std::span<const std::uint64_t>) const override { return occupied; }
};

/// Strictly in order of arrival.
class FifoOrder final : public RequestOrder {
public:
    std::uint64_t visible(std::uint64_t occupied, std::span<const std::uint64_t> age) const override {
        return occupied == 0 ? 0 : bit(oldest(occupied, age));
    }
};

}  // namespace

// A new policy is its class, here or in a file of its own, and one line here.
void add_request_orders(Registry& registry) {
    registry.add<RequestOrder>("fr_fcfs", "rows that are open first, then by age",
                               [](const DramSpec&, const Sections&) { return std::make_unique<FrFcfs>(); });
    registry.add<RequestOrder>("fifo", "strictly in order of arrival",
                               [](const DramSpec&, const Sections&) { return std::make_unique<FifoOrder>(); });
}

std::uint32_t oldest(std::uint64_t mask, std::span<const std::uint64_t> age) {
    std::uint32_t best = lowest_bit(mask);
    for (mask &= mask - 1; mask != 0; mask &= mask - 1) {
        const std::uint32_t slot = lowest_bit(mask);
        if (age[slot] < age[best]) best = slot;
    }
    return best;
}

}  // namespace mergelane
