// SPDX-License-Identifier: MIT
// Memory that CTAs have in common, independent of their order.
#pragma once

#include <cstdint>

#include "profile/access_log.hpp"
#include "profile/add_counts.hpp"

namespace mergelane {

/// Touches are counted once per CTA: for 128-byte lines, and for 32-byte sectors.
struct Sharing {
    std::uint64_t cta_lines = 0;  ///< summed over CTAs
    std::uint64_t cta_sectors = 0;
    std::uint64_t lines = 0;  ///< distinct
    std::uint64_t sectors = 0;
    std::uint64_t passed_sectors = 0;  ///< written by one CTA and read by another
    std::uint64_t along_x = 0;         ///< touches of a line whose previous accessor was a CTA of the same row (y, z)
    std::uint64_t along_y = 0;         ///< the same for the same column (x, z)
    // Data that more than half of all CTAs touch has no direction: for any order, the running CTAs touch it.
    std::uint64_t common_cta_lines = 0;
    std::uint64_t common_cta_sectors = 0;
    std::uint64_t common_lines = 0;
    std::uint64_t common_sectors = 0;

    /// Share of all touches by CTAs that are to a line that another CTA touches.
    double line_reuse() const { return rest(cta_lines, lines); }
    double sector_reuse() const { return rest(cta_sectors, sectors); }
    /// The same for data that at most half of the CTAs touch.
    double ordered_line_reuse() const { return rest(cta_lines - common_cta_lines, lines - common_lines); }
    double ordered_sector_reuse() const { return rest(cta_sectors - common_cta_sectors, sectors - common_sectors); }
    /// Share of all line touches that are to data that most CTAs touch.
    double common_share() const { return share(common_cta_lines, cta_lines); }
    void add(const Sharing& other) { add_counts(*this, other); }

private:
    static double rest(std::uint64_t touches, std::uint64_t different) { return touches == 0 ? 0 : 1 - share(different, touches); }
};

Sharing sharing_of(const AccessLog& log);

}  // namespace mergelane
