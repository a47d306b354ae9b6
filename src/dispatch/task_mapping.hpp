// SPDX-License-Identifier: MIT
// Which CTAs of a kernel belong together: an order of the grid, cut into one CTA cluster per SM.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// Distributes tasks over clusters as evenly as possible: the first (tasks mod clusters) have one more than the others.
class TaskClusters {
public:
    struct Position {
        std::uint64_t within = 0;
        std::uint32_t cluster = 0;
        bool operator==(const Position&) const = default;
    };

    TaskClusters(std::uint64_t tasks, std::uint32_t clusters)
        : clusters_(clusters), least_(tasks / clusters), larger_(static_cast<std::uint32_t>(tasks % clusters)) {}

    std::uint64_t size(std::uint32_t cluster) const { return least_ + (cluster < larger_ ? 1 : 0); }
    std::uint64_t first(std::uint32_t cluster) const { return cluster * least_ + (cluster < larger_ ? cluster : larger_); }

    Position of(std::uint64_t task) const;
    std::uint64_t task(const Position& position) const { return first(position.cluster) + position.within; }
    /// The task of CTA `cta` of a kernel with the same number of CTAs, under round-robin dispatch.
    Position dealt(std::uint64_t cta) const { return {cta / clusters_, static_cast<std::uint32_t>(cta % clusters_)}; }

private:
    std::uint32_t clusters_;
    std::uint64_t least_;   ///< tasks of the smaller clusters
    std::uint32_t larger_;  ///< clusters that have one more
};

/// The numbering of the CTAs of a grid. Planes of z follow each other; CTA numbers are x + grid.x * (y + grid.y * z).
class TaskOrder {
public:
    enum class Kind : std::uint8_t { rows, columns, tiles, bands, table };

    /// `tile`: side of a tile in CTAs, or rows of a band; those at the edges are smaller. `table`: the numbers of the CTAs in order. Throws
    /// InputError if the table is not a permutation of this grid.
    TaskOrder(const Dim3& grid, Kind kind, std::uint32_t tile = 1, std::vector<std::uint64_t> table = {});

    /// The CTA at position `place`.
    std::uint64_t cta(std::uint64_t place) const;
    std::uint64_t ctas() const { return grid_.count(); }

private:
    std::uint64_t in_tiles(std::uint64_t place) const;
    std::uint64_t in_bands(std::uint64_t place) const;

    Dim3 grid_;
    Kind kind_;
    std::uint64_t tile_;
    std::vector<std::uint64_t> table_;
};

/// Numbers separated by spaces or commas. Throws InputError.
std::vector<std::uint64_t> task_table(std::string_view text);

}  // namespace mergelane
