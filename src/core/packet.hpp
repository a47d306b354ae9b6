// SPDX-License-Identifier: MIT
// What travels between stages, by value. Context that only the sender needs (warp, issue time) stays in the sender's transaction table; the
// packet carries the index.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/l2_hint.hpp"
#include "core/types.hpp"

namespace mergelane {

/// Those with ReadFields come first.
enum class PacketKind : std::uint8_t { read, read_reply, write, atomic, write_ack, atomic_reply };

/// 128-bit mask of the bytes of one line.
struct ByteMask {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    void set_range(std::uint32_t first, std::uint32_t count) {
        if (count < 64 && first % 64 + count <= 64) {  // within one 64-bit word
            (first < 64 ? low : high) |= (bit(count) - 1) << first % 64;
            return;
        }
        const std::uint32_t last = first + count;
        if (first < 64) low |= low_bits(last) & ~low_bits(first);
        if (last > 64) high |= low_bits(last - 64) & ~low_bits(first < 64 ? 0 : first - 64);
    }
    void merge(const ByteMask& other) {
        low |= other.low;
        high |= other.high;
    }
    bool empty() const { return (low | high) == 0; }
    /// Bit per 4-byte word that has at least one byte set.
    std::uint32_t touched_words() const {
        const auto of_half = [](std::uint64_t half) {
            half = (half | half >> 1 | half >> 2 | half >> 3) & 0x1111111111111111ull;  // one bit per group of four, then compacted
            half = (half | half >> 3) & 0x0303030303030303ull;
            half = (half | half >> 6) & 0x000F000F000F000Full;
            half = (half | half >> 12) & 0x000000FF000000FFull;
            return static_cast<std::uint32_t>((half | half >> 24) & 0xFFFF);
        };
        return of_half(low) | of_half(high) << 16;
    }
    /// The 32 mask bits of one sector.
    std::uint32_t sector(std::uint32_t index) const {
        const std::uint64_t word = index < 2 ? low : high;
        return static_cast<std::uint32_t>(word >> ((index & 1) * 32));
    }
    /// Bit per sector that has at least one byte set.
    std::uint32_t touched_sectors() const {
        std::uint32_t mask = 0;
        for (std::uint32_t s = 0; s < kMaxLineBytes / kSectorBytes; ++s) mask |= (sector(s) != 0 ? 1u : 0u) << s;
        return mask;
    }
};

class Journey;

/// What a read carries in place of a write's byte mask. The L2 copies it into the reply.
struct ReadFields {
    static constexpr std::uint16_t kOtherSpace = 1;  ///< not global memory
    static constexpr std::uint16_t kBypassesL1 = 2;  ///< must be served by the L2
    static constexpr std::uint16_t kTracked = 4;     ///< a unit on the path waits for the reply

    std::uint16_t flags;
    std::uint16_t tracker;  ///< of a tracked read: the entry that waits for it
    std::uint32_t wanted;   ///< 4-byte words of the line that the lanes requested; 0: not recorded
    Journey* journey;       ///< belongs to the requester, and to whoever holds the request; nullptr: not recorded
};

struct Packet {
    static constexpr std::uint8_t kSmMask = 63;

    Addr address = 0;  ///< first byte of the requested block
    union {
        ByteMask bytes = {};  ///< writes and atomics: bytes written, relative to the line
        ReadFields read;      ///< reads and their replies; zero unless set
    };
    std::uint16_t source = 0;       ///< network port of the requester (its cluster)
    std::uint16_t destination = 0;  ///< network port of the destination: an L2 slice or, for a reply, the source
    std::uint16_t tag = 0;          ///< the requester's transaction
    std::uint8_t sm : 6 = 0;        ///< SM within the cluster
    L2Priority priority : 2 = L2Priority::normal;
    PacketKind kind = PacketKind::read;
};
static_assert(sizeof(Packet) == 32, "packets travel by value and must stay small");

/// Work for a DRAM channel: one block to read, or the dirty sectors of a line to write.
struct DramRequest {
    Addr address = 0;           ///< channel-local byte address of the line
    std::uint32_t sectors = 0;  ///< bit per 32-byte sector of the line
    std::uint16_t tag = 0;      ///< L2 MSHR entry that waits for a read
    std::uint8_t slice = 0;     ///< slice of the channel that sent the request
    bool write = false;
    Journey* journey = nullptr;  ///< of the read that waits for it
};

/// Between dispatcher and SM: start this CTA, and this CTA has finished.
struct CtaMessage {
    static constexpr std::uint32_t kAnySlot = ~0u;

    std::uint64_t cta = 0;
    std::uint32_t slot = kAnySlot;  ///< of the SM; kAnySlot: the first free one
    std::uint16_t cluster = 0;      ///< number of its cluster of CTAs among those of the GPC
    std::uint8_t rank = 0;          ///< within that cluster
    std::uint8_t ranks = 1;         ///< CTAs of that cluster
};

}  // namespace mergelane
