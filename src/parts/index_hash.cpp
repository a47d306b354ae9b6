// SPDX-License-Identifier: MIT
#include "parts/index_hash.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {
// Irreducible polynomials over GF(2) by degree, lowest terms; the leading term is implied.
constexpr std::array<std::uint32_t, 17> kIrreducible = {0,    0x1, 0x3, 0x3,  0x3,  0x5,  0x3, 0x3, 0x1B,
                                                        0x11, 0x9, 0x5, 0x53, 0x1B, 0x2B, 0x3, 0x2D};

/// Remainder of (byte << 8 * place) * x^bits for every byte and place; computed once per size and shared by all caches.
std::shared_ptr<const std::vector<std::uint16_t>> remainder_table(std::uint32_t bits) {
    static std::mutex mutex;
    static std::array<std::shared_ptr<const std::vector<std::uint16_t>>, kIrreducible.size()> made;
    const std::lock_guard lock(mutex);
    if (made[bits] != nullptr) return made[bits];
    const auto mask = static_cast<std::uint32_t>(low_bits(bits));
    std::vector<std::uint16_t> table(8 * 256, 0);
    std::uint32_t power = 1;  // x^k modulo the polynomial
    for (std::uint32_t k = 0; k < 64 + bits; ++k) {
        if (k >= bits) {
            const std::uint32_t place = (k - bits) / 8;
            const std::uint32_t bit_in_byte = (k - bits) % 8;
            for (std::uint32_t byte = 0; byte < 256; ++byte) {
                if ((byte >> bit_in_byte & 1) != 0)
                    table[place * 256 + byte] = static_cast<std::uint16_t>(table[place * 256 + byte] ^ power);
            }
        }
        const bool carry = (power >> (bits - 1) & 1) != 0;
        power = (power << 1) & mask;
        if (carry) power ^= kIrreducible[bits] & mask;
    }
    return made[bits] = std::make_shared<const std::vector<std::uint16_t>>(std::move(table));
}

}  // namespace

bool IndexHash::suits(std::string_view kind, std::uint32_t sets, std::uint32_t line_bytes, std::uint32_t partitions) {
    return kind != "fermi" || (line_bytes == 128 && partitions == 1 && (sets == 32 || sets == 64));
}

IndexHash::IndexHash(std::string_view kind, std::uint32_t count) : count_(count) {
    const std::vector<std::string_view> known = all_names();
    const auto found = std::find(known.begin(), known.end(), kind);
    if (found == known.end())
        throw InputError("unknown index hash '" + std::string(kind) + "'; known: plain, xor_fold, ipoly, fermi, ipoly_modulo");
    kind_ = static_cast<Kind>(found - known.begin());
    if (kind_ == Kind::fermi && count != 32 && count != 64)
        throw InputError("the index hash 'fermi' is for 32 or 64 sets, not for " + std::to_string(count) + "; use xor_fold");
    if (count > 65536) throw InputError("at most 65536 sets or slices are supported");
    shift_ = is_power_of_two(count) ? index_bits(count) : kNoShift;
    bits_ = count > 1 ? index_bits(count) : 1;
    mask_ = static_cast<std::uint32_t>(low_bits(bits_));
    reciprocal_ = ~std::uint64_t{0} / count + 1;
    if (kind_ == Kind::ipoly_modulo && shift_ != kNoShift) kind_ = Kind::ipoly;  // a single group
    if (kind_ == Kind::ipoly_modulo) {
        for (groups_ = count; groups_ % 2 == 0; groups_ /= 2) ++group_bits_;
        mask_ = static_cast<std::uint32_t>(low_bits(group_bits_));
        table_ = group_bits_ == 0 ? nullptr : remainder_table(group_bits_);
        remainders_ = table_ == nullptr ? nullptr : table_->data();
        rotations_ = remainder_table(kRotationBits);
    }
    if (kind_ == Kind::ipoly) {
        if (bits_ >= kIrreducible.size()) throw InputError("ipoly hashing supports at most 65536 indices; use xor_fold");
        table_ = remainder_table(bits_);
        remainders_ = table_->data();
    }
}

}  // namespace mergelane
