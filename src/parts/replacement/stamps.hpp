// SPDX-License-Identifier: MIT
// Policies that order the lines of a set by a stamp: the smallest one leaves.
#pragma once

#include <vector>

#include "parts/replacement.hpp"

namespace mergelane {

class StampOrder : public Replacement {
public:
    explicit StampOrder(std::uint32_t lines) : stamps_(lines, 0) {}

    std::uint32_t victim(std::uint32_t first, std::uint32_t ways, const std::uint8_t* locked) override {
        std::uint32_t best = kNoSlot;
        std::uint64_t best_stamp = ~std::uint64_t{0};
        for (std::uint32_t line = first; line < first + ways; ++line) {
            if (locked[line] == 0 && stamps_[line] < best_stamp) {
                best = line;
                best_stamp = stamps_[line];
            }
        }
        return best;
    }

protected:
    void renew(std::uint32_t line) { stamps_[line] = ++clock_; }

private:
    std::vector<std::uint64_t> stamps_;
    std::uint64_t clock_ = 0;
};

}  // namespace mergelane
