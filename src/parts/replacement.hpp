// SPDX-License-Identifier: MIT
// Which line of a set is evicted. A policy that keeps an order of its own is one small file in parts/replacement/, and one line in
// add_replacements().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/policies.hpp"
#include "parts/key_index.hpp"

namespace mergelane {

class Replacement {
public:
    static constexpr std::string_view kKind = "replacement policy";
    using Maker = std::function<std::unique_ptr<Replacement>(std::uint32_t lines, const Sections&)>;

    /// Who maintains the eviction order.
    enum class Order {
        policy,   ///< the policy, which is notified of every use
        by_use,   ///< the tag array: a use or a fill moves a line to the end of its set's queue
        by_fill,  ///< the tag array: only a fill does
    };

    virtual ~Replacement() = default;
    virtual Order order() const { return Order::policy; }
    /// A line was used. `line` counts lines over all sets.
    virtual void touched(std::uint32_t line) = 0;
    /// A line received a new tag.
    virtual void filled(std::uint32_t line) = 0;
    /// The line to evict among lines [first, first + ways) that have a zero in `locked`; kNoSlot if there is none. Called again if the
    /// owner cannot proceed yet.
    virtual std::uint32_t victim(std::uint32_t first, std::uint32_t ways, const std::uint8_t* locked) = 0;
};

void add_replacements(Registry& registry);

}  // namespace mergelane
