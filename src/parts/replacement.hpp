// SPDX-License-Identifier: MIT
// Which line of a set makes room. One small file per policy under parts/replacement/, one line in add_replacements().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/policies.hpp"
#include "parts/key_index.hpp"

namespace mergelane {

class Replacement {
public:
    static constexpr std::string_view kKind = "replacement policy";
    using Maker = std::function<std::unique_ptr<Replacement>(std::uint32_t lines, const Sections&)>;

    /// Who keeps the order in which lines leave.
    enum class Order {
        policy,   ///< the policy itself, which is told of every use
        by_use,   ///< the tag array: a line goes to the end of its set's queue when it is used or filled
        by_fill,  ///< the tag array: only a fill does that
    };

    virtual ~Replacement() = default;
    virtual Order order() const { return Order::policy; }
    /// A line of the cache was used; `line` counts lines over all sets.
    virtual void touched(std::uint32_t line) = 0;
    /// A line received a new tag.
    virtual void filled(std::uint32_t line) = 0;
    /// The line to give up among lines [first, first + ways) with a zero in `locked`; kNoSlot if there is none. Asked again if its owner
    /// cannot go on yet.
    virtual std::uint32_t victim(std::uint32_t first, std::uint32_t ways, const std::uint8_t* locked) = 0;
};

void add_replacements(Registry& registry);

// Those of ours alone.
std::unique_ptr<Replacement> make_replacement(std::string_view name, std::uint32_t lines);
std::vector<std::string_view> replacement_names();

}  // namespace mergelane
