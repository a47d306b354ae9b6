// SPDX-License-Identifier: MIT
#include "parts/dram_address_map.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "core/error.hpp"

namespace mergelane {

namespace {
constexpr std::string_view kSeeMap = "; see 'mergelane describe dram.address_map'";
}

DramAddressMap::DramAddressMap(const std::string& map, std::uint32_t banks, BankHash bank_hash) : bank_hash_(bank_hash) {
    std::uint32_t bits = 0;
    std::uint32_t columns = 0;
    std::uint32_t sectors = 0;
    bool row_seen = false;
    std::optional<std::uint32_t> half_bit;  // of P
    for (auto letter = map.rbegin(); letter != map.rend(); ++letter) {
        if (*letter == '.' || *letter == ' ') continue;
        if (*letter != 'R' && row_seen)
            throw InputError(fmt::format("row bits (R) must be the most significant ones: write the map as R...BC...S{}", kSeeMap));
        switch (*letter) {
            case 'R':
                if (!row_seen) row_shift_ = bits;
                row_seen = true;
                break;
            case 'B':
                if (bank_bits_ == 6) throw InputError(fmt::format("more than 6 bank bits (B){}", kSeeMap));
                bank_bit_[bank_bits_++] = bits;
                break;
            case 'P':
                if (half_bit) throw InputError(fmt::format("more than one pseudo-channel bit (P){}", kSeeMap));
                half_bit = bits;
                break;
            case 'C': ++columns; break;
            case 'S': ++sectors; break;
            default: throw InputError(fmt::format("unknown letter '{}'; use R, B, P, C and S", *letter));
        }
        if (++bits > 48) throw InputError(fmt::format("more than 48 address bits{}", kSeeMap));
    }
    if (!row_seen) throw InputError(fmt::format("no row bit (R){}", kSeeMap));
    if (sectors < 5) throw InputError(fmt::format("needs at least 5 S bits, a 32-byte sector{}", kSeeMap));
    if (half_bit) {
        if (bank_bits_ == 6) throw InputError(fmt::format("more than 6 bits for banks and pseudo-channels (B, P){}", kSeeMap));
        bank_bit_[bank_bits_++] = *half_bit;
    }
    if ((1u << bank_bits_) != banks)
        throw InputError(
            fmt::format("{} bank bits (B, P) make {} banks, but dram.banks is {}{}", bank_bits_, 1u << bank_bits_, banks, kSeeMap));
    if (bank_hash != BankHash::none) of_row_ = IndexHash(bank_hash == BankHash::ipoly ? "ipoly" : "xor_fold", banks);
    row_bytes_ = std::uint64_t{1} << (columns + sectors);
}

}  // namespace mergelane
