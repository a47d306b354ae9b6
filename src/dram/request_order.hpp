// SPDX-License-Identifier: MIT
// Which requests of the controller's queue may be served now. Among those, the controller always prefers the oldest
// that hits an open row. A policy is a small class and one line in the table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace mergelane {

class RequestOrder {
public:
    virtual ~RequestOrder() = default;
    /// Queue slots that may be served, out of `occupied`; `age` counts arrivals per slot.
    virtual std::uint64_t visible(std::uint64_t occupied, std::span<const std::uint64_t> age) const = 0;
};

std::unique_ptr<RequestOrder> make_request_order(std::string_view name);
std::vector<std::string_view> request_order_names();

/// Slot of `mask` with the smallest age.
std::uint32_t oldest(std::uint64_t mask, std::span<const std::uint64_t> age);

}  // namespace mergelane
