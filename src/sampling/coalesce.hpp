// SPDX-License-Identifier: MIT
// The 128-byte lines of a warp's access, without what the load/store unit does with them.
#pragma once

#include <array>
#include <bit>

#include "core/bits.hpp"
#include "core/kernel.hpp"

namespace mergelane::sampling {

inline constexpr std::uint32_t kLineBytes = 128;

namespace detail {
inline std::uint32_t sectors_between(Addr first_sector, Addr last_sector, Addr line) {
    const Addr base = line * (kLineBytes / kSectorBytes);
    const auto from = static_cast<std::uint32_t>(first_sector > base ? first_sector - base : 0);
    const auto to = static_cast<std::uint32_t>(last_sector < base + 3 ? last_sector - base : 3);
    return (2u << to) - (1u << from);
}
}  // namespace detail

/// Calls visit(line, sectors) for every line, in the order of its first lane; `sectors` has a bit for each sector of 32 bytes that a lane
/// touches. A line may be visited twice if lanes far from each other share it. `lanes` must not hold runs.
template <class Visit>
void each_line(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes, Visit&& visit) {
    const std::uint32_t first = lowest_bit(active);
    const std::uint32_t count = bit_count(active);
    const std::int64_t stride = lanes.stride;
    if (lanes.affine && stride >= 0 && stride <= static_cast<std::int64_t>(kSectorBytes) &&
        (active >> first) == static_cast<std::uint32_t>(low_bits(count))) {
        // Neighbouring lanes touch the same sector or the next one: all sectors from the first to the last.
        const Addr from = lanes.of(first) / kSectorBytes;
        const Addr to = (lanes.of(first + count - 1) + lane_bytes - 1) / kSectorBytes;
        for (Addr line = from / 4; line <= to / 4; ++line) visit(line, detail::sectors_between(from, to, line));
        return;
    }
    std::array<Addr, 8> recent;
    std::array<std::uint32_t, 8> sectors{};
    std::uint32_t held = 0, oldest = 0;
    const auto add = [&](Addr sector) {
        const Addr line = sector / 4;
        const std::uint32_t bit = 1u << (sector & 3);
        for (std::uint32_t i = held; i-- != 0;) {
            if (recent[i] == line) {
                sectors[i] |= bit;
                return;
            }
        }
        if (held < recent.size()) {
            recent[held] = line;
            sectors[held++] = bit;
            return;
        }
        visit(recent[oldest], sectors[oldest]);
        recent[oldest] = line;
        sectors[oldest] = bit;
        oldest = (oldest + 1) % recent.size();
    };
    for (std::uint32_t left = active; left != 0; left &= left - 1) {
        const Addr address = lanes.of(lowest_bit(left));
        add(address / kSectorBytes);
        if (const Addr last = (address + lane_bytes - 1) / kSectorBytes; last != address / kSectorBytes) add(last);
    }
    for (std::uint32_t i = 0; i < held; ++i) visit(recent[(oldest + i) % held], sectors[(oldest + i) % held]);
}

}  // namespace mergelane::sampling
