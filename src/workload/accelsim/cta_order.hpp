// SPDX-License-Identifier: MIT
// The CTAs of a trace in the order of its file: each of the grid exactly once.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

class CtaOrder {
public:
    /// The next one. Returns what is wrong with it; empty if nothing.
    std::string add(const Dim3& id, const Dim3& grid) {
        if (id.x >= grid.x || id.y >= grid.y || id.z >= grid.z)
            return fmt::format("thread block {},{},{} lies outside the grid ({},{},{}) of the header", id.x, id.y, id.z, grid.x, grid.y,
                               grid.z);
        if (ids_.size() == grid.count())
            return fmt::format("more thread blocks than the {} of the header's grid ({},{},{}); one appears twice or the grid is wrong",
                               grid.count(), grid.x, grid.y, grid.z);
        const std::uint64_t linear = id.x + std::uint64_t{grid.x} * (id.y + std::uint64_t{grid.y} * id.z);
        in_order_ = in_order_ && linear == ids_.size();
        ids_.push_back(linear);
        return {};
    }
    std::uint64_t count() const { return ids_.size(); }

    /// CTA -> position in the file, empty if they are in order. Requires all CTAs of the grid; returns the position of a CTA that is
    /// there for the second time.
    std::optional<std::uint64_t> positions(std::vector<std::uint32_t>& places) const {
        if (in_order_) return std::nullopt;
        constexpr std::uint32_t kUnset = ~0u;
        places.assign(ids_.size(), kUnset);
        for (std::uint64_t i = 0; i < ids_.size(); ++i) {
            std::uint32_t& place = places[ids_[i]];
            if (place != kUnset) return i;
            place = static_cast<std::uint32_t>(i);
        }
        return std::nullopt;
    }
    std::string twice(std::uint64_t position, const Dim3& grid) const {
        const std::uint64_t id = ids_[position];
        return fmt::format("thread block {},{},{} appears twice; this is the second time", id % grid.x, id / grid.x % grid.y,
                           id / grid.x / grid.y);
    }

private:
    std::vector<std::uint64_t> ids_;  ///< linear number of every CTA, in file order
    bool in_order_ = true;
};

}  // namespace mergelane::accelsim
