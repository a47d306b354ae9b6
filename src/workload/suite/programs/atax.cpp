// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Atax final : public Problem {
public:
    Atax(Size size, std::uint64_t seed) : rows_(by_size(size, 300, 4096, 8192)), columns_(by_size(size, 270, 4096, 8192)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, columns_));
        x_ = random_floats(rng, area(1, columns_));
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto product = device.zeros<float>(area(1, rows_));
        const auto y = device.zeros<float>(area(1, columns_));
        const auto x = device.upload(x_);
        device.launch("polybench/atax", "atax_rows", grid_1d(rows_), kBlock1d, a, x, product, rows_, columns_);
        device.launch("polybench/atax", "atax_columns", grid_1d(columns_), kBlock1d, a, product, y, rows_, columns_);
        result_ = device.download(y);
    }
    Verdict verify() const override {
        std::vector<double> product(area(1, rows_)), want(area(1, columns_));
        add_rows_times(product, a_, x_, rows_, columns_);
        add_columns_times(want, a_, product, rows_, columns_);
        return compare("y", result_, want, 1e-3, 1e-6);
    }

private:
    int rows_, columns_;
    std::vector<float> a_, x_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_atax(Size size, std::uint64_t seed) {
    return std::make_unique<Atax>(size, seed);
}

}  // namespace mergelane::suite
