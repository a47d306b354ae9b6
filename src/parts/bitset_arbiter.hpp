// SPDX-License-Identifier: MIT
// Round-robin choice over any number of requesters held as bit words.
#pragma once

#include <array>
#include <cstdint>

#include "core/bits.hpp"

namespace mergelane {

class BitSet {
public:
    static constexpr std::uint32_t kMaxSize = 1024;

    explicit BitSet(std::uint32_t size = 0) : size_(size), count_(static_cast<std::uint32_t>(divide_up(size, 64))) {}
    void set(std::uint32_t i) { words_[i / 64] |= bit(i % 64); }
    void clear(std::uint32_t i) { words_[i / 64] &= ~bit(i % 64); }
    bool test(std::uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
    bool any() const {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (words_[i] != 0) return true;
        }
        return false;
    }
    std::uint32_t size() const { return size_; }
    std::uint32_t words() const { return count_; }
    std::uint64_t word(std::uint32_t i) const { return words_[i]; }
    std::uint64_t& word(std::uint32_t i) { return words_[i]; }

private:
    std::uint32_t size_;
    std::uint32_t count_;
    std::array<std::uint64_t, kMaxSize / 64> words_{};
};

inline constexpr std::uint32_t kNobody = ~0u;

/// First member of (a and b) at or after `start`, wrapping around; kNobody if there is none.
inline std::uint32_t first_common_from(const BitSet& a, const BitSet& b, std::uint32_t start) {
    const std::uint32_t words = a.words();
    if (words == 1) {
        const std::uint64_t common = a.word(0) & b.word(0);
        const std::uint64_t from_start = common >> start << start;
        return from_start != 0 ? lowest_bit(from_start) : common != 0 ? lowest_bit(common) : kNobody;
    }
    const std::uint32_t first_word = start / 64;
    std::uint64_t mask = ~std::uint64_t{0} << (start % 64);
    for (std::uint32_t i = 0; i <= words; ++i) {
        const std::uint32_t w = first_word + i < words ? first_word + i : first_word + i - words;
        if (i == words) mask = ~mask;
        const std::uint64_t common = a.word(w) & b.word(w) & mask;
        if (common != 0) return w * 64 + lowest_bit(common);
        mask = i + 1 == words ? ~std::uint64_t{0} << (start % 64) : ~std::uint64_t{0};
    }
    return kNobody;
}

}  // namespace mergelane
