// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>

#include "core/packet.hpp"

namespace mergelane {

/// The length of a packet in bytes and in flits.
struct PacketSizes {
    std::uint32_t flit_bytes = 32;
    std::uint32_t header_bytes = 8;
    std::uint32_t block_bytes = 128;  ///< payload of a read reply

    std::uint32_t bytes(const Packet& packet) const {
        switch (packet.kind) {
            case PacketKind::read:
            case PacketKind::write_ack: return header_bytes;
            case PacketKind::read_reply: return header_bytes + block_bytes;
            case PacketKind::write:
            case PacketKind::atomic:
            case PacketKind::atomic_reply:
                return header_bytes + kSectorBytes * static_cast<std::uint32_t>(std::popcount(packet.bytes.touched_sectors()));
        }
        return header_bytes;
    }
    /// At least one flit, even without a header: a packet without a size would bypass flow control.
    std::uint32_t flits(const Packet& packet) const { return std::max(1u, (bytes(packet) + flit_bytes - 1) / flit_bytes); }
    /// Longest packet of any kind.
    std::uint32_t max_flits() const { return (header_bytes + kMaxLineBytes + flit_bytes - 1) / flit_bytes; }
};

}  // namespace mergelane
