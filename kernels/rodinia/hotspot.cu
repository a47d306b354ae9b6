// SPDX-License-Identifier: MIT
// Heat on a chip: a five-point stencil whose CTA advances a 16x16 tile by up to two time steps in shared memory and keeps the
// inner 12x12 cells, so that neighbouring tiles overlap by four cells.

constexpr int kTile = 16;
constexpr int kBorder = 2;  // time steps one launch can make
constexpr int kInner = kTile - 2 * kBorder;

extern "C" __global__ void hotspot_steps(const float* temperature, const float* power, float* next, int rows, int columns, int steps,
                                         float step_over_capacity, float along_x, float along_y, float to_ambient) {
    __shared__ float now[kTile][kTile];
    __shared__ float heat[kTile][kTile];
    __shared__ float after[kTile][kTile];
    const float ambient = 80.0f;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = kInner * blockIdx.x + tx - kBorder;
    const int y = kInner * blockIdx.y + ty - kBorder;
    const bool on_chip = x >= 0 && x < columns && y >= 0 && y < rows;
    if (on_chip) {
        now[ty][tx] = temperature[y * columns + x];
        heat[ty][tx] = power[y * columns + x];
    }
    __syncthreads();

    // A cell at the chip's edge is its own neighbour.
    const int north = y > 0 ? ty - 1 : ty;
    const int south = y < rows - 1 ? ty + 1 : ty;
    const int west = x > 0 ? tx - 1 : tx;
    const int east = x < columns - 1 ? tx + 1 : tx;
    for (int step = 1; step <= steps; ++step) {
        const bool mine = on_chip && tx >= step && tx < kTile - step && ty >= step && ty < kTile - step;
        if (mine) {
            const float here = now[ty][tx];
            after[ty][tx] = here + step_over_capacity * (heat[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * here) * along_y +
                                                         (now[ty][east] + now[ty][west] - 2.0f * here) * along_x +
                                                         (ambient - here) * to_ambient);
        }
        __syncthreads();
        if (mine) now[ty][tx] = after[ty][tx];
        __syncthreads();
    }
    const bool inner = tx >= kBorder && tx < kTile - kBorder && ty >= kBorder && ty < kTile - kBorder;
    if (on_chip && inner) next[y * columns + x] = now[ty][tx];
}
