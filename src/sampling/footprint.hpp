// SPDX-License-Identifier: MIT
// Number of distinct lines, by a sketch whose union is that of the sets (HyperLogLog: Flajolet et al., AofA 2007).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace mergelane::sampling {

class Footprint {
public:
    static constexpr std::uint32_t kRegisters = 512;  ///< standard error 1.04 / sqrt(512) = 4.6 %

    /// `hash`: of the line.
    void add(std::uint64_t hash) {
        std::uint8_t& slot = registers_[hash >> 55];
        const auto rank = static_cast<std::uint8_t>(std::countl_zero(hash << 9 | 256) + 1);
        if (rank > slot) slot = rank;
    }
    void merge(const Footprint& other) {
        for (std::uint32_t i = 0; i < kRegisters; ++i)
            registers_[i] = registers_[i] < other.registers_[i] ? other.registers_[i] : registers_[i];
    }
    std::uint64_t lines() const;
    std::array<std::uint8_t, kRegisters>& registers() { return registers_; }
    bool operator==(const Footprint&) const = default;

private:
    std::array<std::uint8_t, kRegisters> registers_{};
};

}  // namespace mergelane::sampling
