// SPDX-License-Identifier: MIT
#include "dispatch/task_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.hpp"

namespace mergelane {

TaskClusters::Position TaskClusters::of(std::uint64_t task) const {
    // The larger clusters come first. With fewer tasks than clusters, all tasks are in these, so there is no division by zero.
    const std::uint64_t in_larger = larger_ * (least_ + 1);
    if (task < in_larger) return {task % (least_ + 1), static_cast<std::uint32_t>(task / (least_ + 1))};
    return {(task - larger_) % least_, static_cast<std::uint32_t>((task - larger_) / least_)};
}

TaskOrder::TaskOrder(const Dim3& grid, Kind kind, std::uint32_t tile, std::vector<std::uint64_t> table)
    : grid_(grid), kind_(kind), tile_(tile), table_(std::move(table)) {
    if (kind_ != Kind::table) return;
    if (table_.size() != grid.count())
        throw InputError(fmt::format("clustering.table has {} numbers, but the kernel has {} CTAs; list each CTA number once",
                                     table_.size(), grid.count()));
    std::vector<bool> seen(table_.size());
    for (const std::uint64_t cta : table_) {
        if (cta >= seen.size() || seen[cta])
            throw InputError(fmt::format("clustering.table contains {}{}; list each number from 0 to {} once", cta,
                                         cta >= seen.size() ? ", which is not a CTA of the kernel" : " twice", seen.size() - 1));
        seen[cta] = true;
    }
}

std::uint64_t TaskOrder::cta(std::uint64_t place) const {
    if (kind_ == Kind::table) return table_[place];
    if (kind_ == Kind::rows) return place;
    const std::uint64_t plane = std::uint64_t{grid_.x} * grid_.y;
    const std::uint64_t before = place / plane * plane;
    place -= before;
    if (kind_ == Kind::tiles) return before + in_tiles(place);
    if (kind_ == Kind::bands) return before + in_bands(place);
    return before + place % grid_.y * grid_.x + place / grid_.y;
}

/// Tiles in rows of tiles, and CTAs in rows within a tile.
std::uint64_t TaskOrder::in_tiles(std::uint64_t place) const {
    const std::uint64_t top = place / (grid_.x * tile_) * tile_;
    const std::uint64_t height = std::min<std::uint64_t>(tile_, grid_.y - top);
    place -= top * grid_.x;
    const std::uint64_t left = place / (height * tile_) * tile_;
    const std::uint64_t width = std::min<std::uint64_t>(tile_, grid_.x - left);
    place -= left * height;
    return (top + place / width) * grid_.x + left + place % width;
}

/// Each band column by column; matrix-product kernels call this a group of rows.
std::uint64_t TaskOrder::in_bands(std::uint64_t place) const {
    const std::uint64_t top = place / (grid_.x * tile_) * tile_;
    const std::uint64_t height = std::min<std::uint64_t>(tile_, grid_.y - top);
    place -= top * grid_.x;
    return (top + place % height) * grid_.x + place / height;
}

std::vector<std::uint64_t> task_table(std::string_view text) {
    std::vector<std::uint64_t> table;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" ,\t\n"), text.size()));
        if (text.empty()) return table;
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const auto length = static_cast<std::size_t>(end - text.data());
        if (error != std::errc() || (length < text.size() && std::string_view(" ,\t\n").find(text[length]) == std::string_view::npos))
            throw InputError(fmt::format("clustering.table has '{}' where a CTA number is expected; write numbers separated by spaces",
                                         text.substr(0, text.find_first_of(" ,\t\n"))));
        table.push_back(number);
        text.remove_prefix(length);
    }
}

}  // namespace mergelane
