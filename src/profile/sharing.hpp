// SPDX-License-Identifier: MIT
// Which memory CTAs have in common, whatever their order.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "profile/access_log.hpp"

namespace mergelane {

/// Touches are counted once per CTA: of lines of 128 bytes, and of sectors of 32.
struct Sharing {
    std::uint64_t cta_lines = 0;  ///< summed over CTAs
    std::uint64_t cta_sectors = 0;
    std::uint64_t lines = 0;  ///< different ones
    std::uint64_t sectors = 0;
    std::uint64_t shared_lines = 0;  ///< that more than one CTA touches
    std::uint64_t shared_sectors = 0;
    std::uint64_t passed_sectors = 0;  ///< that one CTA writes and another one reads
    std::uint64_t along_x = 0;         ///< touches of a line whose last toucher before was a CTA of the same row (y, z)
    std::uint64_t along_y = 0;         ///< of the same column (x, z)

    /// Of all touches by CTAs, those of a line that another one touches or has touched.
    double line_reuse() const { return cta_lines == 0 ? 0 : 1 - static_cast<double>(lines) / static_cast<double>(cta_lines); }
    double sector_reuse() const { return cta_sectors == 0 ? 0 : 1 - static_cast<double>(sectors) / static_cast<double>(cta_sectors); }
    void add(const Sharing& other);
};

Sharing sharing_of(const AccessLog& log);

}  // namespace mergelane
