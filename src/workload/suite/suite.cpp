// SPDX-License-Identifier: MIT
#include "workload/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace mergelane::suite {

/// Each is in the file of the same name; three neural networks are in cnn.cpp, products on tensor units in gemm_mma.cpp, other sizes of a
/// benchmark in the file of that benchmark.
std::remove_pointer_t<MakeProblem> make_hotspot, make_btree, make_backprop, make_bfs, make_srad, make_lud, make_kmeans, make_streamcluster,
    make_particlefilter, make_2dconv, make_3dconv, make_gemm, make_2mm, make_3mm, make_syrk, make_syr2k, make_atax, make_bicg, make_mvt,
    make_gesummv, make_corr, make_matrixmul, make_fdtd3d, make_dct8x8, make_transpose, make_blackscholes, make_histogram, make_spmv,
    make_reduction, make_nn, make_ray, make_sgemm, make_nbody, make_imagedenoising, make_nw, make_montecarlo, make_dxtc, make_sad, make_aes,
    make_lps, make_lib, make_mum, make_wp, make_cp, make_nqu, make_sto, make_alexnet, make_resnet, make_squeezenet, make_2mm_512,
    make_3mm_512, make_reduction_40, make_atax_tall, make_mvt_tall, make_bicg_tall, make_rank_k, make_rank_2k, make_weights_half,
    make_weights_one, make_weights_two, make_weights_four, make_gemm_f16, make_gemm_f16_2, make_gemm_f16_4, make_gemm_f16_group,
    make_gemm_wave, make_gemm_wave_four, make_gemm_bf16, make_gemm_wgmma, make_gemm_wgmma_multicast, make_attention, make_paged_decode,
    make_gemv_q4, make_norms, make_rope_silu, make_moe, make_kv_append, make_sampling, make_transformer, make_training, make_shortest_paths;

