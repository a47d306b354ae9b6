// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

constexpr std::uint32_t kBins = 64, kCounters = 64, kMergers = 256;
constexpr std::uint32_t kWordsPerThread = 32;  ///< at most 63: a counter is one byte and a word may hit one bin four times

class Histogram final : public Problem {
public:
    Histogram(Size size, std::uint64_t seed) : ctas_(by_size(size, 20u, 3840u, 15360u)) {
        Rng rng(seed);
        // The last CTAs find a little less than the others.
        data_.resize(static_cast<std::size_t>(ctas_) * kCounters * kWordsPerThread - 37);
        // Two dice: bins in the middle are hit more often.
        for (std::uint32_t& word : data_) {
            const std::uint64_t bits = rng.next();
            word = ((static_cast<std::uint32_t>(bits) >> 1) & 0x7F7F7F7Fu) + ((static_cast<std::uint32_t>(bits >> 32) >> 1) & 0x7F7F7F7Fu);
        }
    }
    void run(Device& device) override {
        const auto data = device.upload(data_);
        const auto partial = device.alloc<std::uint32_t>(static_cast<std::size_t>(ctas_) * kBins);
        const auto histogram = device.alloc<std::uint32_t>(kBins);
        device.launch("sdk/histogram", "histogram_count", {ctas_, 1, 1}, {kCounters, 1, 1}, partial, data, static_cast<int>(data_.size()));
        device.launch("sdk/histogram", "histogram_merge", {kBins, 1, 1}, {kMergers, 1, 1}, histogram, partial, static_cast<int>(ctas_));
        result_ = device.download(histogram);
    }
    Verdict verify() const override {
        std::vector<std::uint32_t> want(kBins);
        for (const std::uint32_t word : data_)
            for (std::uint32_t shift = 2; shift < 32; shift += 8) ++want[(word >> shift) & 63u];
        return compare_exact("bin", result_, want);
    }

private:
    std::uint32_t ctas_;
    std::vector<std::uint32_t> data_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_histogram(Size size, std::uint64_t seed) {
    return std::make_unique<Histogram>(size, seed);
}

}  // namespace mergelane::suite
