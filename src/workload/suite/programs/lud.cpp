// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kBlock = 16;

class Lud final : public Problem {
public:
    /// The smallest one starts with the 6x6 CTAs whose sharing pattern the intra-cluster coalescing paper describes.
    Lud(Size size, std::uint64_t seed) : n_(by_size(size, 112, 512, 1024)) {
        Rng rng(seed);
        matrix_ = random_floats(rng, static_cast<std::size_t>(n_) * n_);
        // Diagonally dominant: no pivoting needed.
        for (int i = 0; i < n_; ++i) matrix_[at(i, i)] += static_cast<float>(n_);
    }

    void run(Device& device) override {
        const auto matrix = device.upload(matrix_);
        const std::uint32_t blocks = static_cast<std::uint32_t>(n_) / kBlock;
        for (std::uint32_t step = 0; step < blocks; ++step) {
            const int offset = static_cast<int>(step * kBlock);
            const std::uint32_t rest = blocks - step - 1;
            device.launch("rodinia/lud", "lud_diagonal", {1, 1, 1}, {kBlock, 1, 1}, matrix, n_, offset);
            if (rest == 0) break;
            device.launch("rodinia/lud", "lud_perimeter", {rest, 1, 1}, {2 * kBlock, 1, 1}, matrix, n_, offset);
            device.launch("rodinia/lud", "lud_internal", {rest, rest, 1}, {kBlock, kBlock, 1}, matrix, n_, offset);
        }
        result_ = device.download(matrix);
    }

    Verdict verify() const override {
        std::vector<double> lu(matrix_.begin(), matrix_.end());
        for (int pivot = 0; pivot < n_; ++pivot) {
            for (int row = pivot + 1; row < n_; ++row) {
                const double factor = lu[at(row, pivot)] /= lu[at(pivot, pivot)];
                for (int column = pivot + 1; column < n_; ++column) lu[at(row, column)] -= factor * lu[at(pivot, column)];
            }
        }
        return compare("LU", result_, lu, 1e-3, 1e-5);
    }

private:
    std::size_t at(int row, int column) const { return static_cast<std::size_t>(row) * n_ + column; }

    int n_;
    std::vector<float> matrix_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_lud(Size size, std::uint64_t seed) {
    return std::make_unique<Lud>(size, seed);
}

}  // namespace mergelane::suite
