// SPDX-License-Identifier: MIT
// Clusters of CTAs: compiled into the kernel or given at launch, with shared memory of other CTAs; sizes that cannot be; and copies of
// boxes of a tensor, whose map comes from the driver.
#include <cooperative_groups.h>
#include <cuda.h>

#include <cstring>
#include <vector>

#include "check.cuh"

namespace cg = cooperative_groups;

template <class T>
std::vector<T> copied(const T* device, std::size_t count) {
    std::vector<T> host(count);
    OK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}
template <class T>
T* on_device(const std::vector<T>& values) {
    T* device;
    OK(cudaMalloc(&device, values.size() * sizeof(T)));
    OK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

/// A driver function by its name; the program is not linked to the driver.
template <class Function>
Function* driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    OK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    CHECK(result == cudaDriverEntryPointSuccess && found != nullptr);
    return reinterpret_cast<Function*>(found);
}

// ---- clusters

constexpr int kBins = 256, kThreads = 128;

/// The bins are distributed over the CTAs of a cluster.
__global__ void histogram(const unsigned* values, int count, unsigned* bins) {
    extern __shared__ unsigned own[];
    const cg::cluster_group cluster = cg::this_cluster();
    const int share = kBins / static_cast<int>(cluster.num_blocks());
    for (int i = threadIdx.x; i < share; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const int bin = static_cast<int>(values[i] % kBins);
        atomicAdd(cluster.map_shared_rank(own, bin / share) + bin % share, 1u);
    }
    cluster.sync();
    const int first = static_cast<int>(cluster.block_rank()) * share;
    for (int i = threadIdx.x; i < share; i += blockDim.x) atomicAdd(&bins[first + i], own[i]);
}

/// Every CTA hands its number to the next one of its cluster, and says where it is.
__global__ void __cluster_dims__(2, 2, 1) pass_on(unsigned* seen, unsigned* place) {
    __shared__ unsigned number;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned cta = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) *cluster.map_shared_rank(&number, (cluster.block_rank() + 1) % cluster.num_blocks()) = cta;
    cluster.sync();
    seen[cta] = number;
    place[cta] =
        cluster.block_index().x * 10 + cluster.block_index().y + 100 * (cluster.query_shared_rank(&number) == cluster.block_rank());
}

__global__ void __launch_bounds__(kThreads, 1, 4) bounded(int* ran) {
    if (threadIdx.x == 0) atomicAdd(ran, 1);
}

struct Launch {
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config{};
    Launch(dim3 grid, dim3 cluster) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster.x;
        attribute.val.clusterDim.y = cluster.y;
        attribute.val.clusterDim.z = cluster.z;
        config.gridDim = grid;
        config.blockDim = kThreads;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
    Launch(const Launch&) = delete;
};

