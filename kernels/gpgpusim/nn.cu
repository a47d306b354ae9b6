// SPDX-License-Identifier: MIT
// A convolutional network that reads handwritten digits, 29x29 pixels; grid = (maps or neurons, images). Layers 3 and 4 launch CTAs
// of a single thread, as the original does.

static __device__ __forceinline__ float squash(float sum) { return 1.7159f * tanhf(0.66666667f * sum); }

// 6 maps of 13x13: 5x5 taps, every second pixel.
extern "C" __global__ void nn_first(const float* images, const float* weights, float* maps) {
    const int map = blockIdx.x, image = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const float* mine = weights + 26 * map;
    float sum = mine[0];
    for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 5; ++c) sum += images[841 * image + (2 * ty + r) * 29 + 2 * tx + c] * mine[1 + 5 * r + c];
    maps[1014 * image + 169 * map + 13 * ty + tx] = squash(sum);
}

// 50 maps of 5x5 from all six maps.
extern "C" __global__ void nn_second(const float* maps, const float* weights, float* small_maps) {
    const int map = blockIdx.x, image = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const float* mine = weights + 156 * map;
    float sum = mine[0];
    for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 5; ++c)
            for (int m = 0; m < 6; ++m)
                sum += maps[1014 * image + 169 * m + (2 * ty + r) * 13 + 2 * tx + c] * mine[1 + 6 * (5 * r + c) + m];
    small_maps[1250 * image + 25 * map + 5 * ty + tx] = squash(sum);
}

// 100 neurons, fully connected.
extern "C" __global__ void nn_third(const float* small_maps, const float* weights, float* neurons) {
    const int neuron = blockIdx.x, image = blockIdx.y;
    float sum = weights[1251 * neuron];
    for (int i = 0; i < 1250; ++i) sum += small_maps[1250 * image + i] * weights[1251 * neuron + 1 + i];
    neurons[100 * image + neuron] = squash(sum);
}

// 10 digits.
extern "C" __global__ void nn_fourth(const float* neurons, const float* weights, float* digits) {
    const int digit = blockIdx.x, image = blockIdx.y;
    float sum = weights[101 * digit];
    for (int i = 0; i < 100; ++i) sum += neurons[100 * image + i] * weights[101 * digit + 1 + i];
    digits[10 * image + digit] = squash(sum);
}
