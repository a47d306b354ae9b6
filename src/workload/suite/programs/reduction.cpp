// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kCtas = 64, kThreads = 256;

/// The same array summed again and again: what one pass left in the caches is there for the next.
class Reduction final : public Problem {
public:
    Reduction(int count, int passes, std::uint64_t seed) : count_(count), passes_(passes) {
        Rng rng(seed);
        values_.resize(static_cast<std::size_t>(count_));
        // Small integers: every sum is exact in any order.
        for (float& value : values_) value = static_cast<float>(rng.below(256));
    }
    void run(Device& device) override {
        const auto in = device.upload(values_);
        const auto out = device.alloc<float>(kCtas);
        sums_.clear();
        for (int pass = 0; pass < passes_; ++pass) {
            device.fill(out, 0xFF);
            device.launch("shoc/reduction", "reduce_sum", {kCtas, 1, 1}, {kThreads, 1, 1}, in, out, count_);
            double sum = 0;
            for (const float partial : device.download(out)) sum += partial;
            sums_.push_back(sum);
        }
    }
    Verdict verify() const override {
        double want = 0;
        for (const float value : values_) want += value;
        return compare_exact("sum", sums_, std::vector<double>(static_cast<std::size_t>(passes_), want));
    }

private:
    int count_, passes_;
    std::vector<float> values_;
    std::vector<double> sums_;
};

}  // namespace

std::unique_ptr<Problem> make_reduction(Size size, std::uint64_t seed) {
    return std::make_unique<Reduction>(by_size(size, 65536, 262144, 4194304), by_size(size, 2, 8, 8), seed);
}
/// 1 MiB, nearly what the L1s of 80 SMs hold together, so often that the first pass hardly counts.
std::unique_ptr<Problem> make_reduction_40(Size size, std::uint64_t seed) {
    return std::make_unique<Reduction>(by_size(size, 32768, 262144, 262144), by_size(size, 5, 40, 200), seed);
}

}  // namespace mergelane::suite
