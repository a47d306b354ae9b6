// SPDX-License-Identifier: MIT
#include "dram/request_order.hpp"

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

std::unique_ptr<RequestOrder> make_fr_fcfs();
std::unique_ptr<RequestOrder> make_fifo_order();

namespace {

struct Entry {
    std::string_view name;
    std::unique_ptr<RequestOrder> (*make)();
};
// A new policy is one file in dram/, its maker's declaration above and its line here.
constexpr Entry kOrders[] = {
    {"fr_fcfs", make_fr_fcfs},
    {"fifo", make_fifo_order},
};

/// First ready, first come, first served: everything in the queue is a candidate.
class FrFcfs final : public RequestOrder {
public:
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

std::unique_ptr<RequestOrder> make_fr_fcfs() {
    return std::make_unique<FrFcfs>();
}
std::unique_ptr<RequestOrder> make_fifo_order() {
    return std::make_unique<FifoOrder>();
}

std::uint32_t oldest(std::uint64_t mask, std::span<const std::uint64_t> age) {
    std::uint32_t best = lowest_bit(mask);
    for (mask &= mask - 1; mask != 0; mask &= mask - 1) {
        const std::uint32_t slot = lowest_bit(mask);
        if (age[slot] < age[best]) best = slot;
    }
    return best;
}

std::unique_ptr<RequestOrder> make_request_order(std::string_view name) {
    for (const Entry& entry : kOrders) {
        if (entry.name == name) return entry.make();
    }
    throw InputError("unknown DRAM scheduler '" + std::string(name) + "'");
}

std::vector<std::string_view> request_order_names() {
    std::vector<std::string_view> names;
    for (const Entry& entry : kOrders) names.push_back(entry.name);
    return names;
}

}  // namespace mergelane