std::vector<unsigned> some_values(int count) {
    std::vector<unsigned> values(count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<unsigned>(i) * 2654435761u >> 7;
    return values;
}
std::vector<unsigned> counted(const std::vector<unsigned>& values) {
    std::vector<unsigned> bins(kBins);
    for (const unsigned value : values) ++bins[value % kBins];
    return bins;
}

void histograms() {
    constexpr int count = 20000;
    const std::vector<unsigned> values = some_values(count), want = counted(values);
    const unsigned* const device = on_device(values);
    unsigned* const bins = on_device(std::vector<unsigned>(kBins));
    for (const int size : {1, 2, 4, 8, 16}) {
        OK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
        Launch launch(16, size);
        launch.config.dynamicSmemBytes = kBins / size * sizeof(unsigned);
        if (size == 16) OK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        OK(cudaLaunchKernelEx(&launch.config, histogram, device, count, bins));
        CHECK(copied(bins, kBins) == want);
    }
    // By the driver, whose structures are others.
    OK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
    cudaFunction_t function;
    OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(histogram)));
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 4;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    CUlaunchConfig config{8, 1, 1, kThreads, 1, 1, kBins / 4 * sizeof(unsigned), nullptr, &attribute, 1};
    int size = count;
    void* arguments[] = {const_cast<unsigned**>(&device), &size, const_cast<unsigned**>(&bins)};
    const auto launch = driver<CUresult(const CUlaunchConfig*, CUfunction, void**, void**)>("cuLaunchKernelEx");
    CHECK(launch(&config, function, arguments, nullptr) == CUDA_SUCCESS);
    CHECK(copied(bins, kBins) == want);
    attribute.value.clusterDim.x = 3;
    CHECK(launch(&config, function, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
    attribute.value.clusterDim.x = 32;
    CHECK(launch(&config, function, arguments, nullptr) == CUDA_ERROR_INVALID_CLUSTER_SIZE);
    // In a graph, by a capture and by an attribute of the node.
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    Launch captured(16, 8);
    captured.config.stream = stream;
    captured.config.dynamicSmemBytes = kBins / 2 * sizeof(unsigned);
    OK(cudaLaunchKernelEx(&captured.config, histogram, device, count, bins));
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphNode_t node;
    std::size_t nodes = 1;
    OK(cudaGraphGetNodes(graph, &node, &nodes));
    cudaKernelNodeAttrValue value{};
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    CHECK(nodes == 1 && value.clusterDim.x == 8 && value.clusterDim.z == 1);
    value.clusterDim.x = 2;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(copied(bins, kBins) == want);
}

void compiled_in() {
    unsigned* const seen = on_device(std::vector<unsigned>(16));
    unsigned* const place = on_device(std::vector<unsigned>(16));
    pass_on<<<dim3(4, 4), kThreads>>>(seen, place);
    OK(cudaGetLastError());
    const std::vector<unsigned> from = copied(seen, 16), index = copied(place, 16);
    for (unsigned cta = 0; cta < 16; ++cta) {
        const unsigned x = cta % 4, y = cta / 4, rank = y % 2 * 2 + x % 2, before = (rank + 3) % 4;
        CHECK(from[cta] == (y / 2 * 2 + before / 2) * 4 + x / 2 * 2 + before % 2);
        CHECK(index[cta] == 100 + x % 2 * 10 + y % 2);
    }
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, pass_on));
    CHECK(attributes.requiredClusterWidth == 2 && attributes.requiredClusterHeight == 2 && attributes.requiredClusterDepth == 1);
    CHECK(attributes.clusterDimMustBeSet == 1 && attributes.nonPortableClusterSizeAllowed == 0);
    CHECK(cudaFuncSetAttribute(pass_on, cudaFuncAttributeRequiredClusterWidth, 4) == cudaErrorNotPermitted);
    pass_on<<<dim3(4, 3), kThreads>>>(seen, place);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    Launch other(dim3(4, 4), dim3(4, 1, 1));
    CHECK(cudaLaunchKernelEx(&other.config, pass_on, seen, place) == cudaErrorInvalidClusterSize);
    Launch same(dim3(4, 4), dim3(2, 2, 1));
    OK(cudaLaunchKernelEx(&same.config, pass_on, seen, place));
    cudaGetLastError();
}

void sizes_that_cannot_be() {
    int* const ran = on_device(std::vector<int>(1));
    const auto launched = [&](dim3 grid, dim3 cluster) {
        Launch launch(grid, cluster);
        const cudaError_t error = cudaLaunchKernelEx(&launch.config, bounded, ran);
        CHECK(cudaGetLastError() == error);
        return error;
    };
    CHECK(launched(8, dim3(2, 1, 1)) == cudaSuccess);
    CHECK(launched(8, dim3(3, 1, 1)) == cudaErrorInvalidConfiguration);
    CHECK(launched(8, dim3(8, 1, 1)) == cudaErrorInvalidClusterSize);  // its bound is 4
    CHECK(launched(8, dim3(2, 0, 1)) == cudaErrorInvalidClusterSize);
    CHECK(launched(32, dim3(32, 1, 1)) == cudaErrorInvalidClusterSize);
    CHECK(launched(32, dim3(1u << 31, 1u << 31, 4)) == cudaErrorInvalidClusterSize);
    Launch large(16, 16);
    OK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
    CHECK(cudaLaunchKernelEx(&large.config, histogram, static_cast<const unsigned*>(nullptr), 0, static_cast<unsigned*>(nullptr)) ==
          cudaErrorInvalidClusterSize);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 2) == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeClusterSchedulingPolicyPreference, 3) == cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(copied(ran, 1)[0] == 8);
    // What the program sets is as if it were compiled in.
    for (const auto side :
         {cudaFuncAttributeRequiredClusterWidth, cudaFuncAttributeRequiredClusterHeight, cudaFuncAttributeRequiredClusterDepth})
        OK(cudaFuncSetAttribute(bounded, side, side == cudaFuncAttributeRequiredClusterWidth ? 2 : 1));
    bounded<<<3, kThreads>>>(ran);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    bounded<<<4, kThreads>>>(ran);
    OK(cudaGetLastError());
    CHECK(launched(8, dim3(4, 1, 1)) == cudaErrorInvalidClusterSize);
    CHECK(copied(ran, 1)[0] == 12);
}

