// SPDX-License-Identifier: MIT
// A matrix turned through shared memory, on a 2-D grid whose last CTAs stand over the edges.
#include "cluster.cuh"

struct Transpose {
    const float* in;
    float* out;
    int width, height;

    __device__ void operator()(dim3 block, dim3) const {
        __shared__ float tile[32][33];
        const int x = block.x * 32 + threadIdx.x, y = block.y * 32 + threadIdx.y;
        for (int row = 0; row < 32; row += 8)
            if (x < width && y + row < height) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
        __syncthreads();
        const int to_x = block.y * 32 + threadIdx.x, to_y = block.x * 32 + threadIdx.y;
        for (int row = 0; row < 32; row += 8)
            if (to_x < height && to_y + row < width) out[(to_y + row) * height + to_x] = tile[threadIdx.x][threadIdx.y + row];
    }
};

int main() {
    constexpr int width = 301, height = 170;
    const DeviceArray<float> in(random_floats(width * height));
    DeviceArray<float> out(width * height);
    compare("transpose", {dim3((width + 31) / 32, (height + 31) / 32), dim3(32, 8)}, out, 0xFF,
            Transpose{in.at(), out.at(), width, height});
}
