// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr int kBand = 256;  ///< four elements in five lie this near to the diagonal
constexpr int kGroup = 32;  ///< rows that share a length
constexpr int kShortest = 8, kLongest = 24;

class Spmv final : public Problem {
public:
    Spmv(Size size, std::uint64_t seed) : rows_(by_size(size, 1000, 491520, 1048576)) {
        Rng rng(seed);
        const auto bound = static_cast<std::uint32_t>(rows_);
        lengths_.resize(bound);
        for (int& length : lengths_) length = kShortest + static_cast<int>(rng.below(kLongest - kShortest + 1));
        // Jagged diagonals: longest rows first.
        permutation_.resize(bound);
        std::iota(permutation_.begin(), permutation_.end(), 0);
        std::stable_sort(permutation_.begin(), permutation_.end(), [&](int a, int b) { return lengths_[a] > lengths_[b]; });
        for (int row = 0; row < rows_; row += kGroup) group_length_.push_back(lengths_[permutation_[row]]);
        diagonal_start_.assign(1, 0);
        for (int k = 0; k < kLongest; ++k) {
            const auto groups = std::count_if(group_length_.begin(), group_length_.end(), [&](int length) { return length > k; });
            diagonal_start_.push_back(diagonal_start_.back() + static_cast<int>(groups) * kGroup);
        }
        values_.assign(static_cast<std::size_t>(diagonal_start_.back()), 0.0f);
        columns_.assign(values_.size(), 0);
        for (int position = 0; position < rows_; ++position) {
            const int row = permutation_[position];
            for (int k = 0; k < lengths_[row]; ++k) {
                const bool near = rng.below(5) != 0;
                const int offset = static_cast<int>(rng.below(2 * kBand + 1)) - kBand;
                const int column = near ? std::clamp(row + offset, 0, rows_ - 1) : static_cast<int>(rng.below(bound));
                columns_[diagonal_start_[k] + position] = column;
                values_[diagonal_start_[k] + position] = static_cast<float>(1 + rng.below(255)) / 256.0f;
            }
        }
        x_ = random_floats(rng, bound);
    }

    void run(Device& device) override {
        const Dim3 block{256, 1, 1};
        const auto values = device.upload(values_);
        const auto columns = device.upload(columns_);
        const auto permutation = device.upload(permutation_);
        const auto x = device.upload(x_);
        const auto diagonal_start = device.upload(diagonal_start_);
        const auto group_length = device.upload(group_length_);
        const auto y = device.alloc<float>(x_.size());
        device.launch("parboil/spmv", "spmv_jds", {ceil_div(static_cast<std::uint32_t>(rows_), block.x), 1, 1}, block, y, values, columns,
                      permutation, x, rows_, diagonal_start, group_length);
        result_ = device.download(y);
    }

    Verdict verify() const override {
        std::vector<double> want(x_.size());
        for (int position = 0; position < rows_; ++position) {
            const int row = permutation_[position];
            for (int k = 0; k < lengths_[row]; ++k) {
                const std::size_t j = static_cast<std::size_t>(diagonal_start_[k]) + position;
                want[row] += static_cast<double>(values_[j]) * x_[columns_[j]];
            }
        }
        return compare("y", result_, want, 1e-5, 1e-6);
    }

private:
    int rows_;
    std::vector<int> lengths_, permutation_, group_length_, diagonal_start_, columns_;
    std::vector<float> values_, x_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_spmv(Size size, std::uint64_t seed) {
    return std::make_unique<Spmv>(size, seed);
}

}  // namespace mergelane::suite
