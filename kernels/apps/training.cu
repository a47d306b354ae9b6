// SPDX-License-Identifier: MIT
// A training step of a residual network, beside the products of llm/gemm_mma. Values are in f16, pixel by pixel with channels adjacent; sums,
// weights and their moments are in f32. A convolution is a product with the patches of one image; channels are multiples of 8, rows of
// patches are filled up with zeros to a multiple of 32 values.
#include <cuda_fp16.h>

namespace {


__device__ __forceinline__ void unpack(float (&to)[8], const uint4& from) {
    const __half2* pairs = reinterpret_cast<const __half2*>(&from);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(pairs[i]);
        to[2 * i] = pair.x;
        to[2 * i + 1] = pair.y;
    }
}
__device__ __forceinline__ uint4 pack(const float (&from)[8]) {
    uint4 to;
    __half2* pairs = reinterpret_cast<__half2*>(&to);
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2half2_rn(from[2 * i], from[2 * i + 1]);
    return to;
}

// Adds two values for each of 64 channels over the rows of this CTA, which takes 256 rows at a time; threads of a warp are two channels apart.
template <class Terms>
__device__ __forceinline__ void sum_channels(float2* sums, int rows, int channels, Terms terms) {
    __shared__ float2 part[8][64];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, channel = blockIdx.x * 64 + lane * 2;
    float2 first = {0, 0}, second = {0, 0};
    const int begin = blockIdx.y * 256, end = min(begin + 256, rows);
    for (int row = begin + warp; row < end; row += 8) terms((long long)row * channels + channel, channel, first, second);
    part[warp][lane * 2] = {first.x, second.x};
    part[warp][lane * 2 + 1] = {first.y, second.y};
    __syncthreads();
    if (threadIdx.x >= 64) return;
    float2 all = {0, 0};
#pragma unroll
    for (int w = 0; w < 8; ++w) {
        all.x += part[w][threadIdx.x].x;
        all.y += part[w][threadIdx.x].y;
    }
    sums[blockIdx.y * channels + blockIdx.x * 64 + threadIdx.x] = all;
}

__device__ __forceinline__ float2 pair_at(const __half* values, long long at) {
    return __half22float2(*reinterpret_cast<const __half2*>(values + at));
}

}  // namespace

// Weights in f16 for the products. A thread per weight.
extern "C" __global__ void round_weights(const float* from, __half* to, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = __float2half_rn(from[i]);
}

// Patches of one image: a row per pixel of the output. A thread per 8 values.
extern "C" __global__ void image_to_patches(const uint4* image, uint4* patches, int height, int width, int channels, int kernel, int stride,
                                            int padding, int out_height, int out_width, int inner) {
    const int vectors = inner / 8, thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= out_height * out_width * vectors) return;
    const int pixel = thread / vectors, value = thread % vectors * 8;
    const int tap = value / channels, y = pixel / out_width * stride - padding + tap / kernel,
              x = pixel % out_width * stride - padding + tap % kernel;
    const bool inside = tap < kernel * kernel && y >= 0 && y < height && x >= 0 && x < width;
    patches[thread] = inside ? image[((long long)y * width + x) * (channels / 8) + value % channels / 8] : make_uint4(0, 0, 0, 0);
}

// The gradient of one image from that of its patches. A thread per 8 channels of a pixel; `add`: to what is there.
extern "C" __global__ void patches_to_image(const uint4* patches, uint4* image, int height, int width, int channels, int kernel, int stride,
                                            int padding, int out_height, int out_width, int inner, int add) {
    const int vectors = channels / 8, thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= height * width * vectors) return;
    const int pixel = thread / vectors, vector = thread % vectors, y = pixel / width + padding, x = pixel % width + padding;
    float sum[8] = {};
    if (add) unpack(sum, image[thread]);
    for (int tap = 0; tap < kernel * kernel; ++tap) {
        const int from_y = y - tap / kernel, from_x = x - tap % kernel;
        if (from_y < 0 || from_x < 0 || from_y % stride != 0 || from_x % stride != 0) continue;
        const int out_y = from_y / stride, out_x = from_x / stride;
        if (out_y >= out_height || out_x >= out_width) continue;
        float more[8];
        unpack(more, patches[((long long)out_y * out_width + out_x) * (inner / 8) + tap * vectors + vector]);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i] += more[i];
    }
    image[thread] = pack(sum);
}

// Columns become rows of `pitch` values, zeros beyond the number of rows. CTAs of 32x8, tiles of 32x32.
extern "C" __global__ void transpose_f16(const unsigned short* from, unsigned short* to, int rows, int columns, int pitch) {
    __shared__ unsigned short tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = first + i < rows && column < columns ? from[(long long)(first + i) * columns + column] : 0;
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int row = blockIdx.x * 32 + i;
        if (row < columns && first + threadIdx.x < pitch) to[(long long)row * pitch + first + threadIdx.x] = tile[threadIdx.x][i];
    }
}

