// SPDX-License-Identifier: MIT
// mergelane: target compute_80
// A linear layer on tensor units: C = A W^T, activations A of tokens x inner, weights W of outputs x inner, in f16 or bf16 with sums in f32.
// A CTA of four warps makes 128 x 64 results, a warp 64 x 32, from tiles of 32 columns that cp.async brings into shared memory two to four
// stages ahead. Tiles are swizzled: the 16-byte chunks of a row are exchanged such that the eight rows of an 8 x 8 matrix lie in different
// banks. `inner` is a multiple of 32; rows beyond the edges are zero.

namespace {

constexpr int kRows = 128, kColumns = 64, kInner = 32;
constexpr int kThreads = 128;
constexpr int kChunks = kInner / 8;  // of 16 bytes, in a row of a tile
constexpr int kRowBytes = kInner * 2;
constexpr int kStageBytes = (kRows + kColumns) * kRowBytes;

struct Problem {
    const unsigned short* a;
    const unsigned short* w;
    unsigned* c;
    int tokens, outputs, inner;
};

__device__ __forceinline__ unsigned chunk_at(int row, int chunk) {
    return row * kRowBytes + ((chunk ^ (row >> 1)) & (kChunks - 1)) * 16;
}

// Zeros if there are no bytes to read.
template <int kOffset>
__device__ __forceinline__ void copy_async(unsigned to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0 + %3], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(kOffset) : "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

template <int kOffset>
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from), "n"(kOffset)
                 : "memory");
}

template <bool kBf16>
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    if (kBf16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool kBf16>
__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    if (kBf16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// What a thread copies of a matrix: 16 bytes of every 32nd row of a tile. The swizzle is the same for all of them.
template <int kCount>
struct Copies {
    const unsigned short* from[kCount];
    int bytes[kCount];

    __device__ __forceinline__ Copies(const unsigned short* matrix, int inner, int first, int rows) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            const int row = first + threadIdx.x / kChunks + i * (kThreads / kChunks);
            bytes[i] = row < rows ? 16 : 0;
            from[i] = matrix + (long long)(row < rows ? row : 0) * inner + threadIdx.x % kChunks * 8;
        }
    }
    // Into a tile that begins kOffset bytes behind `to`.
    template <int kOffset, int kFirst = 0>
    __device__ __forceinline__ void start(unsigned to) {
        if constexpr (kFirst < kCount) {
            copy_async<kOffset + kFirst * (kThreads / kChunks) * kRowBytes>(to, from[kFirst], bytes[kFirst]);
            from[kFirst] += kInner;
            start<kOffset, kFirst + 1>(to);
        }
    }
};

// The products of one stage: two steps of 16 columns. `a_at` and `w_at` are where this lane's rows begin in a stage.
template <bool kBf16>
__device__ __forceinline__ void multiply_stage(float (&sum)[4][4][4], unsigned a_at, unsigned w_at, unsigned stage) {
#pragma unroll
    for (int step = 0; step < kInner / 16; ++step) {
        unsigned a[4][4], b[2][4];
        const unsigned from_a = stage + (a_at ^ step * 32), from_w = stage + (w_at ^ step * 32);
        load_matrices<0>(a[0], from_a);
        load_matrices<16 * kRowBytes>(a[1], from_a);
        load_matrices<32 * kRowBytes>(a[2], from_a);
        load_matrices<48 * kRowBytes>(a[3], from_a);
        load_matrices<kRows * kRowBytes>(b[0], from_w);
        load_matrices<(kRows + 16) * kRowBytes>(b[1], from_w);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) multiply<kBf16>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

// The grid has a CTA for each tile. CTAs take them in groups of `group` rows of tiles, column by column within a group, so that CTAs that
// run together share weights and activations. A group of one row is the plain order.
__device__ __forceinline__ void tile_of_cta(int group, int& row, int& column) {
    const int cta = blockIdx.y * gridDim.x + blockIdx.x;
    const int first = cta / (group * gridDim.x) * group;
    const int in_group = cta % (group * gridDim.x);
    const int rows = min(group, (int)gridDim.y - first);
    row = (first + in_group % rows) * kRows;
    column = in_group / rows * kColumns;
}

template <bool kBf16>
__device__ __forceinline__ void store(const Problem& p, const float (&sum)[4][4][4], int row, int column) {
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            const int c = column + j * 8;
            for (int half = 0; half < 2; ++half) {
                const int r = row + i * 16 + half * 8;
                if (r < p.tokens && c < p.outputs)
                    p.c[((long long)r * p.outputs + c) / 2] = pack<kBf16>(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
        }
    }
}

template <int kStages, bool kBf16>
__device__ __forceinline__ void product(const Problem& p, int group) {
    __shared__ __align__(128) unsigned char tiles[kStages * kStageBytes];
    const unsigned shared = (unsigned)__cvta_generic_to_shared(tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 2 * 64, warp_column = warp % 2 * 32;
    int row, column;
    tile_of_cta(group, row, column);
    Copies<kRows * kChunks / kThreads> a(p.a, p.inner, row, p.tokens);
    Copies<kColumns * kChunks / kThreads> w(p.w, p.inner, column, p.outputs);
    const unsigned to = shared + chunk_at(threadIdx.x / kChunks, threadIdx.x % kChunks);
    const unsigned a_at = chunk_at(warp_row + lane % 16, lane / 16), w_at = chunk_at(warp_column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    const auto load = [&](unsigned stage) {
        a.template start<0>(to + stage);
        w.template start<kRows * kRowBytes>(to + stage);
    };
    float sum[4][4][4] = {};
    const int steps = p.inner / kInner;
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
        if (stage < steps) load(stage * kStageBytes);
        commit();
    }
    unsigned filled = (kStages - 1) * kStageBytes, read = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wait<kStages - 2>();
        __syncthreads();  // the stage has arrived for all, and all have read the one that is filled next
        if (step + kStages - 1 < steps) load(filled);
        commit();
        multiply_stage<kBf16>(sum, a_at, w_at, shared + read);
        filled = filled == (kStages - 1) * kStageBytes ? 0 : filled + kStageBytes;
        read = read == (kStages - 1) * kStageBytes ? 0 : read + kStageBytes;
    }
    store<kBf16>(p, sum, row + warp_row + lane / 4, column + warp_column + lane % 4 * 2);
}

}  // namespace

extern "C" __global__ void gemm_f16_2_stages(const unsigned short* a, const unsigned short* w, unsigned* c, int tokens, int outputs,
                                             int inner, int group) {
    product<2, false>({a, w, c, tokens, outputs, inner}, group);
}
extern "C" __global__ void gemm_f16_3_stages(const unsigned short* a, const unsigned short* w, unsigned* c, int tokens, int outputs,
                                             int inner, int group) {
    product<3, false>({a, w, c, tokens, outputs, inner}, group);
}
extern "C" __global__ void gemm_f16_4_stages(const unsigned short* a, const unsigned short* w, unsigned* c, int tokens, int outputs,
                                             int inner, int group) {
    product<4, false>({a, w, c, tokens, outputs, inner}, group);
}
extern "C" __global__ void gemm_bf16_3_stages(const unsigned short* a, const unsigned short* w, unsigned* c, int tokens, int outputs,
                                              int inner, int group) {
    product<3, true>({a, w, c, tokens, outputs, inner}, group);
}
