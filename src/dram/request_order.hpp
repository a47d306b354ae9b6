// SPDX-License-Identifier: MIT
// Which requests of the controller's queue may be served now. Among these, the controller prefers the oldest that hits an open row. A
// policy is a small class and one line in add_request_orders().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/policies.hpp"

namespace mergelane {

struct DramSpec;

/// The controller's queue, as visible to a request order.
struct RequestQueue {
    static constexpr std::uint32_t kEnd = 64;

    std::uint64_t occupied = 0;            ///< bit per queue slot that holds a request
    std::uint32_t oldest = kEnd;           ///< slot of the oldest request; kEnd: the queue is empty
    std::span<const std::uint8_t> newer;   ///< per slot: the next newer request; kEnd: none
    std::span<const std::uint8_t> bank;    ///< per slot
    std::span<const std::uint64_t> age{};  ///< per slot: arrival number
};

/// What a machine needs to know of an order.
struct RequestOrderTraits {
    Stated<bool> queue_per_bank;  ///< dram.bank_queue requests for each bank instead of dram.queue for all
    Stated<bool> plain;           ///< works in the plain controller
    Stated<bool> detailed;        ///< works in the detailed controller, dram.controller
};

class RequestOrder {
public:
    static constexpr std::string_view kKind = "DRAM scheduler";
    using Traits = RequestOrderTraits;
    using Maker = std::function<std::unique_ptr<RequestOrder>(const DramSpec&, const Sections&)>;

    virtual ~RequestOrder() = default;
    /// Every request may always be served; visible() is not called.
    virtual bool sees_all() const { return false; }
    /// Queue slots that may be served, among the occupied ones.
    virtual std::uint64_t visible(const RequestQueue& queue) const = 0;
    /// Requests per bank queue; 0: all banks share one queue. With per-bank queues, their heads are visible, banks take turns, and a
    /// request whose bank queue is full blocks those behind it.
    virtual std::uint32_t bank_queue() const { return 0; }
    // Of the detailed controller, which sees all requests.
    /// Requests that a bank serves from one activation before an older one that waits for another of its rows; 0: any number.
    virtual std::uint32_t hit_cap() const { return 0; }
    /// Prefers hits of the bank served last, then of the banks after it, to older ones.
    virtual bool stays_on_bank() const { return false; }
};

void add_request_orders(Registry& registry);

}  // namespace mergelane
