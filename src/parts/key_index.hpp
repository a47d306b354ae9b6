// SPDX-License-Identifier: MIT
// Finds a 64-bit key among up to a few hundred slots: compares one-byte fingerprints sixteen at a time, then the full key. Exact. Used for
// the tags of a set and for MSHR files.
#pragma once

#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/bits.hpp"

namespace mergelane {

inline constexpr std::uint32_t kNoSlot = ~0u;

inline std::uint8_t fingerprint(std::uint64_t key) {
    return static_cast<std::uint8_t>((key * 0x9E3779B97F4A7C15ull) >> 56);
}

/// Bit mask of the sixteen fingerprints starting at `prints` that match `key`.
inline std::uint32_t equal_prints(const std::uint8_t* prints, std::uint64_t key) {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(fingerprint(key)));
    const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(prints));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(chunk, wanted)));
#else
    std::uint32_t equal = 0;
    for (std::uint32_t i = 0; i < 16; ++i) equal |= (prints[i] == fingerprint(key) ? 1u : 0u) << i;
    return equal;
#endif
}

/// `prints` must extend to a multiple of 16 entries past the last used one.
inline std::uint32_t find_key(const std::uint64_t* keys, const std::uint8_t* prints, std::uint32_t count, std::uint64_t key) {
    if (count <= 8) {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (keys[i] == key) return i;
        }
        return kNoSlot;
    }
    for (std::uint32_t base = 0; base < count; base += 16) {
        for (std::uint32_t hits = equal_prints(prints + base, key); hits != 0; hits &= hits - 1) {
            const std::uint32_t i = base + lowest_bit(hits);
            if (i < count && keys[i] == key) return i;
        }
    }
    return kNoSlot;
}

}  // namespace mergelane