void occupancy() {
    int can, sms, clusters, most, per_sm;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, 0));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(can == 1);
    Launch launch(16, 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, histogram, kThreads, 0));
    OK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &launch.config));
    CHECK(clusters == sms * per_sm / 4);
    OK(cudaOccupancyMaxPotentialClusterSize(&most, histogram, &launch.config));
    CHECK(most == 8);
    OK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(cudaOccupancyMaxPotentialClusterSize(&most, histogram, &launch.config));
    CHECK(most == 16);
    OK(cudaOccupancyMaxPotentialClusterSize(&most, pass_on, &launch.config));
    CHECK(most == 4);
    launch.config.numAttrs = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &launch.config) == cudaErrorInvalidClusterSize);
    cudaGetLastError();
}

// ---- tensors

constexpr int kWidth = 100, kHeight = 40, kPitch = 128;  // of a matrix of floats
constexpr unsigned kBoxWidth = 32, kBoxHeight = 16;

__device__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ void wait(unsigned barrier, unsigned phase) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(barrier),
        "r"(phase)
        : "memory");
}

/// Doubles a box of the matrix: the tensor memory accelerator copies it to shared memory, where chunks of 16 bytes are permuted, and back.
__global__ void double_box(const __grid_constant__ CUtensorMap map, int x, int y, float* seen) {
    __shared__ alignas(1024) float box[kBoxHeight][kBoxWidth];
    __shared__ alignas(8) unsigned long long ready;
    const unsigned to = shared_address(box), barrier = shared_address(&ready);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(unsigned{sizeof box}) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
            "l"(&map), "r"(x), "r"(y), "r"(barrier)
            : "memory");
    }
    __syncthreads();
    wait(barrier, 0);
    for (unsigned i = threadIdx.x; i < kBoxWidth * kBoxHeight; i += blockDim.x) {
        const unsigned row = i / kBoxWidth, chunk = i % kBoxWidth / 4 ^ row % 8;
        float& value = box[row][chunk * 4 + i % 4];
        seen[i] = value;
        value *= 2;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x != 0) return;
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(to)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}

