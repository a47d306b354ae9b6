// SPDX-License-Identifier: MIT
// Which requests of the controller's queue may be served now. Among those, the controller always prefers the oldest
// that hits an open row. A policy is a small class and one line in
// add_request_orders().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/policies.hpp"

namespace mergelane {

struct DramSpec;

/// The controller's queue, as an order sees it.
struct RequestQueue {
    static constexpr std::uint32_t kEnd = 64;

    std::uint64_t occupied = 0;            ///< bit per queue slot that holds a request
    std::uint32_t oldest = kEnd;           ///< its slot; kEnd: there is none
    std::span<const std::uint8_t> newer;   ///< per slot: the one that came after it; kEnd: none
    std::span<const std::uint8_t> bank;    ///< per slot
    std::span<const std::uint64_t> age{};  ///< per slot: counts arrivals
};

/// What a machine needs to know of an order.
struct RequestOrderTraits {
    Stated<bool> queue_per_bank;  ///< dram.bank_queue requests for each bank instead of dram.queue for all
};

class RequestOrder {
public:
    static constexpr std::string_view kKind = "DRAM scheduler";
    using Traits = RequestOrderTraits;
    using Maker = std::function<std::unique_ptr<RequestOrder>(const DramSpec&, const Sections&)>;

    virtual ~RequestOrder() = default;
    /// Every request may always be served; visible() is not asked.
    virtual bool sees_all() const { return false; }
    /// Queue slots that may be served, out of those that are occupied.
    virtual std::uint64_t visible(const RequestQueue& queue) const = 0;
    /// Requests that each bank holds in a queue of its own, in order; 0: all share one queue. With queues at the banks their heads are what
    /// can be seen, banks take turns, and a request whose bank has no room holds up those behind it.
    virtual std::uint32_t bank_queue() const { return 0; }
};

void add_request_orders(Registry& registry);

}  // namespace mergelane
