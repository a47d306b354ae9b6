// SPDX-License-Identifier: MIT
// Round-robin arbitration over any number of requesters, represented as bit words.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bits.hpp"

namespace mergelane {

/// Sets of equal size stored contiguously, so that those of a small machine share few cache lines.
class BitSets {
public:
    BitSets() = default;
    BitSets(std::uint32_t sets, std::uint32_t size)
        : words_(static_cast<std::uint32_t>(divide_up(size, 64))), bits_(std::size_t{sets} * words_, 0) {}

    std::uint64_t* operator[](std::uint32_t set) { return &bits_[std::size_t{set} * words_]; }
    const std::uint64_t* operator[](std::uint32_t set) const { return &bits_[std::size_t{set} * words_]; }
    /// Words per set.
    std::uint32_t words() const { return words_; }
    void set(std::uint32_t set, std::uint32_t i) { (*this)[set][i / 64] |= bit(i % 64); }
    void clear(std::uint32_t set, std::uint32_t i) { (*this)[set][i / 64] &= ~bit(i % 64); }
    bool any(std::uint32_t set) const {
        std::uint64_t all = 0;
        for (std::uint32_t w = 0; w < words_; ++w) all |= (*this)[set][w];
        return all != 0;
    }

private:
    std::uint32_t words_ = 0;
    std::vector<std::uint64_t> bits_;
};

class BitSet {
public:
    explicit BitSet(std::uint32_t size = 0) : bits_(1, size) {}
    void set(std::uint32_t i) { bits_.set(0, i); }
    void clear(std::uint32_t i) { bits_.clear(0, i); }
    bool test(std::uint32_t i) const { return (word(i / 64) >> (i % 64) & 1) != 0; }
    bool any() const { return bits_.any(0); }
    std::uint32_t words() const { return bits_.words(); }
    std::uint64_t word(std::uint32_t i) const { return bits_[0][i]; }
    std::uint64_t& word(std::uint32_t i) { return bits_[0][i]; }
    const std::uint64_t* data() const { return bits_[0]; }

private:
    BitSets bits_;
};

/// Calls `visit` for every member; it may remove members.
template <class Visit>
inline void for_each(const BitSet& set, Visit&& visit) {
    for (std::uint32_t w = 0; w < set.words(); ++w) {
        for (std::uint64_t members = set.word(w); members != 0; members &= members - 1) visit(w * 64 + lowest_bit(members));
    }
}

/// The first member of a small, non-empty set at or after `start`, wrapping around.
inline std::uint32_t in_turn(std::uint64_t members, std::uint32_t start) {
    const std::uint64_t later = members >> start << start;
    return lowest_bit(later != 0 ? later : members);
}

inline constexpr std::uint32_t kNobody = ~0u;

/// First member of (a and not b) at or after `start`, wrapping around; kNobody if there is none.
inline std::uint32_t first_allowed_from(const std::uint64_t* a, const std::uint64_t* not_b, std::uint32_t words, std::uint32_t start) {
    const std::uint32_t first_word = start / 64;
    std::uint64_t allowed = a[first_word] & ~not_b[first_word];
    const std::uint64_t from_start = allowed >> start % 64 << start % 64;
    if (from_start != 0) return first_word * 64 + lowest_bit(from_start);
    for (std::uint32_t i = 1; i < words; ++i) {
        const std::uint32_t w = first_word + i < words ? first_word + i : first_word + i - words;
        const std::uint64_t further = a[w] & ~not_b[w];
        if (further != 0) return w * 64 + lowest_bit(further);
    }
    return allowed != 0 ? first_word * 64 + lowest_bit(allowed) : kNobody;
}

}  // namespace mergelane
