// SPDX-License-Identifier: MIT
// Maps an address inside a DRAM channel to bank and row.
#pragma once

#include <string>

#include "core/types.hpp"
#include "parts/index_hash.hpp"

namespace mergelane {

/// Location of a channel-local address. The map names address bits from the most significant down: R row (including all higher bits), B
/// bank, P pseudo-channel (the highest bit of the bank), C column, S offset inside a sector.
class DramAddressMap {
public:
    /// What the bank is XORed with: the low bits of the row, as many as a bank has; all bits of the row, folded; or the row by a
    /// polynomial.
    enum class BankHash : std::uint8_t { low_bits, xor_fold, ipoly, none };

    struct Place {
        std::uint32_t bank;
        std::uint64_t row;
    };

    DramAddressMap() = default;
    /// Throws InputError if the map does not fit `banks`.
    DramAddressMap(const std::string& map, std::uint32_t banks, BankHash bank_hash);

    Place place(Addr address) const {
        std::uint32_t bank = 0;
        for (std::uint32_t k = 0; k < bank_bits_; ++k) bank |= static_cast<std::uint32_t>(address >> bank_bit_[k] & 1) << k;
        const std::uint64_t row = address >> row_shift_;
        if (bank_hash_ == BankHash::low_bits)
            bank ^= static_cast<std::uint32_t>(row) & ((1u << bank_bits_) - 1);
        else if (bank_hash_ != BankHash::none)
            bank ^= of_row_.added_bits(row);
        return {bank, row};
    }
    std::uint64_t row_bytes() const { return row_bytes_; }

private:
    std::uint32_t bank_bits_ = 0;
    std::uint32_t bank_bit_[8] = {};
    std::uint32_t row_shift_ = 0;
    std::uint64_t row_bytes_ = 0;
    BankHash bank_hash_ = BankHash::none;
    IndexHash of_row_;
};

}  // namespace mergelane