// Per channel and block of 256 rows: sum and sum of squares. Grid: channels / 64 x blocks.
extern "C" __global__ void sum_values(const __half* values, float2* sums, int rows, int channels) {
    sum_channels(sums, rows, channels, [=](long long at, int, float2& first, float2& second) {
        const float2 x = pair_at(values, at);
        first.x += x.x;
        first.y += x.y;
        second.x += x.x * x.x;
        second.y += x.y * x.y;
    });
}

// Mean and one over the deviation of each channel.
extern "C" __global__ void finish_statistics(const float2* sums, float2* statistics, int blocks, int rows, int channels, float epsilon) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    float sum = 0, squares = 0;
    for (int b = 0; b < blocks; ++b) {
        sum += sums[b * channels + channel].x;
        squares += sums[b * channels + channel].y;
    }
    const float mean = sum / rows;
    statistics[channel] = {mean, rsqrtf(fmaxf(squares / rows - mean * mean, 0.0f) + epsilon)};
}

// Batch normalisation, then the sum with a residual (or null), then max(0, x) if `rectify`. A thread per 8 values.
extern "C" __global__ void normalise(const uint4* from, const float2* statistics, const float* scale, const float* shift, const uint4* residual,
                                     uint4* to, int channels, int total, int rectify) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= total) return;
    const int channel = thread % (channels / 8) * 8;
    float value[8], more[8] = {};
    unpack(value, from[thread]);
    if (residual != nullptr) unpack(more, residual[thread]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float2 of = statistics[channel + i];
        value[i] = (value[i] - of.x) * of.y * scale[channel + i] + shift[channel + i] + more[i];
        if (rectify) value[i] = fmaxf(value[i], 0.0f);
    }
    to[thread] = pack(value);
}

// The gradient before max(0, x), in place: zero where the result was.
extern "C" __global__ void rectify_gradient(const uint4* results, uint4* gradient, int total) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= total) return;
    float result[8], value[8];
    unpack(result, results[thread]);
    unpack(value, gradient[thread]);
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = result[i] > 0 ? value[i] : 0;
    gradient[thread] = pack(value);
}

// Per channel and block of 256 rows: sum of the gradient, and of the gradient times the normalised value.
extern "C" __global__ void sum_gradients(const __half* gradient, const __half* values, const float2* statistics, float2* sums, int rows,
                                         int channels) {
    sum_channels(sums, rows, channels, [=](long long at, int channel, float2& first, float2& second) {
        const float2 d = pair_at(gradient, at), x = pair_at(values, at), low = statistics[channel], high = statistics[channel + 1];
        first.x += d.x;
        first.y += d.y;
        second.x += d.x * (x.x - low.x) * low.y;
        second.y += d.y * (x.y - high.x) * high.y;
    });
}

// The gradients of shift and scale.
extern "C" __global__ void finish_gradients(const float2* sums, float* of_shift, float* of_scale, int blocks, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    float first = 0, second = 0;
    for (int b = 0; b < blocks; ++b) {
        first += sums[b * channels + channel].x;
        second += sums[b * channels + channel].y;
    }
    of_shift[channel] = first;
    of_scale[channel] = second;
}

// The gradient before batch normalisation.
extern "C" __global__ void normalise_gradient(const uint4* gradient, const uint4* values, const float2* statistics, const float* scale,
                                              const float* of_shift, const float* of_scale, uint4* to, int rows, int channels, int total) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= total) return;
    const int channel = thread % (channels / 8) * 8;
    float d[8], x[8];
    unpack(d, gradient[thread]);
    unpack(x, values[thread]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float2 of = statistics[channel + i];
        const float normal = (x[i] - of.x) * of.y;
        d[i] = scale[channel + i] * of.y * (d[i] - (of_shift[channel + i] + normal * of_scale[channel + i]) / rows);
    }
    to[thread] = pack(d);
}

// Adds a gradient of weights in f16 to the sum over images.
extern "C" __global__ void add_gradient(const __half* from, float* to, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] += __half2float(from[i]);
}

extern "C" __global__ void add_values(uint4* to, const uint4* more, int total) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= total) return;
    float a[8], b[8];
    unpack(a, to[thread]);
    unpack(b, more[thread]);
#pragma unroll
    for (int i = 0; i < 8; ++i) a[i] += b[i];
    to[thread] = pack(a);
}

