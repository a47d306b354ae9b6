// SPDX-License-Identifier: MIT
// A radius-4 star stencil in three dimensions. A CTA of 32x16 threads owns a column of the volume and marches along z: nine values
// of z in registers, the plane with its halo in shared memory. The volume is padded by the radius on every side, so rows are not
// aligned to cache lines.

constexpr int kRadius = 4;
constexpr int kWide = 32;
constexpr int kHigh = 16;

__constant__ float weights[kRadius + 1] = {0.40f, 0.055f, 0.025f, 0.0125f, 0.0075f};

extern "C" __global__ void fdtd_step(float* out, const float* in, int width, int height, int depth) {
    __shared__ float tile[kHigh + 2 * kRadius][kWide + 2 * kRadius];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = width + 2 * kRadius;
    const int plane = row * (height + 2 * kRadius);
    int index = kRadius * plane + (kHigh * blockIdx.y + ty + kRadius) * row + kWide * blockIdx.x + tx + kRadius;
    float behind[kRadius], ahead[kRadius];
    float here = in[index];
#pragma unroll
    for (int i = 0; i < kRadius; ++i) {
        behind[i] = in[index - (i + 1) * plane];
        ahead[i] = in[index + (i + 1) * plane];
    }
    for (int z = 0; z < depth; ++z) {
        tile[ty + kRadius][tx + kRadius] = here;
        if (ty < kRadius) {
            tile[ty][tx + kRadius] = in[index - kRadius * row];
            tile[ty + kHigh + kRadius][tx + kRadius] = in[index + kHigh * row];
        }
        if (tx < kRadius) {
            tile[ty + kRadius][tx] = in[index - kRadius];
            tile[ty + kRadius][tx + kWide + kRadius] = in[index + kWide];
        }
        __syncthreads();
        float value = weights[0] * here;
#pragma unroll
        for (int i = 1; i <= kRadius; ++i) {
            value += weights[i] * (ahead[i - 1] + behind[i - 1] + tile[ty + kRadius - i][tx + kRadius] +
                                   tile[ty + kRadius + i][tx + kRadius] + tile[ty + kRadius][tx + kRadius - i] +
                                   tile[ty + kRadius][tx + kRadius + i]);
        }
        out[index] = value;
        __syncthreads();
        // One plane further.
#pragma unroll
        for (int i = kRadius - 1; i > 0; --i) behind[i] = behind[i - 1];
        behind[0] = here;
        here = ahead[0];
#pragma unroll
        for (int i = 0; i < kRadius - 1; ++i) ahead[i] = ahead[i + 1];
        index += plane;
        if (z < depth - 1) ahead[kRadius - 1] = in[index + kRadius * plane];
    }
}
