// SPDX-License-Identifier: MIT
#include "profile/line_request.hpp"

#include <algorithm>
#include <bit>

#include "core/bits.hpp"

namespace mergelane {

std::span<const LineRequest> LineRequests::split(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes) {
    std::size_t count = 0;
    LineRequest* last = nullptr;
    const auto find = [&](Addr line) -> LineRequest& {
        if (last != nullptr && last->line == line) return *last;
        LineRequest* const end = list_.data() + count;
        last = std::find_if(list_.data(), end, [&](const LineRequest& r) { return r.line == line; });
        if (last == end) {
            *last = {line, 0, 0, false};
            ++count;
        }
        return *last;
    };
    for (std::uint32_t left = active; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Addr first_sector = addresses.of(lane) / kSectorBytes;
        const Addr last_sector = (addresses.of(lane) + lane_bytes - 1) / kSectorBytes;
        constexpr Addr kPerLine = kProfileLineBytes / kSectorBytes;
        const bool torn = first_sector / kPerLine != last_sector / kPerLine;
        // At most 16 bytes: one sector, or two neighbours.
        for (const Addr sector : {first_sector, last_sector}) {
            LineRequest& request = find(sector / kPerLine);
            request.lanes |= 1u << lane;
            request.sectors = static_cast<std::uint8_t>(request.sectors | 1u << sector % kPerLine);
            request.torn = request.torn || torn;
            if (first_sector == last_sector) break;
        }
    }
    return {list_.data(), count};
}

Mapping mapping_of(const LineRequest& request, const LaneAddresses& addresses, std::uint32_t lane_bytes) {
    if (request.torn) return Mapping::other;
    const auto lanes = static_cast<std::uint32_t>(std::popcount(request.lanes));
    if (lanes == 1) return Mapping::single;
    const std::uint32_t unit = std::max(4u, lane_bytes);
    const std::uint32_t first_lane = lowest_bit(request.lanes);
    const Addr first = addresses.of(first_lane);
    if (lane_bytes > 4 && first % unit != 0) return Mapping::other;
    bool same = true;
    bool steps = request.lanes >> first_lane == static_cast<std::uint32_t>(low_bits(lanes));
    for (std::uint32_t left = request.lanes; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Addr word = addresses.of(lane) / unit;
        same = same && word == first / unit;
        steps = steps && word == first / unit + (lane - first_lane);
    }
    if (same) return lane_bytes <= 4 ? Mapping::broadcast : Mapping::other;
    if (!steps) return Mapping::other;
    return lanes == kWarpLanes ? Mapping::consecutive : Mapping::range;
}

}  // namespace mergelane
