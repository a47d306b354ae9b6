// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

/// The last kernel has one thread per column, and the first thread reads the whole matrix: its time, tens of millions of cycles, bounds
/// the size. Of the large one, only the first three kernels finish within reason.
class Corr final : public Problem {
public:
    Corr(Size size, std::uint64_t seed) : rows_(by_size(size, 72, 2048, 2048)), columns_(by_size(size, 48, 512, 2048)) {
        Rng rng(seed);
        data_ = random_floats(rng, area(rows_, columns_));
    }
    void run(Device& device) override {
        const auto data = device.upload(data_);
        const auto mean = device.alloc<float>(area(1, columns_));
        const auto deviation = device.alloc<float>(area(1, columns_));
        const auto correlation = device.alloc<float>(area(columns_, columns_));
        device.launch("polybench/corr", "corr_mean", grid_1d(columns_), kBlock1d, data, mean, rows_, columns_);
        device.launch("polybench/corr", "corr_deviation", grid_1d(columns_), kBlock1d, data, mean, deviation, rows_, columns_);
        device.launch("polybench/corr", "corr_scale", grid_2d(columns_, rows_), kBlock2d, data, mean, deviation, rows_, columns_);
        device.launch("polybench/corr", "corr_pairs", grid_1d(columns_), kBlock1d, data, correlation, rows_, columns_);
        result_ = device.download(correlation);
    }
    Verdict verify() const override {
        std::vector<double> centred(data_.begin(), data_.end());
        for (int j = 0; j < columns_; ++j) {
            double mean = 0, variance = 0;
            for (int i = 0; i < rows_; ++i) mean += data_[area(i, columns_) + j];
            mean /= rows_;
            for (int i = 0; i < rows_; ++i) {
                double& value = centred[area(i, columns_) + j];
                value -= mean;
                variance += value * value;
            }
            // Random columns never come near the kernel's lower bound for the deviation.
            for (int i = 0; i < rows_; ++i) centred[area(i, columns_) + j] /= std::sqrt(variance);
        }
        std::vector<double> want(area(columns_, columns_));
        for (int i = 0; i < rows_; ++i) {
            const double* row = &centred[area(i, columns_)];
            for (int j = 0; j < columns_; ++j)
                for (int k = 0; k < columns_; ++k) want[area(j, columns_) + k] += row[j] * row[k];
        }
        return compare("correlation", result_, want, 1e-3, 1e-4);
    }

private:
    int rows_, columns_;
    std::vector<float> data_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_corr(Size size, std::uint64_t seed) {
    return std::make_unique<Corr>(size, seed);
}

}  // namespace mergelane::suite
