// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

/// The CTA clustering paper's size: 81,920 rows of 256. With the 4,096 rows of atax, mvt and bicg there are 16 CTAs, and nothing to
/// cluster.
class TallProduct final : public Problem {
public:
    enum class Kind : std::uint8_t { atax, mvt, bicg };

    TallProduct(Kind kind, Size size, std::uint64_t seed)
        : kind_(kind), rows_(by_size(size, 2000, 81920, 163840)), columns_(by_size(size, 40, 256, 256)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(rows_, columns_));
        x_ = random_floats(rng, area(1, columns_));
        start_ = random_floats(rng, area(1, rows_));
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto x = device.upload(x_);
        const auto y = kind_ == Kind::mvt ? device.upload(start_) : device.zeros<float>(area(1, rows_));
        if (kind_ == Kind::mvt)
            device.launch("polybench/tall", "mvt_tall", grid_1d(rows_), kBlock1d, a, y, x, rows_, columns_);
        else
            device.launch("polybench/tall", kind_ == Kind::atax ? "atax_tall" : "bicg_tall", grid_1d(rows_), kBlock1d, a, x, y, rows_,
                          columns_);
        result_ = device.download(y);
    }
    Verdict verify() const override {
        std::vector<double> want(area(1, rows_));
        if (kind_ == Kind::mvt) want.assign(start_.begin(), start_.end());
        add_rows_times(want, a_, x_, rows_, columns_);
        return compare("y", result_, want, 1e-3, 1e-6);
    }

private:
    const Kind kind_;
    int rows_, columns_;
    std::vector<float> a_, x_, start_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_atax_tall(Size size, std::uint64_t seed) {
    return std::make_unique<TallProduct>(TallProduct::Kind::atax, size, seed);
}
std::unique_ptr<Problem> make_mvt_tall(Size size, std::uint64_t seed) {
    return std::make_unique<TallProduct>(TallProduct::Kind::mvt, size, seed);
}
std::unique_ptr<Problem> make_bicg_tall(Size size, std::uint64_t seed) {
    return std::make_unique<TallProduct>(TallProduct::Kind::bicg, size, seed);
}

}  // namespace mergelane::suite
