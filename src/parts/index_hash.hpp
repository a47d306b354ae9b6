// SPDX-License-Identifier: MIT
// Distributes blocks over slices or sets. With q = block / n and r = block mod n, every hash maps (q, r) to an index such that, for a fixed
// q, different r give different indices. q is then a collision-free address within the index.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/types.hpp"

namespace mergelane {

class IndexHash {
public:
    enum class Kind { plain, xor_fold, ipoly, fermi, ipoly_modulo };  ///< in the order of all_names()

    IndexHash() = default;
    IndexHash(std::string_view kind, std::uint32_t count);

    struct Place {
        std::uint32_t index;
        std::uint64_t rest;  ///< q: the remaining block number
    };
    Place place(std::uint64_t block) const {
        const std::uint64_t q = shift_ != kNoShift ? block >> shift_ : divide(block);
        const auto r = static_cast<std::uint32_t>(shift_ != kNoShift ? block & (count_ - 1) : block - q * count_);
        if (kind_ == Kind::plain || count_ == 1) return {r, q};
        if (kind_ == Kind::ipoly_modulo) return {in_group(r, q), q};
        const std::uint32_t h = hashed(q);
        if (shift_ != kNoShift) return {r ^ h, q};
        // Not a power of two: rotate instead of XOR, still one to one. Both r and h are below 2 * count.
        std::uint32_t rotated = r + (h >= count_ ? h - count_ : h);
        if (rotated >= count_) rotated -= count_;
        return {rotated, q};
    }
    std::uint64_t rest(std::uint64_t block) const { return shift_ != kNoShift ? block >> shift_ : divide(block); }
    /// Whether place() XORs something into the low bits of a block; otherwise it rotates or changes nothing.
    bool adds_bits() const { return kind_ != Kind::plain && count_ != 1 && shift_ != kNoShift; }
    /// What place() XORs into the low bits of a block with this `rest`; 0 if it rotates or changes nothing.
    std::uint32_t added_bits(std::uint64_t rest) const { return adds_bits() ? hashed(rest) : 0; }
    std::uint32_t index(std::uint64_t block) const { return place(block).index; }
    std::uint32_t count() const { return count_; }

    static std::vector<std::string_view> names() { return {"plain", "xor_fold", "ipoly"}; }
    /// For sets of lines. `fermi` is defined for 32 or 64 sets of 128-byte lines.
    static std::vector<std::string_view> names_for_sets() { return {"plain", "xor_fold", "ipoly", "fermi"}; }
    /// For slices, whose number need not be a power of two.
    static std::vector<std::string_view> names_for_slices() { return {"plain", "xor_fold", "ipoly", "ipoly_modulo"}; }
    /// Whether a cache of this shape can have it.
    static bool suits(std::string_view kind, std::uint32_t sets, std::uint32_t line_bytes, std::uint32_t partitions);

private:
    static std::vector<std::string_view> all_names() { return {"plain", "xor_fold", "ipoly", "fermi", "ipoly_modulo"}; }
    static constexpr std::uint32_t kNoShift = ~0u;
    static constexpr std::uint32_t kRotationBits = 12;

    /// block / count by multiplication; exact below 2^48 because count is below 2^16.
    std::uint64_t divide(std::uint64_t block) const {
        if (block >> 48 != 0) return block / count_;
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>(block) * reciprocal_) >> 64);
    }
    std::uint32_t hashed(std::uint64_t q) const {
        return kind_ == Kind::xor_fold ? fold(q) : kind_ == Kind::ipoly ? remainder(q) : fermi(q);
    }
    /// Nugteren et al., HPCA 2014: address bits 13, 14, 15, 17 and 19 are XORed into the five lowest bits of the line number; bit 12
    /// is not hashed.
    std::uint32_t fermi(std::uint64_t q) const {
        const auto above_12 = static_cast<std::uint32_t>(q >> (6 - bits_));
        return (above_12 & 7) | (above_12 >> 1 & 8) | (above_12 >> 2 & 16);
    }
    std::uint32_t fold(std::uint64_t q) const {
        std::uint32_t h = 0;
        for (; q != 0; q >>= bits_) h ^= static_cast<std::uint32_t>(q) & mask_;
        return h;
    }
    /// q * x^bits modulo an irreducible polynomial over GF(2) (pseudo-random interleaving after Rau).
    std::uint32_t remainder(std::uint64_t q) const { return remainder(q, remainders_); }
    static std::uint32_t remainder(std::uint64_t q, const std::uint16_t* byte) {
        std::uint32_t h = 0;
        for (; q != 0; q >>= 8, byte += 256) h ^= byte[q & 255];
        return h;
    }
    /// groups_ groups (an odd number) of 1 << group_bits_ indices: ipoly within the group, and the number of the group rotated. Without the
    /// rotation, every stride that is a multiple of count() would stay in one group.
    std::uint32_t in_group(std::uint32_t r, std::uint64_t q) const {
        const std::uint32_t low = (r & mask_) ^ (group_bits_ == 0 ? 0 : remainder(q));
        std::uint32_t group = (r >> group_bits_) + (remainder(q, rotations_->data()) * groups_ >> kRotationBits);
        if (group >= groups_) group -= groups_;
        return group << group_bits_ | low;
    }

    Kind kind_ = Kind::plain;
    std::uint32_t count_ = 1;
    std::uint32_t shift_ = 0;
    std::uint32_t bits_ = 1;
    std::uint32_t mask_ = 0;
    std::uint32_t group_bits_ = 0;
    std::uint32_t groups_ = 1;
    std::uint64_t reciprocal_ = 0;
    const std::uint16_t* remainders_ = nullptr;  ///< of every byte at every position
    std::shared_ptr<const std::vector<std::uint16_t>> table_, rotations_;
};

}  // namespace mergelane
