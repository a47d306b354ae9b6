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
    // What more than half of all CTAs touch has no direction: whatever the order, those who run touch it.
    std::uint64_t common_cta_lines = 0;
    std::uint64_t common_cta_sectors = 0;
    std::uint64_t common_lines = 0;
    std::uint64_t common_sectors = 0;

    /// Of all touches by CTAs, those of a line that another one touches or has touched.
    double line_reuse() const { return rest(cta_lines, lines); }
    double sector_reuse() const { return rest(cta_sectors, sectors); }
    /// The same of what at most half of the CTAs touch.
    double ordered_line_reuse() const { return rest(cta_lines - common_cta_lines, lines - common_lines); }
    double ordered_sector_reuse() const { return rest(cta_sectors - common_cta_sectors, sectors - common_sectors); }
    /// Of all touches of lines, those of what most CTAs touch.
    double common_share() const { return cta_lines == 0 ? 0 : static_cast<double>(common_cta_lines) / static_cast<double>(cta_lines); }
    void add(const Sharing& other);

private:
    static double rest(std::uint64_t touches, std::uint64_t different) {
        return touches == 0 ? 0 : 1 - static_cast<double>(different) / static_cast<double>(touches);
    }
};

Sharing sharing_of(const AccessLog& log);

}  // namespace mergelane
