// SPDX-License-Identifier: MIT
// What one warp-level access requests from memory: its distinct 128-byte lines, and which lane wants which word of each.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane {

inline constexpr std::uint32_t kProfileLineBytes = 128;

struct LineRequest {
    Addr line = 0;             ///< address / 128
    std::uint32_t lanes = 0;   ///< that access it
    std::uint8_t sectors = 0;  ///< of 32 bytes, a bit each
    bool torn = false;         ///< a lane's access extends into another line
};

/// How lanes map to words of a line (WarpPool's compressed patterns).
enum class Mapping : std::uint8_t {
    consecutive,  ///< lane i, word i, all 32
    broadcast,    ///< several lanes, one word
    single,       ///< one lane
    range,        ///< lanes l.. words w.., in steps of one
    other         ///< needs a table
};
inline constexpr std::array<std::string_view, 5> kMappingNames = {"consecutive", "broadcast", "single", "range", "other"};

class LineRequests {
public:
    /// In the order of the lanes. `addresses` must not hold runs.
    std::span<const LineRequest> split(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes);

private:
    std::array<LineRequest, std::size_t{2} * kWarpLanes> list_;
};

/// Words have 4 bytes; wider accesses are classified in units of their own size, and several lanes on one such unit are `other`.
Mapping mapping_of(const LineRequest& request, const LaneAddresses& addresses, std::uint32_t lane_bytes);

}  // namespace mergelane