using EncodeTiled = CUresult(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                             const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/// Arguments of cuTensorMapEncodeTiled, all right at first.
struct Tensor {
    CUtensorMap map{};
    CUtensorMap* to = &map;
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    cuuint32_t rank = 2;
    void* address = nullptr;
    cuuint64_t size[5] = {kWidth, kHeight, 1, 1, 1};
    cuuint64_t stride[4] = {kPitch * sizeof(float), kPitch* kHeight * sizeof(float), 16, 16};
    cuuint32_t box[5] = {kBoxWidth, kBoxHeight, 1, 1, 1};
    cuuint32_t step[5] = {1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

    CUresult encode() {
        static EncodeTiled* const function = driver<EncodeTiled>("cuTensorMapEncodeTiled");
        return function(to, type, rank, address, size, stride, box, step, interleave, swizzle, promotion, fill);
    }
};
template <class Change>
CUresult encoded(const Change& change) {
    Tensor tensor;
    tensor.address = reinterpret_cast<void*>(1 << 20);
    change(tensor);
    return tensor.encode();
}

void wrong_maps() {
    const auto wrong = [](auto change) { return encoded(change) == CUDA_ERROR_INVALID_VALUE; };
    CHECK(encoded([](Tensor&) {}) == CUDA_SUCCESS);
    CHECK(wrong([](Tensor& t) { t.to = nullptr; }));
    CHECK(wrong([](Tensor& t) { t.to = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(&t.map) + 16); }));
    CHECK(wrong([](Tensor& t) { t.rank = 0; }));
    CHECK(wrong([](Tensor& t) { t.rank = 6; }));
    CHECK(wrong([](Tensor& t) { t.address = reinterpret_cast<void*>((1 << 20) + 8); }));
    CHECK(wrong([](Tensor& t) { t.size[1] = 0; }));
    CHECK(wrong([](Tensor& t) { t.size[1] = (1ull << 32) + 1; }));
    CHECK(encoded([](Tensor& t) { t.size[1] = 1ull << 32; }) == CUDA_SUCCESS);
    CHECK(wrong([](Tensor& t) { t.stride[0] = 408; }));
    CHECK(wrong([](Tensor& t) { t.stride[0] = 1ull << 40; }));
    CHECK(wrong([](Tensor& t) { t.box[1] = 0; }));
    CHECK(wrong([](Tensor& t) { t.box[1] = 257; }));
    CHECK(wrong([](Tensor& t) { t.box[0] = 5; }));   // 20 bytes
    CHECK(wrong([](Tensor& t) { t.box[0] = 36; }));  // 144 bytes, swizzled within 128
    CHECK(wrong([](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }));
    CHECK(encoded([](Tensor& t) { t.box[0] = 36, t.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE; }) == CUDA_SUCCESS);
    CHECK(wrong([](Tensor& t) { t.step[1] = 0; }));
    CHECK(wrong([](Tensor& t) { t.step[1] = 9; }));
    CHECK(encoded([](Tensor& t) { t.step[0] = 9; }) == CUDA_SUCCESS);  // ignored
    CHECK(wrong([](Tensor& t) { t.type = static_cast<CUtensorMapDataType>(99); }));
    CHECK(wrong([](Tensor& t) { t.swizzle = static_cast<CUtensorMapSwizzle>(-1); }));
    CHECK(wrong([](Tensor& t) { t.fill = static_cast<CUtensorMapFloatOOBfill>(2); }));
    CHECK(wrong([](Tensor& t) { t.type = CU_TENSOR_MAP_DATA_TYPE_INT32, t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; }));
    CHECK(encoded([](Tensor& t) { t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; }) == CUDA_ERROR_NOT_SUPPORTED);
    const auto replace = driver<CUresult(CUtensorMap*, void*)>("cuTensorMapReplaceAddress");
    CUtensorMap empty{};
    CHECK(replace(&empty, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

void boxes() {
    std::vector<float> values(kPitch * kHeight);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 1;
    float* const matrix = on_device(values);
    float* const seen = on_device(std::vector<float>(kBoxWidth * kBoxHeight));
    Tensor tensor;
    CHECK(tensor.encode() == CUDA_SUCCESS);
    const auto replace = driver<CUresult(CUtensorMap*, void*)>("cuTensorMapReplaceAddress");
    CHECK(replace(&tensor.map, reinterpret_cast<char*>(matrix) + 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(replace(&tensor.map, matrix) == CUDA_SUCCESS);
    for (const auto& [x, y] : {std::pair{32, 16}, {0, -3}, {-8, 30}, {90, 31}}) {
        double_box<<<1, 64>>>(tensor.map, x, y, seen);
        OK(cudaGetLastError());
        const std::vector<float> box = copied(seen, kBoxWidth * kBoxHeight);
        for (int row = 0; row < static_cast<int>(kBoxHeight); ++row) {
            for (int column = 0; column < static_cast<int>(kBoxWidth); ++column) {
                const int u = x + column, v = y + row;
                const bool inside = u >= 0 && u < kWidth && v >= 0 && v < kHeight;
                CHECK(box[row * kBoxWidth + column] == (inside ? values[v * kPitch + u] : 0));
                if (inside) values[v * kPitch + u] *= 2;
            }
        }
        CHECK(copied(matrix, values.size()) == values);
    }
}

/// A map that nobody made: the launch fails, and says why.
void hostile() {
    CUtensorMap map;
    for (std::size_t i = 0; i < sizeof map; ++i) reinterpret_cast<unsigned char*>(&map)[i] = static_cast<unsigned char>(i * 37 + 11);
    double_box<<<1, 64>>>(map, 0, 0, nullptr);
    std::printf("clusters: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

int main(int count, char** words) {
    const struct {
        const char* name;
        void (*test)();
    } parts[] = {{"hostile", hostile}, {"cluster", compiled_in}, {"tensor", boxes}};
    for (const auto& part : parts) {
        if (count > 1 && std::strcmp(words[1], part.name) == 0) {
            part.test();
            return 0;
        }
    }
    occupancy();
    histograms();
    compiled_in();
    sizes_that_cannot_be();
    wrong_maps();
    boxes();
    std::printf("clusters: all as expected\n");
}
