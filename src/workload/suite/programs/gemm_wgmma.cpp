// SPDX-License-Identifier: MIT
#include "core/error.hpp"
#include "workload/ptx/tensor_map.hpp"
#include "workload/suite/llm.hpp"

namespace mergelane::suite {

namespace {

/// A tensor map as a parameter of a kernel.
struct alignas(64) MapArgument {
    std::array<std::byte, ptx::TensorMap::kBytes> bytes{};
};
/// A matrix of f16, of which tiles of `box_rows` x 64 are copied with the chunks of their rows exchanged.
MapArgument matrix_map(const DeviceArray<std::uint16_t>& matrix, int rows, int columns, std::uint32_t box_rows) {
    ptx::TensorMap map;
    map.type = ptx::TensorType::f16;
    map.swizzle = ptx::TensorSwizzle::bytes_128;
    map.rank = 2;
    map.address = matrix.address;
    map.size = {llm::unsigned_of(columns), llm::unsigned_of(rows)};
    map.stride = {std::uint64_t{2} * llm::unsigned_of(columns)};
    map.box = {64, box_rows};
    map.element_stride = {1, 1};
    MapArgument made;
    if (const std::string wrong = map.encode(made.bytes); !wrong.empty()) throw SimulationError("the tensor map of gemm_wgmma: " + wrong);
    return made;
}

/// The product of gemm_f16 with wgmma and tensor copies. The tiles are of dynamic shared memory: 96 KiB, and the mbarriers. With multicast,
/// two CTAs with the same rows of A form a cluster and copy half of them each, to both.
class GemmWgmma final : public Problem {
public:
    GemmWgmma(Size size, std::uint64_t seed, bool multicast)
        : multicast_(multicast),
          tokens_(by_size(size, 140, 512, 2048)),
          outputs_(by_size(size, 88, llm::kFeedForward, llm::kFeedForward)),
          inner_(by_size(size, 168, llm::kHidden, llm::kHidden)) {
        Rng rng(seed);
        a_ = llm::random_values(llm::Format::f16, rng, std::size_t{llm::unsigned_of(tokens_)} * inner_);
        w_ = llm::random_values(llm::Format::f16, rng, std::size_t{llm::unsigned_of(outputs_)} * inner_);
    }
    void run(Device& device) override {
        constexpr std::uint32_t kRows = 128, kColumns = 64, kStages = 4, kThreads = 288;
        constexpr std::uint32_t kSharedBytes = kStages * ((kRows + kColumns) * 128 + 16);
        const auto a = device.upload(a_);
        const auto w = device.upload(w_);
        const auto c = device.zeros<std::uint16_t>(std::size_t{llm::unsigned_of(tokens_)} * outputs_);
        ParamPacker parameters;
        parameters.add(matrix_map(a, tokens_, inner_, multicast_ ? kRows / 2 : kRows));
        parameters.add(matrix_map(w, outputs_, inner_, kColumns));
        parameters.add(c);
        parameters.add(tokens_);
        parameters.add(outputs_);
        parameters.add(inner_);
        const std::uint32_t ctas = multicast_ ? 2 : 1;  // of a cluster, side by side
        const Dim3 grid{ctas * ceil_div(llm::unsigned_of(outputs_), ctas * kColumns), ceil_div(llm::unsigned_of(tokens_), kRows), 1};
        device.launch_kernel({"llm/gemm_wgmma",
                              multicast_ ? "gemm_wgmma_multicast_f16" : "gemm_wgmma_f16",
                              grid,
                              {kThreads, 1, 1},
                              kSharedBytes,
                              parameters.take()});
        result_ = device.download(c);
    }
    /// As gemm_f16.
    Verdict verify() const override {
        const std::vector<float> a = llm::to_floats(llm::Format::f16, a_), w = llm::to_floats(llm::Format::f16, w_);
        const std::vector<int> rows = llm::checked_rows(tokens_, 64);
        std::vector<double> want;
        for (const int row : rows)
            for (int column = 0; column < outputs_; ++column)
                want.push_back(llm::dot(&a[static_cast<std::size_t>(row) * inner_], &w[static_cast<std::size_t>(column) * inner_], inner_));
        return compare("C", llm::pick_rows(llm::to_floats(llm::Format::f16, result_), rows, llm::unsigned_of(outputs_)), want, 0x1p-10,
                       2e-3);
    }

private:
    const bool multicast_;
    int tokens_, outputs_, inner_;
    std::vector<std::uint16_t> a_, w_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_gemm_wgmma(Size size, std::uint64_t seed) {
    return std::make_unique<GemmWgmma>(size, seed, false);
}
std::unique_ptr<Problem> make_gemm_wgmma_multicast(Size size, std::uint64_t seed) {
    return std::make_unique<GemmWgmma>(size, seed, true);
}

}  // namespace mergelane::suite