// Largest of 3x3 with stride 2, and which of the nine it is. Grid z: image. A thread per 8 channels.
extern "C" __global__ void pool_largest(const uint4* from, uint4* to, uint2* chosen, int size, int out_size, int channels) {
    const int vectors = channels / 8, thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= out_size * out_size * vectors) return;
    const int pixel = thread / vectors, vector = thread % vectors, y = pixel / out_size * 2 - 1, x = pixel % out_size * 2 - 1;
    from += (long long)blockIdx.z * size * size * vectors;
    float most[8];
    unsigned char which[8] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i) most[i] = -65504.0f;
    for (int tap = 0; tap < 9; ++tap) {
        const int from_y = y + tap / 3, from_x = x + tap % 3;
        if (from_y < 0 || from_x < 0 || from_y >= size || from_x >= size) continue;
        float value[8];
        unpack(value, from[(from_y * size + from_x) * vectors + vector]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (value[i] <= most[i]) continue;
            most[i] = value[i];
            which[i] = tap;
        }
    }
    const long long at = (long long)blockIdx.z * out_size * out_size * vectors + thread;
    to[at] = pack(most);
    chosen[at] = *reinterpret_cast<const uint2*>(which);
}

extern "C" __global__ void pool_gradient(const uint4* gradient, const uint2* chosen, uint4* to, int size, int out_size, int channels) {
    const int vectors = channels / 8, thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= size * size * vectors) return;
    const int pixel = thread / vectors, vector = thread % vectors, y = pixel / size + 1, x = pixel % size + 1;
    const long long first = (long long)blockIdx.z * out_size * out_size * vectors;
    float sum[8] = {};
    for (int tap = 0; tap < 9; ++tap) {
        const int from_y = y - tap / 3, from_x = x - tap % 3;
        if (from_y < 0 || from_x < 0 || from_y % 2 != 0 || from_x % 2 != 0 || from_y / 2 >= out_size || from_x / 2 >= out_size) continue;
        const long long at = first + (long long)(from_y / 2 * out_size + from_x / 2) * vectors + vector;
        const uint2 which = chosen[at];
        float value[8];
        unpack(value, gradient[at]);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            if (((i < 4 ? which.x : which.y) >> i % 4 * 8 & 255) == tap) sum[i] += value[i];
    }
    to[(long long)blockIdx.z * size * size * vectors + thread] = pack(sum);
}

// Mean over the pixels of an image. Grid y: image.
extern "C" __global__ void pool_mean(const __half* from, __half* to, int pixels, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    float sum = 0;
    for (int pixel = 0; pixel < pixels; ++pixel) sum += __half2float(from[((long long)blockIdx.y * pixels + pixel) * channels + channel]);
    to[blockIdx.y * channels + channel] = __float2half_rn(sum / pixels);
}
extern "C" __global__ void mean_gradient(const __half* gradient, __half* to, int pixels, int channels) {
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    const __half each = __float2half_rn(__half2float(gradient[blockIdx.y * channels + channel]) / pixels);
    for (int pixel = 0; pixel < pixels; ++pixel) to[((long long)blockIdx.y * pixels + pixel) * channels + channel] = each;
}

// Softmax and its gradient, times `scale`; the loss of each image. A CTA of 256 threads per image.
extern "C" __global__ void cross_entropy(const __half* logits, const int* labels, __half* gradient, float* losses, int classes, float scale) {
    __shared__ float part[8];
    const int warp = threadIdx.x / 32;
    logits += (long long)blockIdx.x * classes;
    float most = -65504.0f, sum = 0;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) most = fmaxf(most, __half2float(logits[i]));
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, reach));
    if (threadIdx.x % 32 == 0) part[warp] = most;
    __syncthreads();
    for (int w = 0; w < 8; ++w) most = fmaxf(most, part[w]);
    __syncthreads();
    for (int i = threadIdx.x; i < classes; i += blockDim.x) sum += __expf(__half2float(logits[i]) - most);
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_xor_sync(~0u, sum, reach);
    if (threadIdx.x % 32 == 0) part[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < 8; ++w) sum += part[w];
    const int label = labels[blockIdx.x];
    for (int i = threadIdx.x; i < classes; i += blockDim.x) {
        const float share = __expf(__half2float(logits[i]) - most) / sum;
        gradient[(long long)blockIdx.x * classes + i] = __float2half_rn((share - (i == label ? 1.0f : 0.0f)) * scale);
    }
    if (threadIdx.x == 0) losses[blockIdx.x] = __logf(sum) + most - __half2float(logits[label]);
}

// Stochastic gradient descent with momentum; the gradient is `scale` too large.
extern "C" __global__ void update(float* weights, float* moments, const float* gradient, __half* rounded, int count, float rate, float momentum,
                                  float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float moment = momentum * moments[i] + gradient[i] / scale;
    moments[i] = moment;
    weights[i] -= rate * moment;
    rounded[i] = __float2half_rn(weights[i]);
}
