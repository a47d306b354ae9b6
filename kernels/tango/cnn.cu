// SPDX-License-Identifier: MIT
// Layers of convolutional networks as a plain program launches them: one CTA per output map (or tile of it), one thread per pixel, no
// shared memory. So every CTA reads the same input maps, and a filter of its own. Thread x is the row: neighbouring lanes are a row of the
// input apart, and the warps of a CTA read the same lines.

// All maps of the input one after another, and of each the kTaps x kTaps pixels around this one; zeros beyond the edges.
template <int kTaps>
static __device__ __forceinline__ void convolve(const float* in, const float* filters, const float* bias, float* out, int depth, int side,
                                                int out_side, int stride, int rectify) {
    const int map = blockIdx.x;
    const int row = blockIdx.y * blockDim.x + threadIdx.x;
    const int column = blockIdx.z * blockDim.y + threadIdx.y;
    if (row >= out_side || column >= out_side) return;
    float sum = bias[map];
    for (int channel = 0; channel < depth; ++channel) {
        const float* pixels = in + channel * side * side;
        const float* weights = filters + (map * depth + channel) * kTaps * kTaps;
#pragma unroll(kTaps > 3 ? 1 : kTaps)
        for (int r = 0; r < kTaps; ++r) {
            const int y = row * stride + r - kTaps / 2;
            for (int c = 0; c < kTaps; ++c) {
                const int x = column * stride + c - kTaps / 2;
                if (y < 0 || y >= side || x < 0 || x >= side) continue;
                sum += pixels[y * side + x] * weights[r * kTaps + c];
            }
        }
    }
    out[(map * out_side + row) * out_side + column] = rectify != 0 && sum < 0.0f ? 0.0f : sum;
}

extern "C" __global__ void cnn_convolve_1x1(const float* in, const float* filters, const float* bias, float* out, int depth, int side,
                                            int out_side, int stride, int rectify) {
    convolve<1>(in, filters, bias, out, depth, side, out_side, stride, rectify);
}
extern "C" __global__ void cnn_convolve_3x3(const float* in, const float* filters, const float* bias, float* out, int depth, int side,
                                            int out_side, int stride, int rectify) {
    convolve<3>(in, filters, bias, out, depth, side, out_side, stride, rectify);
}
extern "C" __global__ void cnn_convolve_5x5(const float* in, const float* filters, const float* bias, float* out, int depth, int side,
                                            int out_side, int stride, int rectify) {
    convolve<5>(in, filters, bias, out, depth, side, out_side, stride, rectify);
}

extern "C" __global__ void cnn_convolve_11x11(const float* in, const float* filters, const float* bias, float* out, int depth, int side,
                                              int out_side, int stride, int rectify) {
    convolve<11>(in, filters, bias, out, depth, side, out_side, stride, rectify);
}

// The largest of 3x3 pixels, every second one.
extern "C" __global__ void cnn_max_pool(const float* in, float* out, int side, int out_side) {
    const int row = blockIdx.y * blockDim.x + threadIdx.x;
    const int column = blockIdx.z * blockDim.y + threadIdx.y;
    if (row >= out_side || column >= out_side) return;
    const float* corner = in + (blockIdx.x * side + 2 * row) * side + 2 * column;
    float most = corner[0];
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) most = corner[r * side + c] > most ? corner[r * side + c] : most;
    out[(blockIdx.x * out_side + row) * out_side + column] = most;
}

// The mean of each map, one thread per map.
extern "C" __global__ void cnn_average_pool(const float* in, float* out, int maps, int pixels) {
    const int map = blockIdx.x * blockDim.x + threadIdx.x;
    if (map >= maps) return;
    float sum = 0.0f;
    for (int i = 0; i < pixels; ++i) sum += in[map * pixels + i];
    out[map] = sum / static_cast<float>(pixels);
}

// What a residual block adds to its input.
extern "C" __global__ void cnn_add(const float* a, const float* b, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float sum = a[i] + b[i];
    out[i] = sum < 0.0f ? 0.0f : sum;
}

// Fully connected; a CTA of one thread per neuron.
extern "C" __global__ void cnn_connect(const float* in, const float* weights, const float* bias, float* out, int inputs) {
    const int neuron = blockIdx.x;
    float sum = bias[neuron];
    for (int i = 0; i < inputs; ++i) sum += in[i] * weights[neuron * inputs + i];
    out[neuron] = sum;
}
