// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kRows = 128, kColumns = 16;  ///< of C per CTA
constexpr float kAlpha = 1.0f, kBeta = 0.5f;

/// Sizes are multiples of what a CTA makes: the kernel has no guards, as the original.
class Sgemm final : public Problem {
public:
    Sgemm(Size size, std::uint64_t seed)
        : rows_(by_size(size, 384, 1024, 1024)), columns_(by_size(size, 80, 992, 992)), inner_(by_size(size, 56, 528, 1056)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(inner_, rows_));
        b_ = random_floats(rng, area(inner_, columns_));
        c_ = random_floats(rng, area(columns_, rows_));
    }
    void run(Device& device) override {
        const Dim3 grid{static_cast<std::uint32_t>(rows_) / kRows, static_cast<std::uint32_t>(columns_) / kColumns, 1};
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        const auto c = device.upload(c_);
        device.launch("parboil/sgemm", "sgemm", grid, {16, 8, 1}, a, b, c, rows_, columns_, inner_, kAlpha, kBeta);
        result_ = device.download(c);
    }
    /// What lies column by column is, row by row, the transposed matrix: C^T = beta C^T + alpha B A^T.
    Verdict verify() const override {
        std::vector<double> want(c_.begin(), c_.end());
        for (double& value : want) value *= kBeta;
        std::vector<float> b_rows(b_.size());
        for (int k = 0; k < inner_; ++k)
            for (int j = 0; j < columns_; ++j) b_rows[area(j, inner_) + k] = b_[area(k, columns_) + j];
        add_product(want, kAlpha, b_rows, a_, columns_, rows_, inner_);
        return compare("C", result_, want, 1e-4, 1e-6);
    }

private:
    int rows_, columns_, inner_;
    std::vector<float> a_, b_, c_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_sgemm(Size size, std::uint64_t seed) {
    return std::make_unique<Sgemm>(size, seed);
}

}  // namespace mergelane::suite
