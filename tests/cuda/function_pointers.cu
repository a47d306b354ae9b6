// SPDX-License-Identifier: MIT
// Functions through pointers in a table, in constant memory and in virtual tables of objects made on the device.
#include <cstdio>

using Operation = float (*)(float, int);

__device__ float scale(float x, int n) { return x * static_cast<float>(n); }
__device__ float climb(float x, int n) {
    for (int i = 0; i < n; ++i) x += 3.0f;
    return x;
}
__device__ Operation g_table[2] = {scale, climb};
__constant__ Operation g_fixed = climb;

struct Shape {
    __device__ virtual float area(float x) const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ float area(float x) const override { return x * x; }
};
struct Oblong : Shape {
    __device__ explicit Oblong(float ratio) : ratio_(ratio) {}
    __device__ float area(float x) const override { return ratio_ * x * x; }
    float ratio_;
};

__global__ void pointers(float* out, const int* which) {
    const int i = threadIdx.x;
    out[i] = g_table[which[i]](static_cast<float>(i), i % 8) + g_fixed(1.0f, 2);
}

__global__ void objects(float* out) {
    const int i = threadIdx.x;
    Shape* shape = i % 3 == 0 ? static_cast<Shape*>(new Square) : static_cast<Shape*>(new Oblong(static_cast<float>(i)));
    out[i] = shape->area(static_cast<float>(i) + 1.0f);
    delete shape;
}

int main() {
    constexpr int kThreads = 96;
    float* out;
    int* which;
    if (cudaMallocManaged(&out, kThreads * sizeof *out) != cudaSuccess || cudaMallocManaged(&which, kThreads * sizeof *which) != cudaSuccess) return 1;
    for (int i = 0; i < kThreads; ++i) which[i] = i / 3 % 2;
    int wrong = 0;
    pointers<<<1, kThreads>>>(out, which);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < kThreads; ++i) {
        const float n = static_cast<float>(i % 8);
        wrong += out[i] != (which[i] == 0 ? static_cast<float>(i) * n : static_cast<float>(i) + 3.0f * n) + 7.0f;
    }
    objects<<<1, kThreads>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < kThreads; ++i) {
        const float x = static_cast<float>(i) + 1.0f;
        wrong += out[i] != (i % 3 == 0 ? x * x : static_cast<float>(i) * x * x);
    }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
