// SPDX-License-Identifier: MIT
// Converts the lane addresses of a warp instruction to the blocks it touches, and computes shared-memory bank conflicts.
#pragma once

#include <array>

#include "core/kernel.hpp"
#include "core/packet.hpp"

namespace mergelane {

/// The requests of one warp instruction in first-touch lane order.
struct BlockList {
    static constexpr std::uint32_t kMax = 2 * kWarpLanes;  ///< every lane may straddle two blocks

    std::uint32_t count = 0;
    std::array<Addr, kMax> block;      ///< first byte of the block
    std::array<ByteMask, kMax> bytes;  ///< stores and atomics: bytes written, relative to the line
};

/// One request per block of `block_bytes` touched by the active lanes. Byte masks are relative to the enclosing line of `line_bytes` and
/// are computed only if `want_bytes`.
void coalesce(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t block_bytes,
              std::uint32_t line_bytes, bool want_bytes, BlockList& out);

/// Like coalesce, but lanes with the same address go into successive rounds that share no request.
void coalesce_atomic(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t block_bytes,
                     std::uint32_t line_bytes, BlockList& out);

/// Cycles for which a shared-memory access occupies the banks: the largest number of different words accessed in one bank.
std::uint32_t bank_conflict_degree(const LaneAddresses& addresses, std::uint32_t active, std::uint32_t lane_bytes, std::uint32_t banks);

}  // namespace mergelane
