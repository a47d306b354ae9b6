// SPDX-License-Identifier: MIT
// Mathematical functions in single precision, within a few units in the last place of what the host computes in double precision.
#include <cmath>
#include <vector>

#include "check.cuh"

constexpr int kFunctions = 10;

__global__ void evaluate(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const float a = x[i], positive = fabsf(a) + 0.001f;
    const float results[kFunctions] = {sqrtf(positive), expf(a), logf(positive), tanhf(a), sinf(a), cosf(a), exp2f(a), log2f(positive), rintf(a), 1.0f / positive};
    for (int f = 0; f < kFunctions; ++f) y[f * n + i] = results[f];
}

int main() {
    std::vector<float> x;
    for (int i = -400; i <= 400; ++i) x.push_back(0.2173f * static_cast<float>(i));
    for (int i = -100; i <= 100; ++i) x.push_back(0.00731f * static_cast<float>(i));
    const int n = static_cast<int>(x.size());
    std::vector<float> y(x.size() * kFunctions);
    float *dx, *dy;
    OK(cudaMalloc(&dx, x.size() * sizeof(float)));
    OK(cudaMalloc(&dy, y.size() * sizeof(float)));
    OK(cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    evaluate<<<(n + 127) / 128, 128>>>(dx, dy, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(y.data(), dy, y.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst[kFunctions] = {};
    for (int i = 0; i < n; ++i) {
        const double a = x[i], positive = std::fabs(x[i]) + 0.001f;
        const double expected[kFunctions] = {std::sqrt(positive), std::exp(a),  std::log(positive),  std::tanh(a),      std::sin(a),
                                             std::cos(a),         std::exp2(a), std::log2(positive), std::nearbyint(a), 1 / positive};
        for (int f = 0; f < kFunctions; ++f) {
            // Sines and logarithms are near zero now and then; an error of the last place of 1 is allowed there.
            const double size = f == 2 || f == 4 || f == 5 || f == 7 ? std::fmax(std::fabs(expected[f]), 1) : std::fabs(expected[f]);
            worst[f] = std::fmax(worst[f], std::fabs(y[f * n + i] - expected[f]) / std::fmax(size, 1e-37) * (1 << 23));
        }
    }
    for (int f = 0; f < kFunctions; ++f) {
        if (worst[f] > 4) std::printf("function %d: error of %.1f units in the last place\n", f, worst[f]);
        CHECK(worst[f] <= 4);
    }
    std::printf("math: %d functions are right\n", kFunctions);
}
