// SPDX-License-Identifier: MIT
// Coulomb's potential of point charges on a lattice. CTAs of 16x8 threads, each thread with eight points of a row, 16 apart. All read the
// same charges, in tiles through shared memory, and add what they make to the lattice once.

constexpr int kX = 16, kY = 8, kPoints = 8, kTile = 128;

extern "C" __global__ void cp_lattice(float* lattice, const float4* atoms, int count, float spacing) {
    __shared__ float4 tile[kTile];
    const int t = threadIdx.y * kX + threadIdx.x;
    const int first = blockIdx.x * kX * kPoints + threadIdx.x, row = blockIdx.y * kY + threadIdx.y;
    const int width = gridDim.x * kX * kPoints;
    const float x = spacing * first, y = spacing * row, step = spacing * kX;
    float energy[kPoints] = {};
    for (int done = 0; done < count; done += kTile) {
        __syncthreads();
        tile[t] = atoms[done + t];
        __syncthreads();
        for (int a = 0; a < kTile; ++a) {
            const float4 atom = tile[a];  // x, y, square of z, charge
            const float dy = y - atom.y, square = dy * dy + atom.z;
            float dx = x - atom.x;
#pragma unroll
            for (int p = 0; p < kPoints; ++p) {
                energy[p] += atom.w * rsqrtf(dx * dx + square);
                dx += step;
            }
        }
    }
#pragma unroll
    for (int p = 0; p < kPoints; ++p) lattice[row * width + first + p * kX] += energy[p];
}
