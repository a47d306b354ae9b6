// SPDX-License-Identifier: MIT
// mergelane: target compute_90a
// The linear layer of gemm_mma.cu as sm_90 does it: C = A W^T in f16 with sums in f32. A CTA of two warpgroups and a warp that copies makes
// 128 x 64 results, a warpgroup 64 x 64, from tiles of 64 columns in four stages. Tensor copies bring the tiles; they fill what is beyond
// the edges with zeros, and exchange the 16-byte chunks of a row as wgmma expects them. For each stage, an mbarrier counts the bytes that
// have arrived, and another one the warps that have read them. In the second kernel, two CTAs that need the same rows of A form a cluster:
// each copies half of these rows to both, when the warps of both have read the stage.

namespace {

constexpr int kRows = 128, kColumns = 64, kInner = 64;
constexpr int kStages = 4;
constexpr int kGroupThreads = 128, kGroups = 2;
constexpr int kConsumers = kGroups * kGroupThreads;  // threads
constexpr int kRowBytes = kInner * 2;
constexpr int kTileBytes = kRows * kRowBytes;
constexpr int kStageBytes = kTileBytes + kColumns * kRowBytes;

// What the host describes a matrix by: 128 bytes.
struct __align__(64) TensorMap {
    unsigned char bytes[128];
};

__device__ __forceinline__ void init(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_at(unsigned barrier, unsigned rank) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(
            barrier),
        "r"(rank)
        : "memory");
}
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned over;
    do {
        asm volatile("{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (over == 0);
}
__device__ __forceinline__ void copy_tile(unsigned to, const TensorMap& map, int column, int row, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void copy_to_both(unsigned to, const TensorMap& map, int column, int row, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], "
        "%5;" ::"r"(to),
        "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)3)
        : "memory");
}

// Rows of 128 bytes with exchanged chunks; eight of them are 1024 bytes.
__device__ __forceinline__ unsigned long long descriptor(unsigned tile) {
    return 1ull << 62 | 64ull << 32 | 1ull << 16 | (tile & 0x3FFFF) >> 4;
}
#define FOUR(array, i) "+f"(array[i]), "+f"(array[(i) + 1]), "+f"(array[(i) + 2]), "+f"(array[(i) + 3])
__device__ __forceinline__ void multiply(float (&sum)[32], unsigned long long a, unsigned long long w) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : FOUR(sum, 0), FOUR(sum, 4), FOUR(sum, 8), FOUR(sum, 12), FOUR(sum, 16), FOUR(sum, 20), FOUR(sum, 24), FOUR(sum, 28)
        : "l"(a), "l"(w));
}
#undef FOUR

__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// Stages and the parity of their barriers, step by step.
struct Position {
    unsigned stage = 0, parity = 0;
    __device__ __forceinline__ void next() {
        stage = stage == kStages - 1 ? 0 : stage + 1;
        parity ^= stage == 0;
    }
};

// kMulticast: as one of two CTAs with the same rows of A, of which `a` brings one half at a time.
template <bool kMulticast>
__device__ __forceinline__ void gemm(const TensorMap& a, const TensorMap& w, unsigned* c, int tokens, int outputs, int inner) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    const unsigned shared = (unsigned)__cvta_generic_to_shared(tiles);
    const unsigned full = shared + kStages * kStageBytes, empty = full + kStages * 8;
    const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
    const unsigned rank = kMulticast ? rank_in_cluster() : 0;
    const int steps = (inner + kInner - 1) / kInner;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            init(full + stage * 8, 1);
            init(empty + stage * 8, (kMulticast ? 2 : 1) * kConsumers / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (kMulticast)
        sync_cluster();
    else
        __syncthreads();
    Position at;
    if (threadIdx.x >= kConsumers) {
        if (threadIdx.x != kConsumers) return;
#pragma unroll 1
        for (int step = 0; step < steps; ++step, at.next()) {
            const unsigned to = shared + at.stage * kStageBytes, arrived = full + at.stage * 8;
            wait(empty + at.stage * 8, at.parity ^ 1);  // at first, all stages are empty
            expect(arrived, kStageBytes);
            if (kMulticast)
                copy_to_both(to + rank * (kTileBytes / 2), a, step * kInner, row + rank * (kRows / 2), arrived);
            else
                copy_tile(to, a, step * kInner, row, arrived);
            copy_tile(to + kTileBytes, w, step * kInner, column, arrived);
        }
        return;
    }
    const int group = threadIdx.x / kGroupThreads, warp = threadIdx.x % kGroupThreads / 32, lane = threadIdx.x % 32;
    float sum[32] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step, at.next()) {
        const unsigned from = shared + at.stage * kStageBytes;
        wait(full + at.stage * 8, at.parity);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const unsigned long long of_a = descriptor(from + group * 64 * kRowBytes), of_w = descriptor(from + kTileBytes);
#pragma unroll
        for (int k = 0; k < kInner / 16; ++k) multiply(sum, of_a + k * 2, of_w + k * 2);  // 32 bytes
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (lane == 0) arrive(empty + at.stage * 8);
        if (kMulticast && lane == 0) arrive_at(empty + at.stage * 8, rank ^ 1);
    }
    if (kMulticast) sync_cluster();  // the other CTA still arrives here
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int r = row + group * 64 + warp * 16 + i % 2 * 8 + lane / 4, k = column + i / 2 * 8 + lane % 4 * 2;
        if (r < tokens && k < outputs) c[((long long)r * outputs + k) / 2] = pack(sum[i * 2], sum[i * 2 + 1]);
    }
}

}  // namespace

extern "C" __global__ void gemm_wgmma_f16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap w, unsigned* c, int tokens,
                                          int outputs, int inner) {
    gemm<false>(a, w, c, tokens, outputs, inner);
}

extern "C" __cluster_dims__(2, 1, 1) __global__ void gemm_wgmma_multicast_f16(const __grid_constant__ TensorMap a,
                                                                              const __grid_constant__ TensorMap w, unsigned* c, int tokens,
                                                                              int outputs, int inner) {
    gemm<true>(a, w, c, tokens, outputs, inner);
}
