// SPDX-License-Identifier: MIT
// What a bulk copy transfers (ADR 0048), as the values of its instruction: rows of consecutive bytes in global memory, without what lies
// outside of the tensor.
#pragma once

#include <array>
#include <cstdint>

#include "core/kernel.hpp"

namespace mergelane {

struct BulkBox {
    static constexpr std::uint32_t kDimensions = 4;  ///< besides that of the bytes of a row
    static constexpr std::uint32_t kMostValues = 5 + 2 * kDimensions;

    Addr barrier = 0;          ///< mbarrier that counts its end
    std::uint64_t ranks = 0;   ///< bit per CTA of the cluster that receives it; 0: the one of the mbarrier
    Addr first = 0;            ///< byte of the first row
    std::uint64_t row = 0;     ///< bytes; 0: nothing is in global memory
    std::uint64_t shared = 0;  ///< bytes in shared memory, including what is filled in
    std::array<std::uint64_t, kDimensions> count = {1, 1, 1, 1};  ///< rows
    std::array<std::uint64_t, kDimensions> stride{};              ///< bytes between them

    /// Writes up to kMostValues values; returns their number.
    std::uint32_t put(Addr* to) const {
        std::uint32_t n = 0;
        for (const std::uint64_t value : {barrier, ranks, first, row, shared}) to[n++] = value;
        for (std::uint32_t d = 0; d < kDimensions; ++d) {
            if (count[d] == 1) continue;
            to[n++] = count[d];
            to[n++] = stride[d];
        }
        return n;
    }
    static BulkBox of(const LaneAddresses& values) {
        BulkBox box;
        const auto value = [&](std::uint32_t n) { return n < values.values ? values.lane[n] : 0; };
        box.barrier = value(0);
        box.ranks = value(1);
        box.first = value(2);
        box.row = value(3);
        box.shared = value(4);
        for (std::uint32_t d = 0; d < kDimensions && 6 + 2 * d < values.values; ++d) {
            box.count[d] = value(5 + 2 * d);
            box.stride[d] = value(6 + 2 * d);
        }
        return box;
    }
};

/// The blocks of a box, row by row. A block that ends one row and begins the next one appears once.
class BulkBlocks {
public:
    BulkBlocks() = default;
    BulkBlocks(const BulkBox& box, std::uint32_t block_bytes) : box_(box), bytes_(block_bytes) {
        done_ = box.row == 0;
        for (const std::uint64_t count : box.count) done_ = done_ || count == 0;
        if (!done_) begin_row();
    }
    bool done() const { return done_; }
    Addr block() const { return block_; }
    /// The bytes of the block that belong to its row.
    void bytes(std::uint32_t& first, std::uint32_t& count) const {
        const Addr begin = block_ > row_ ? block_ : row_;
        const Addr end = block_ + bytes_ < row_ + box_.row ? block_ + bytes_ : row_ + box_.row;
        first = static_cast<std::uint32_t>(begin - block_);
        count = static_cast<std::uint32_t>(end - begin);
    }
    void next() {
        const Addr last = block_;
        block_ += bytes_;
        while (!done_ && (block_ >= row_ + box_.row || block_ == last)) {
            if (block_ == last && block_ + bytes_ < row_ + box_.row) {
                block_ += bytes_;
                continue;
            }
            next_row();
        }
    }

private:
    void begin_row() {
        row_ = box_.first;
        for (std::uint32_t d = 0; d < BulkBox::kDimensions; ++d) row_ += at_[d] * box_.stride[d];
        block_ = row_ / bytes_ * bytes_;
    }
    void next_row() {
        std::uint32_t d = 0;
        while (d < BulkBox::kDimensions && ++at_[d] == box_.count[d]) at_[d++] = 0;
        done_ = d == BulkBox::kDimensions;
        if (!done_) begin_row();
    }

    BulkBox box_;
    Addr bytes_ = 32;
    std::array<std::uint64_t, BulkBox::kDimensions> at_{};
    Addr row_ = 0;
    Addr block_ = 0;
    bool done_ = true;
};

}  // namespace mergelane
