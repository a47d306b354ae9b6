// SPDX-License-Identifier: MIT
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

/// The first projection of the feed-forward network. Variants differ in format, stages of the pipeline, and the order of tiles; those of
/// one wave also in their size: 224 tiles, two for each SM of a GPU of 112 to 132.
class GemmMma final : public Problem {
public:
    struct Shape {
        int tokens, outputs, inner;
    };
    static Shape layer(Size size) {
        return {by_size(size, 140, 512, 2048), by_size(size, 88, llm::kFeedForward, llm::kFeedForward),
                by_size(size, 160, llm::kHidden, llm::kHidden)};
    }
    static Shape one_wave(Size size) {
        return {by_size(size, 140, 1024, 1024), by_size(size, 88, 1792, 1792), by_size(size, 160, 512, llm::kHidden)};
    }

    GemmMma(llm::Format format, std::string_view kernel, int group, const Shape& shape, std::uint64_t seed)
        : format_(format), kernel_(kernel), group_(group), tokens_(shape.tokens), outputs_(shape.outputs), inner_(shape.inner) {
        Rng rng(seed);
        a_ = llm::random_values(format_, rng, std::size_t{llm::unsigned_of(tokens_)} * inner_);
        w_ = llm::random_values(format_, rng, std::size_t{llm::unsigned_of(outputs_)} * inner_);
    }
    void run(Device& device) override {
        const auto a = device.upload(a_);
        const auto w = device.upload(w_);
        const auto c = device.zeros<std::uint16_t>(std::size_t{llm::unsigned_of(tokens_)} * outputs_);
        const std::uint32_t rows = ceil_div(llm::unsigned_of(tokens_), 128), columns = ceil_div(llm::unsigned_of(outputs_), 64);
        device.launch("llm/gemm_mma", kernel_, {columns, rows, 1}, {128, 1, 1}, a, w, c, tokens_, outputs_, inner_, group_);
        result_ = device.download(c);
    }
    /// Results are rounded to 11 or 8 bits; sums in f32 are off by less than 1e-3.
    Verdict verify() const override {
        const std::vector<float> a = llm::to_floats(format_, a_), w = llm::to_floats(format_, w_);
        const std::vector<int> rows = llm::checked_rows(tokens_, 64);
        std::vector<double> want;
        for (const int row : rows)
            for (int column = 0; column < outputs_; ++column)
                want.push_back(llm::dot(&a[static_cast<std::size_t>(row) * inner_], &w[static_cast<std::size_t>(column) * inner_], inner_));
        const std::vector<float> got = llm::pick_rows(llm::to_floats(format_, result_), rows, llm::unsigned_of(outputs_));
        return compare("C", got, want, format_ == llm::Format::f16 ? 0x1p-10 : 0x1p-7, 2e-3);
    }

private:
    llm::Format format_;
    std::string_view kernel_;
    int group_, tokens_, outputs_, inner_;
    std::vector<std::uint16_t> a_, w_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_gemm_f16(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_3_stages", 1, GemmMma::layer(size), seed);
}
std::unique_ptr<Problem> make_gemm_f16_2(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_2_stages", 1, GemmMma::layer(size), seed);
}
std::unique_ptr<Problem> make_gemm_f16_4(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_4_stages", 1, GemmMma::layer(size), seed);
}
std::unique_ptr<Problem> make_gemm_f16_group(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_3_stages", 4, GemmMma::layer(size), seed);
}
std::unique_ptr<Problem> make_gemm_wave(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_3_stages", 1, GemmMma::one_wave(size), seed);
}
std::unique_ptr<Problem> make_gemm_wave_four(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::f16, "gemm_f16_3_stages", 4, GemmMma::one_wave(size), seed);
}
std::unique_ptr<Problem> make_gemm_bf16(Size size, std::uint64_t seed) {
    return std::make_unique<GemmMma>(llm::Format::bf16, "gemm_bf16_3_stages", 1, GemmMma::layer(size), seed);
}

}  // namespace mergelane::suite
