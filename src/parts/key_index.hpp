// SPDX-License-Identifier: MIT
// Finds a 64-bit key among a few to a few hundred slots: one-byte fingerprints are compared sixteen at a time,
// then the full key. Exact; used for the tags of a set and for MSHR files.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/bits.hpp"

namespace mergelane {

inline constexpr std::uint32_t kNoSlot = ~0u;

inline std::uint8_t fingerprint(std::uint64_t key) {
    return static_cast<std::uint8_t>((key * 0x9E3779B97F4A7C15ull) >> 56);
}

/// `prints` must have room for a multiple of 16 entries past the last used one.
inline std::uint32_t find_key(const std::uint64_t* keys, const std::uint8_t* prints, std::uint32_t count, std::uint64_t key) {
    if (count <= 8) {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (keys[i] == key) return i;
        }
        return kNoSlot;
    }
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(fingerprint(key)));
    for (std::uint32_t base = 0; base < count; base += 16) {
        const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(prints + base));
        auto hits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(chunk, wanted)));
        for (; hits != 0; hits &= hits - 1) {
            const std::uint32_t i = base + lowest_bit(hits);
            if (i < count && keys[i] == key) return i;
        }
    }
#else
    const std::uint8_t wanted = fingerprint(key);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (prints[i] == wanted && keys[i] == key) return i;
    }
#endif
    return kNoSlot;
}

}  // namespace mergelane
