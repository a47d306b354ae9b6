// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Bicg final : public Problem {
public:
    Bicg(Size size, std::uint64_t seed) : rows_(by_size(size, 300, 4096, 8192)), columns_(by_size(size, 270, 4096, 8192)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, columns_));
        r_ = random_floats(rng, area(1, rows_));
        p_ = random_floats(rng, area(1, columns_));
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto s = device.alloc<float>(area(1, columns_));
        const auto q = device.alloc<float>(area(1, rows_));
        const auto r = device.upload(r_);
        device.launch("polybench/bicg", "bicg_columns", grid_1d(columns_), kBlock1d, a, r, s, rows_, columns_);
        const auto p = device.upload(p_);
        device.launch("polybench/bicg", "bicg_rows", grid_1d(rows_), kBlock1d, a, p, q, rows_, columns_);
        s_ = device.download(s);
        q_ = device.download(q);
    }
    Verdict verify() const override {
        std::vector<double> s(area(1, columns_)), q(area(1, rows_));
        add_columns_times(s, a_, r_, rows_, columns_);
        add_rows_times(q, a_, p_, rows_, columns_);
        Verdict verdict = compare("s", s_, s, 1e-3, 1e-6);
        return verdict &= compare("q", q_, q, 1e-3, 1e-6);
    }

private:
    int rows_, columns_;
    std::vector<float> a_, r_, p_, s_, q_;
};

}  // namespace

std::unique_ptr<Problem> make_bicg(Size size, std::uint64_t seed) {
    return std::make_unique<Bicg>(size, seed);
}

}  // namespace mergelane::suite
