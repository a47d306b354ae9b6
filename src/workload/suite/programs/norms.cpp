// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

class Norms final : public Problem {
public:
    Norms(Size size, std::uint64_t seed) : rows_(by_size(size, 5, 1024, 8192)), columns_(by_size(size, 2504, llm::kHidden, llm::kHidden)) {
        Rng rng(seed);
        const std::size_t count = std::size_t{llm::unsigned_of(rows_)} * columns_, columns = llm::unsigned_of(columns_);
        half_ = llm::random_values(llm::Format::f16, rng, count, 4.0f);
        brain_ = llm::random_values(llm::Format::bf16, rng, count, 4.0f);
        weights_ = llm::random_values(llm::Format::f16, rng, columns);
        bias_ = llm::random_values(llm::Format::f16, rng, columns);
        brain_weights_ = llm::random_values(llm::Format::bf16, rng, columns);
    }
    void run(Device& device) override {
        const auto half = device.upload(half_);
        const auto brain = device.upload(brain_);
        const auto weights = device.upload(weights_);
        const auto bias = device.upload(bias_);
        const auto brain_weights = device.upload(brain_weights_);
        const auto to = device.zeros<std::uint16_t>(half_.size());
        const Dim3 grid{llm::unsigned_of(rows_), 1, 1}, block{256, 1, 1};
        const int vectors = columns_ / 8;
        device.launch("llm/norms", "layer_norm_f16", grid, block, half, weights, bias, to, vectors, kEpsilon);
        layer_ = device.download(to);
        device.launch("llm/norms", "rms_norm_bf16", grid, block, brain, brain_weights, to, vectors, kEpsilon);
        rms_ = device.download(to);
        device.launch("llm/norms", "softmax_f16", grid, block, half, to, vectors, 1.0f);
        softmax_ = device.download(to);
        device.launch("llm/norms", "softmax_bf16", grid, block, brain, to, vectors, 1.0f);
        brain_softmax_ = device.download(to);
    }
    /// All sums are in f32; results are rounded to 11 or 8 bits. Small ones of the softmax in f16 have fewer.
    Verdict verify() const override {
        using enum llm::Format;
        Verdict verdict = check("layer norm", f16, half_, layer_, [&](std::vector<double>& row) {
            const double mean = sum(row) / columns_;
            for (double& x : row) x -= mean;
            normalise(row, &weights_, f16);
            for (std::size_t i = 0; i < row.size(); ++i) row[i] += llm::to_float(f16, bias_[i]);
        });
        verdict &= check("RMS norm", bf16, brain_, rms_, [&](std::vector<double>& row) { normalise(row, &brain_weights_, bf16); });
        verdict &= check("softmax", f16, half_, softmax_, softmax);
        return verdict &= check("softmax in bf16", bf16, brain_, brain_softmax_, softmax);
    }

private:
    static double sum(const std::vector<double>& row) {
        double all = 0;
        for (const double x : row) all += x;
        return all;
    }
    static void normalise(std::vector<double>& row, const std::vector<std::uint16_t>* weights, llm::Format format) {
        double squares = 0;
        for (const double x : row) squares += x * x;
        const double by = 1 / std::sqrt(squares / static_cast<double>(row.size()) + kEpsilon);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] *= by * llm::to_float(format, (*weights)[i]);
    }
    static void softmax(std::vector<double>& row) {
        for (double& x : row) x = std::exp(x);
        const double total = sum(row);
        for (double& x : row) x /= total;
    }
    template <class Reference>
    Verdict check(std::string_view what, llm::Format format, const std::vector<std::uint16_t>& from, const std::vector<std::uint16_t>& to,
                  Reference reference) const {
        const std::vector<float> values = llm::to_floats(format, from);
        std::vector<double> want;
        for (int r = 0; r < rows_; ++r) {
            const auto first = values.begin() + static_cast<std::ptrdiff_t>(r) * columns_;
            std::vector<double> row(first, first + columns_);
            reference(row);
            want.insert(want.end(), row.begin(), row.end());
        }
        return compare(what, llm::to_floats(format, to), want, format == llm::Format::f16 ? 0x1p-10 : 0x1p-8, 1e-6);
    }

    static constexpr float kEpsilon = 1e-5f;
    int rows_, columns_;
    std::vector<std::uint16_t> half_, brain_, weights_, bias_, brain_weights_, layer_, rms_, softmax_, brain_softmax_;
};

}  // namespace

std::unique_ptr<Problem> make_norms(Size size, std::uint64_t seed) {
    return std::make_unique<Norms>(size, seed);
}

}  // namespace mergelane::suite
