// SPDX-License-Identifier: MIT
#include "workload/suite/polybench.hpp"

namespace mergelane::suite {

namespace {

class Syr2k final : public Problem {
public:
    Syr2k(Size size, std::uint64_t seed) : n_(by_size(size, 72, 160, 1024)), m_(by_size(size, 48, 512, 1024)) {
        Rng rng(seed);
        a_ = random_floats(rng, area(n_, m_));
        b_ = random_floats(rng, area(n_, m_));
        c_ = random_floats(rng, area(n_, n_));
    }
    void run(Device& device) override {
        const auto c = device.upload(c_);
        const auto a = device.upload(a_);
        const auto b = device.upload(b_);
        device.launch("polybench/syr2k", "syr2k", grid_2d(n_, n_), kBlock2d, a, b, c, kAlpha, kBeta, n_, m_);
        result_ = device.download(c);
    }
    Verdict verify() const override {
        std::vector<double> want(c_.begin(), c_.end());
        for (int i = 0; i < n_; ++i) {
            for (int j = 0; j < n_; ++j) {
                double sum = 0;
                for (int k = 0; k < m_; ++k)
                    sum += static_cast<double>(a_[area(i, m_) + k]) * b_[area(j, m_) + k] +
                           static_cast<double>(b_[area(i, m_) + k]) * a_[area(j, m_) + k];
                double& value = want[area(i, n_) + j];
                value = kBeta * value + kAlpha * sum;
            }
        }
        return compare("C", result_, want, 1e-3, 1e-6);
    }

private:
    static constexpr float kAlpha = 0.75f, kBeta = 1.25f;
    int n_, m_;
    std::vector<float> a_, b_, c_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_syr2k(Size size, std::uint64_t seed) {
    return std::make_unique<Syr2k>(size, seed);
}

}  // namespace mergelane::suite
