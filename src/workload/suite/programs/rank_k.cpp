// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

/// Two waves of CTAs on each machine of the CTA clustering paper, which syrk and syr2k do not have. Rows are as far apart as in the
/// original, 1024 words, because which sets they fall into matters; only their first columns are used, for time.
class RankK final : public Problem {
public:
    RankK(bool two, Size size, std::uint64_t seed)
        : two_(two),
          n_(by_size(size, 80, two ? 320 : 384, two ? 640 : 768)),
          m_(by_size(size, 24, 64, 256)),
          pitch_(by_size(size, 70, 1024, 1024)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, pitch_));
        b_ = two ? random_floats(rng, area(n_, pitch_)) : a_;
        c_ = random_floats(rng, area(n_, n_));
    }
    void run(Device& device) override {
        const auto c = device.upload(c_);
        const auto a = device.upload(a_);
        if (two_) {
            const auto b = device.upload(b_);
            device.launch("polybench/rank_k", "rank_2k", grid_2d(n_, n_), kBlock2d, a, b, c, kAlpha, kBeta, n_, m_, pitch_);
        } else {
            device.launch("polybench/rank_k", "rank_k", grid_2d(n_, n_), kBlock2d, a, c, kAlpha, kBeta, n_, m_, pitch_);
        }
        result_ = device.download(c);
    }
    Verdict verify() const override {
        const auto dot = [&](const std::vector<float>& left, int i, const std::vector<float>& right, int j) {
            double sum = 0;
            for (int k = 0; k < m_; ++k) sum += static_cast<double>(left[area(i, pitch_) + k]) * right[area(j, pitch_) + k];
            return sum;
        };
        std::vector<double> want(c_.begin(), c_.end());
        for (int i = 0; i < n_; ++i) {
            for (int j = 0; j < n_; ++j) {
                double& value = want[area(i, n_) + j];
                value = kBeta * value + kAlpha * (dot(a_, i, b_, j) + (two_ ? dot(b_, i, a_, j) : 0.0));
            }
        }
        return compare("C", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr float kAlpha = 0.75f, kBeta = 1.25f;
    const bool two_;
    int n_, m_, pitch_;
    std::vector<float> a_, b_, c_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_rank_k(Size size, std::uint64_t seed) {
    return std::make_unique<RankK>(false, size, seed);
}
std::unique_ptr<Problem> make_rank_2k(Size size, std::uint64_t seed) {
    return std::make_unique<RankK>(true, size, seed);
}

}  // namespace mergelane::suite
