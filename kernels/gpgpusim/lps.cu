// SPDX-License-Identifier: MIT
// A step of Jacobi's iteration for Laplace's equation in a volume. CTAs of 32x4 threads march along z with three planes of 34x6 values in shared
// memory. In every step each thread reads its own value of the next plane; two warps read the rows beside the tile, eight threads of another the
// columns beside it, a line each.

constexpr int kX = 32, kY = 4;

extern "C" __global__ void lps_step(const float* from, float* to, int nx, int ny, int nz, int pitch) {
    __shared__ float plane[3][kY + 2][kX + 2];
    const int tx = threadIdx.x, ty = threadIdx.y, n = ty * kX + tx;
    const int i = blockIdx.x * kX + tx, j = blockIdx.y * kY + ty;
    const bool inside = i < nx && j < ny;
    // The value beside the tile that this thread fetches, if any.
    const bool row = n < 2 * kX;
    const int hx = row ? tx + 1 : (n & 1) * (kX + 1);
    const int hy = row ? (n / kX) * (kY + 1) : (n - 2 * kX) / 2 + 1;
    const int hi = static_cast<int>(blockIdx.x) * kX + hx - 1, hj = static_cast<int>(blockIdx.y) * kY + hy - 1;
    const bool beside = n < 2 * kX + 2 * kY && hi >= 0 && hi < nx && hj >= 0 && hj < ny;
    const int slice = ny * pitch;
    int at = j * pitch + i, halo = hj * pitch + hi;
    int below = 2, here = 0, above = 1;
    if (inside) plane[here][ty + 1][tx + 1] = from[at];
    if (beside) plane[here][hy][hx] = from[halo];
    for (int k = 0; k < nz; ++k) {
        if (k + 1 < nz) {
            if (inside) plane[above][ty + 1][tx + 1] = from[at + slice];
            if (beside) plane[above][hy][hx] = from[halo + slice];
        }
        __syncthreads();
        if (inside) {
            float value = plane[here][ty + 1][tx + 1];
            if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1)
                value = (plane[here][ty + 1][tx] + plane[here][ty + 1][tx + 2] + plane[here][ty][tx + 1] + plane[here][ty + 2][tx + 1] +
                         plane[below][ty + 1][tx + 1] + plane[above][ty + 1][tx + 1]) *
                        (1.0f / 6.0f);
            to[at] = value;
        }
        __syncthreads();
        at += slice;
        halo += slice;
        const int old = below;
        below = here;
        here = above;
        above = old;
    }
}