const std::vector<SuiteWorkload>& workloads() {
    static const std::vector<SuiteWorkload> table = {
        {"hotspot", "Rodinia", "icc ctacluster", "rodinia/hotspot", "heat stencil on overlapping tiles in shared memory", false,
         make_hotspot},
        {"b+tree", "Rodinia", "icc ctacluster", "rodinia/btree", "point and range queries, one CTA each", false, make_btree},
        {"backprop", "Rodinia", "icc ctacluster", "rodinia/backprop", "training step of one layer, rows of 17 words", false, make_backprop},
        {"bfs", "Rodinia", "icc packet ctacluster dcl1", "rodinia/bfs", "level-synchronous search of a random graph", true, make_bfs},
        {"srad", "Rodinia", "icc", "rodinia/srad", "speckle-reducing diffusion, rows of half a line", false, make_srad},
        {"lud", "Rodinia", "icc dcl1", "rodinia/lud", "blocked LU decomposition, shrinking grids", false, make_lud},
        {"2dconv", "PolyBench", "icc dcl1", "polybench/2dconv", "3x3 convolution", false, make_2dconv},
        {"matrixmul", "CUDA SDK", "icc ctacluster", "sdk/matrixmul", "product with 32x32 tiles in shared memory", false, make_matrixmul},
        {"nn", "GPGPU-Sim", "icc packet ctacluster dcl1", "gpgpusim/nn", "digit recognition network, CTAs of one thread", false, make_nn},
        {"fdtd3d", "CUDA SDK", "icc", "sdk/fdtd3d", "radius-4 stencil marching through a volume", false, make_fdtd3d},
        {"dct8x8", "CUDA SDK", "icc ctacluster", "sdk/dct8x8", "cosine transform of 8x8 blocks, four per line", false, make_dct8x8},
        {"gemm", "PolyBench", "warppool dcl1", "polybench/gemm", "product, sums in memory", false, make_gemm},
        {"2mm", "PolyBench", "warppool dcl1", "polybench/2mm", "two products", false, make_2mm},
        {"3mm", "PolyBench", "warppool dcl1", "polybench/3mm", "three products", false, make_3mm},
        {"atax", "PolyBench", "warppool", "polybench/atax", "A^T A x, 32 lines per load in the first kernel", false, make_atax},
        {"bicg", "PolyBench", "warppool", "polybench/bicg", "A^T r and A p, 32 lines per load in the second kernel", false, make_bicg},
        {"mvt", "PolyBench", "warppool", "polybench/mvt", "A y and A^T y, 32 lines per load in the first kernel", false, make_mvt},
        {"syrk", "PolyBench", "warppool dcl1", "polybench/syrk", "A A^T, 32 lines per load shared by warps", false, make_syrk},
        {"syr2k", "PolyBench", "warppool", "polybench/syr2k", "A B^T + B A^T", false, make_syr2k},
        {"gesummv", "PolyBench", "", "polybench/gesummv", "sum of two matrix-vector products, 32 lines per load", false, make_gesummv},
        {"corr", "PolyBench", "warppool", "polybench/corr", "correlation matrix, four kernels", false, make_corr},
        {"3dconv", "PolyBench", "ctacluster dcl1", "polybench/3dconv", "convolution of a volume, one launch per plane", false, make_3dconv},
        {"spmv", "Parboil", "warppool", "parboil/spmv", "sparse matrix times vector in jagged diagonals", false, make_spmv},
        {"kmeans", "Rodinia", "warppool ctacluster", "rodinia/kmeans", "clustering, every warp reads the centres", false, make_kmeans},
        {"streamcluster", "Rodinia", "warppool dcl1", "rodinia/streamcluster", "gain of a new centre, broadcast coordinates", false,
         make_streamcluster},
        {"particlefilter", "Rodinia", "warppool", "rodinia/particlefilter", "resampling, all warps scan the same weights", false,
         make_particlefilter},
        {"transpose", "CUDA SDK", "warppool", "sdk/transpose", "naive and through shared memory", false, make_transpose},
        {"reduction", "SHOC", "dcl1", "shoc/reduction", "sum of an array, several passes", false, make_reduction},
        {"blackscholes", "CUDA SDK", "packet ctacluster dcl1", "sdk/blackscholes", "option prices, streaming", false, make_blackscholes},
        {"histogram", "CUDA SDK", "ctacluster", "sdk/histogram", "64 bins, strided merge", false, make_histogram},
        {"alexnet", "Tango", "dcl1", "tango/cnn", "first convolution cut to 30 maps, pooling, 80 neurons", false, make_alexnet},
        {"resnet", "Tango", "dcl1", "tango/cnn", "first bottleneck block at 56x56 pixels", false, make_resnet},
        {"squeezenet", "Tango", "dcl1", "tango/cnn", "second fire module, pooling and classes", false, make_squeezenet},
        {"ray", "GPGPU-Sim", "packet dcl1", "gpgpusim/ray", "ray tracer, hot spheres and private stacks", false, make_ray},
        {"2mm_512", "PolyBench", "dcl1", "polybench/2mm", "two products, all matrices 512x512", false, make_2mm_512},
        {"3mm_512", "PolyBench", "dcl1", "polybench/3mm", "three products, all matrices 512x512", false, make_3mm_512},
        {"reduction_40", "SHOC", "dcl1", "shoc/reduction", "sum of an array, 40 passes", false, make_reduction_40},
        {"sgemm", "Parboil", "ctacluster", "parboil/sgemm", "product with 16 sums per thread, B through shared memory", false, make_sgemm},
        {"nbody", "CUDA SDK", "ctacluster", "sdk/nbody", "attracting bodies, all CTAs read the same tiles", false, make_nbody},
        {"imagedenoising", "CUDA SDK", "ctacluster", "sdk/imagedenoising", "non-local means, windows that overlap", false,
         make_imagedenoising},
        {"nw", "Rodinia", "ctacluster", "rodinia/nw", "alignment of sequences along diagonals of tiles", false, make_nw},
        {"montecarlo", "CUDA SDK", "ctacluster", "sdk/montecarlo", "option values from the same samples, one CTA each", false,
         make_montecarlo},
        {"dxtc", "CUDA SDK", "ctacluster", "sdk/dxtc", "texture compression, one CTA per 4x4 pixels", false, make_dxtc},
        {"sad", "Parboil", "ctacluster", "parboil/sad", "motion estimation, 61 threads per 4x4 pixels", false, make_sad},
        {"atax_tall", "PolyBench", "ctacluster", "polybench/tall", "atax's first product, of 81,920 short rows", false, make_atax_tall},
        {"mvt_tall", "PolyBench", "ctacluster", "polybench/tall", "mvt's first product, of 81,920 short rows", false, make_mvt_tall},
        {"bicg_tall", "PolyBench", "ctacluster", "polybench/tall", "bicg's second product, of 81,920 short rows", false, make_bicg_tall},
        {"rank_k", "PolyBench", "ctacluster", "polybench/rank_k", "syrk with 576 CTAs, 64 of 1024 columns", false, make_rank_k},
        {"rank_2k", "PolyBench", "ctacluster", "polybench/rank_k", "syr2k with 400 CTAs, 64 of 1024 columns", false, make_rank_2k},
        {"weights_half", "Mergelane", "", "mergelane/weights", "1024 rows times weights of 0.75 MiB, 32x32 tiles", false,
         make_weights_half},
        {"weights_one", "Mergelane", "", "mergelane/weights", "the same with weights of 1.5 MiB", false, make_weights_one},
        {"weights_two", "Mergelane", "", "mergelane/weights", "with weights of 3 MiB", false, make_weights_two},
        {"weights_four", "Mergelane", "", "mergelane/weights", "with weights of 6 MiB", false, make_weights_four},
        {"aes", "GPGPU-Sim", "packet", "gpgpusim/aes", "encryption with tables in shared memory", false, make_aes},
        {"lps", "GPGPU-Sim", "packet", "gpgpusim/lps", "Laplace's equation, marching with three planes in shared memory", false, make_lps},
        {"lib", "GPGPU-Sim", "packet", "gpgpusim/lib", "forward rates by Monte Carlo, a path's arrays in memory", false, make_lib},
        {"mum", "GPGPU-Sim", "packet", "gpgpusim/mum", "matching of queries by a suffix tree", false, make_mum},
        {"wp", "GPGPU-Sim", "packet", "gpgpusim/wp", "clouds and rain in columns, 17 arrays", false, make_wp},
        {"cp", "Parboil", "packet", "parboil/cp", "Coulomb's potential on a lattice, atoms in shared memory", false, make_cp},
        {"nqu", "GPGPU-Sim", "packet", "gpgpusim/nqu", "queens on a board, searched in shared memory", false, make_nqu},
        {"sto", "GPGPU-Sim", "packet", "gpgpusim/sto", "MD5 of pieces of 64 bytes", false, make_sto},
        {"gemm_f16", "LLM", "", "llm/gemm_mma", "linear layer on tensor units, three cp.async stages", false, make_gemm_f16},
        {"gemm_f16_2", "LLM", "", "llm/gemm_mma", "the same with two stages", false, make_gemm_f16_2},
        {"gemm_f16_4", "LLM", "", "llm/gemm_mma", "with four stages", false, make_gemm_f16_4},
        {"gemm_f16_group", "LLM", "", "llm/gemm_mma", "with three stages, CTAs in groups of four rows of tiles", false,
         make_gemm_f16_group},
        {"gemm_bf16", "LLM", "", "llm/gemm_mma", "in bf16 with three stages", false, make_gemm_bf16},
        {"attention", "LLM", "", "llm/attention", "causal attention in tiles, grouped queries, tensor units", false, make_attention},
        {"paged_decode", "LLM", "", "llm/paged_decode", "attention of new tokens to pages of keys and values", false, make_paged_decode},
        {"gemv_q4", "LLM", "", "llm/gemv_q4", "one token times weights of four bits, by dp4a", false, make_gemv_q4},
        {"norms", "LLM", "", "llm/norms", "layer norm, RMS norm and softmax of rows", false, make_norms},
        {"rope_silu", "LLM", "", "llm/rope_silu", "rotary embedding and gated activation", false, make_rope_silu},
        {"moe", "LLM", "", "llm/moe", "choice of experts, gather and scatter of rows", false, make_moe},
        {"kv_append", "LLM", "", "llm/kv_append", "keys and values of new tokens into pages", false, make_kv_append},
        {"sampling", "LLM", "", "llm/sampling", "top-k and top-p of sorted logits, by radix", false, make_sampling},
        {"gemm_wgmma", "LLM", "", "llm/gemm_wgmma", "linear layer by wgmma and tensor copies, four stages (sm_90)", false, make_gemm_wgmma,
         true},
        {"gemm_wave", "LLM", "", "llm/gemm_mma", "as gemm_f16; 1024 x 1792 outputs of 512 terms: 224 CTAs", false, make_gemm_wave},
        {"gemm_wave_four", "LLM", "", "llm/gemm_mma", "the same, CTAs in groups of four rows of tiles", false, make_gemm_wave_four},
        {"gemm_wgmma_multicast", "LLM", "", "llm/gemm_wgmma", "as gemm_wgmma; clusters of two CTAs share rows of A by multicast (sm_90)",
         false, make_gemm_wgmma_multicast, true},
        {"transformer", "Applications", "", "apps/transformer", "language model of 32 layers: a prompt of 512 tokens, an answer of 256",
         false, make_transformer, false, "llm/attention llm/gemm_mma llm/kv_append llm/norms llm/paged_decode llm/rope_silu llm/sampling"},
        {"training", "Applications", "", "apps/training", "training step of a network with the shape of ResNet-50, 24 images", false,
         make_training, false, "llm/gemm_mma"},
        {"shortest_paths", "Applications", "", "apps/shortest_paths", "500 rounds of two searches in a road-like graph", false,
         make_shortest_paths},
    };
    return table;
}

