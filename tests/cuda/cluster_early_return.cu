// SPDX-License-Identifier: MIT
// Threads return early, whole warps and CTAs among them, and thread 0, which speaks for its CTA. In a function of its own, as the body is
// here, `return` stays as it was.
#include "cluster.cuh"

struct Escape {
    unsigned* steps;
    int width, height;

    __device__ void operator()(dim3 block, dim3 grid) const {
        const int x = block.x * blockDim.x + threadIdx.x, y = block.y * blockDim.y + threadIdx.y;
        if (x >= width || y >= height) return;
        if ((block.x + grid.x * block.y) % 5 == 3) return;
        if (threadIdx.x == 0 && block.y % 2 == 1) return;
        unsigned value = 1 + x * 977 + y * 131, count = 0;
        for (; value != 1 && count < 40; ++count) {
            value = value % 2 == 0 ? value / 2 : 3 * value + 1;
            if (value % 1024 == 7) return;
        }
        steps[y * width + x] = count;
    }
};

int main() {
    constexpr int width = 150, height = 99;
    DeviceArray<unsigned> steps(width * height);
    compare("early return", {dim3((width + 31) / 32, (height + 3) / 4), dim3(32, 4)}, steps, 0xFF, Escape{steps.at(), width, height});
}
