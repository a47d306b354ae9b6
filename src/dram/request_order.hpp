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

class RequestOrder {
public:
    static constexpr std::string_view kKind = "DRAM scheduler";
    using Maker = std::function<std::unique_ptr<RequestOrder>(const DramSpec&, const Sections&)>;

    virtual ~RequestOrder() = default;
    /// Every request may always be served; visible() is not asked.
    virtual bool sees_all() const { return false; }
    /// Queue slots that may be served, out of `occupied`; `age` counts arrivals per slot.
    virtual std::uint64_t visible(std::uint64_t occupied, std::span<const std::uint64_t> age) const = 0;
};

void add_request_orders(Registry& registry);

/// Slot of `mask` with the smallest age.
std::uint32_t oldest(std::uint64_t mask, std::span<const std::uint64_t> age);

}  // namespace mergelane
