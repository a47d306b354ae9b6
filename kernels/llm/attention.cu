// SPDX-License-Identifier: MIT
// mergelane: target compute_80
// Forward pass of causal attention with grouped queries, in tiles with a running softmax: no score reaches memory. A CTA of four warps takes
// 64 queries of one head and walks over tiles of 64 keys, a warp takes 16 queries. Products run on tensor units in f16 with sums in f32. The
// keys of the next tile arrive by cp.async during the second product, its values during the first. Heads have 128 dimensions.

namespace {

constexpr int kHead = 128, kTile = 64, kThreads = 128;
constexpr int kChunks = kHead / 8;  // of 16 bytes, in a row
constexpr int kRowBytes = kHead * 2;
constexpr int kTileBytes = kTile * kRowBytes;

__device__ __forceinline__ unsigned chunk_at(int row, int chunk) {
    return row * kRowBytes + (chunk ^ (row & 7)) * 16;
}

// Zeros if there are no bytes to read.
__device__ __forceinline__ void copy_async(unsigned to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
__device__ __forceinline__ float exp2_of(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// 64 rows of one head; `from` is its first row, and `pitch` the distance of rows.
__device__ __forceinline__ void load_tile(unsigned to, const unsigned short* from, int pitch, int first, int tokens) {
#pragma unroll
    for (int i = 0; i < kTile * kChunks / kThreads; ++i) {
        const int at = threadIdx.x + i * kThreads, row = at / kChunks, chunk = at % kChunks;
        const bool inside = first + row < tokens;
        copy_async(to + chunk_at(row, chunk), from + (long long)(inside ? first + row : 0) * pitch + chunk * 8, inside ? 16 : 0);
    }
}

// Scores of 16 queries and 64 keys.
__device__ __forceinline__ void scores(float (&score)[8][4], const unsigned (&query)[8][4], unsigned keys, int lane) {
#pragma unroll
    for (int step = 0; step < 8; ++step) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            unsigned b[4];
            load_matrices(b, keys + chunk_at(j * 16 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
            multiply(score[2 * j], query[step], b[0], b[1]);
            multiply(score[2 * j + 1], query[step], b[2], b[3]);
        }
    }
}

// Adds the values of 64 keys, weighted by what the softmax gave them.
__device__ __forceinline__ void add_values(float (&sum)[16][4], const float (&weight)[8][4], unsigned values, int lane) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        const float(&left)[4] = weight[2 * step];
        const float(&right)[4] = weight[2 * step + 1];
        const unsigned a[4] = {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])};
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            unsigned b[4];
            load_transposed(b, values + chunk_at(step * 16 + lane % 16, j * 2 + lane / 16));
            multiply(sum[2 * j], a, b[0], b[1]);
            multiply(sum[2 * j + 1], a, b[2], b[3]);
        }
    }
}

// A lane holds two rows of the scores, `half` says which; four lanes share a row.
__device__ __forceinline__ void softmax_row(float (&score)[8][4], float (&sum)[16][4], float& most, float& total, int half) {
    float largest = most;
#pragma unroll
    for (int j = 0; j < 8; ++j) largest = fmaxf(largest, fmaxf(score[j][half * 2], score[j][half * 2 + 1]));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
    const float shrink = exp2_of(most - largest);
    most = largest;
    total *= shrink;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
            score[j][i] = exp2_of(score[j][i] - largest);
            total += score[j][i];
        }
    }
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        sum[j][half * 2] *= shrink;
        sum[j][half * 2 + 1] *= shrink;
    }
}

}  // namespace

// Queries and results: tokens x heads x 128. Keys and values: tokens x groups x 128; heads / groups heads share one of them. `scale` includes
// the logarithm of e to base 2.
extern "C" __global__ void attention_forward(const unsigned short* queries, const unsigned short* keys, const unsigned short* values,
                                             unsigned* results, int tokens, int heads, int groups, float scale) {
    __shared__ __align__(128) unsigned char tiles[2 * kTileBytes];
    const unsigned key_tile = (unsigned)__cvta_generic_to_shared(tiles), value_tile = key_tile + kTileBytes;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // The last tiles of queries see the most keys: they go first.
    const int first = (gridDim.x - 1 - blockIdx.x) * kTile, head = blockIdx.y, group = head / (heads / groups);
    const int pitch = heads * kHead, shared_pitch = groups * kHead;
    keys += group * kHead;
    values += group * kHead;

    unsigned query[8][4];
    load_tile(key_tile, queries + head * kHead, pitch, first, tokens);
    commit();
    wait<0>();
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 8; ++step) load_matrices(query[step], key_tile + chunk_at(warp * 16 + lane % 16, step * 2 + lane / 16));
    __syncthreads();

    load_tile(key_tile, keys, shared_pitch, 0, tokens);
    commit();
    load_tile(value_tile, values, shared_pitch, 0, tokens);
    commit();
    float sum[16][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {0, 0};
    const int row = first + warp * 16 + lane / 4;
    for (int key = 0; key <= first; key += kTile) {
        wait<1>();
        __syncthreads();
        float score[8][4] = {};
        scores(score, query, key_tile, lane);
        __syncthreads();
        if (key < first) load_tile(key_tile, keys, shared_pitch, key + kTile, tokens);
        commit();
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int column = key + j * 8 + lane % 4 * 2 + i % 2;
                score[j][i] = column <= row + i / 2 * 8 ? score[j][i] * scale : -1e30f;
            }
        }
        softmax_row(score, sum, most[0], total[0], 0);
        softmax_row(score, sum, most[1], total[1], 1);
        wait<1>();
        __syncthreads();
        add_values(sum, score, value_tile, lane);
        __syncthreads();
        if (key < first) load_tile(value_tile, values, shared_pitch, key + kTile, tokens);
        commit();
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        total[half] += __shfl_xor_sync(~0u, total[half], 1);
        total[half] += __shfl_xor_sync(~0u, total[half], 2);
        const float share = 1.0f / total[half];
        const int r = row + half * 8;
        if (r >= tokens) continue;
        unsigned* to = results + ((long long)r * pitch + head * kHead) / 2 + lane % 4;
#pragma unroll
        for (int j = 0; j < 16; ++j) to[j * 4] = pack(sum[j][half * 2] * share, sum[j][half * 2 + 1] * share);
    }
}