const SuiteWorkload& find_workload(std::string_view name) {
    std::vector<std::string_view> known;
    for (const SuiteWorkload& workload : workloads()) {
        if (workload.name == name) return workload;
        known.push_back(workload.name);
    }
    if (name.find('.') != std::string_view::npos)
        throw InputError(
            fmt::format("'{}' is no benchmark (see 'mergelane list workloads'); files are given by themselves, without --workload, and .cu "
                        "files are compiled first",
                        printable(name, 60)));
    throw InputError(unknown_word("workload", name, known));
}

Size parse_size(std::string_view name) {
    const auto at = std::find(std::begin(kSizeNames), std::end(kSizeNames), name);
    if (at == std::end(kSizeNames)) throw InputError(unknown_word("size", name, kSizeNames));
    return static_cast<Size>(at - std::begin(kSizeNames));
}

namespace {

/// Records launches and does nothing else; data read back is zero.
class ShapeRecorder final : public Device {
public:
    Addr allocate_bytes(std::uint64_t bytes) override { return std::exchange(next_, next_ + bytes); }
    void write_bytes(Addr, const void*, std::uint64_t) override {}
    void read_bytes(Addr, void* to, std::uint64_t bytes) override {
        if (bytes != 0) std::memset(to, 0, bytes);
    }
    void fill_bytes(Addr, int, std::uint64_t) override {}
    void launch_kernel(const KernelCall& call) override {
        auto shape = std::find_if(shapes_.begin(), shapes_.end(), [&](const KernelShape& s) { return s.kernel == call.kernel; });
        if (shape == shapes_.end()) {
            shapes_.push_back({std::string(call.kernel), call.block, call.grid, call.grid, 0, 0});
            shape = shapes_.end() - 1;
        }
        if (call.grid.count() < shape->smallest.count()) shape->smallest = call.grid;
        if (call.grid.count() > shape->largest.count()) shape->largest = call.grid;
        ++shape->launches;
        shape->ctas += call.grid.count();
    }
    std::vector<KernelShape> take() { return std::move(shapes_); }

private:
    Addr next_ = 0;
    std::vector<KernelShape> shapes_;
};

struct Launches {
    std::string_view workload;
    Size size;
    std::string_view kernel;
    Dim3 block, smallest, largest;
    std::uint32_t launches;
    std::uint64_t ctas;
};
constexpr Launches kLaunches[] = {
#include "workload/suite/launches.inc"
};

}  // namespace

std::vector<KernelShape> launch_shapes(const SuiteWorkload& workload, Size size) {
    std::vector<KernelShape> shapes;
    for (const Launches& row : kLaunches) {
        if (row.workload != workload.name || row.size != size) continue;
        shapes.push_back({std::string(row.kernel), row.block, row.smallest, row.largest, row.launches, row.ctas});
    }
    return shapes.empty() ? measured_launch_shapes(workload, size) : shapes;
}

void check_first_launch(const SuiteWorkload& workload, Size size, std::uint64_t first) {
    if (workload.open_ended || first <= 1) return;
    std::uint64_t launches = 0;
    for (const KernelShape& shape : launch_shapes(workload, size)) launches += shape.launches;
    if (first > launches)
        throw InputError(fmt::format("{} launches {} {} at size {}; there is no kernel {}", workload.name, launches,
                                     launches == 1 ? "kernel" : "kernels", kSizeNames[static_cast<std::size_t>(size)], first));
}

std::vector<KernelShape> measured_launch_shapes(const SuiteWorkload& workload, Size size) {
    ShapeRecorder recorder;
    workload.make(size, 1)->run(recorder);
    return recorder.take();
}

}  // namespace mergelane::suite
