// SPDX-License-Identifier: MIT
// Products of matrices on tensor cores: wmma fragments, and ldmatrix with mma.sync where the architecture has it.
#include <cuda_fp16.h>
#include <mma.h>

#include <vector>

#include "check.cuh"

using namespace nvcuda;

constexpr int kM = 128, kN = 128, kK = 96;

/// Each warp computes 16 x 16 elements, operands straight from global memory.
__global__ void by_wmma(const half* a, const half* b, float* c) {
    const int tile = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int row = tile / (kN / 16) * 16, column = tile % (kN / 16) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int k = 0; k < kK; k += 16) {
        wmma::load_matrix_sync(fa, a + row * kK + k, kK);
        wmma::load_matrix_sync(fb, b + k * kN + column, kN);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2;
    wmma::store_matrix_sync(c + row * kN + column, sum, kN, wmma::mem_row_major);
}

/// Each warp computes 16 x 8 elements; tiles go through shared memory.
__global__ void by_mma(const half* a, const half* b, float* c) {
    __shared__ __align__(16) half a_tile[16][16 + 8];
    __shared__ __align__(16) half b_tile[16][8];
    const int lane = static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y) * 16, column = static_cast<int>(blockIdx.x) * 8;
    float d[4] = {1, 1, 1, 1};
    for (int k = 0; k < kK; k += 16) {
        for (int i = lane; i < 256; i += 32) a_tile[i / 16][i % 16] = a[(row + i / 16) * kK + k + i % 16];
        for (int i = lane; i < 128; i += 32) b_tile[i / 8][i % 8] = b[(k + i / 8) * kN + column + i % 8];
        __syncwarp();
        unsigned x[4], y[2];
        const auto from_a = static_cast<unsigned>(__cvta_generic_to_shared(&a_tile[lane % 16][lane / 16 * 8]));
        const auto from_b = static_cast<unsigned>(__cvta_generic_to_shared(&b_tile[lane % 16][0]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from_a));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(from_b));
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#else
        for (int i = 0; i < 2; ++i)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[2 * i]), "r"(x[2 * i + 1]), "r"(y[i]));
#endif
        __syncwarp();
    }
    for (int i = 0; i < 4; ++i) c[(row + lane / 4 + i / 2 * 8) * kN + column + lane % 4 * 2 + i % 2] = 2 * d[i];
}

int main() {
    std::vector<half> a(kM * kK), b(kK * kN);
    std::vector<float> c(kM * kN);
    for (size_t i = 0; i < a.size(); ++i) a[i] = __float2half(static_cast<float>(i * 7 % 23) - 11);
    for (size_t i = 0; i < b.size(); ++i) b[i] = __float2half(static_cast<float>(i * 5 % 19) - 9);
    half *da, *db;
    float* dc;
    OK(cudaMalloc(&da, a.size() * sizeof(half)));
    OK(cudaMalloc(&db, b.size() * sizeof(half)));
    OK(cudaMalloc(&dc, c.size() * sizeof(float)));
    OK(cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice));
    for (int kernel = 0; kernel < 2; ++kernel) {
        OK(cudaMemset(dc, 0, c.size() * sizeof(float)));
        if (kernel == 0)
            by_wmma<<<kM / 16 * kN / 16 / 4, 128>>>(da, db, dc);
        else
            by_mma<<<dim3(kN / 8, kM / 16), 32>>>(da, db, dc);
        OK(cudaGetLastError());
        OK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
        for (int row = 0; row < kM; ++row) {
            for (int column = 0; column < kN; ++column) {
                float sum = 1;
                for (int k = 0; k < kK; ++k) sum += __half2float(a[row * kK + k]) * __half2float(b[k * kN + column]);
                CHECK(c[row * kN + column] == 2 * sum);
            }
        }
    }
    std::printf("wmma_gemm: both products are right\n");
}
