// SPDX-License-Identifier: MIT
// Texture compression (DXT1): one CTA of 64 threads per block of 4x4 pixels. Pixels are sorted along the main axis of their colours;
// every thread tries some of the ways to cut this order into levels between two end colours, and the way with the smallest error wins.

constexpr int kPixels = 16;
constexpr int kThreads = 64;
constexpr int kCodes = 992;       // ways to cut: two bits per sorted pixel, its level between the ends
constexpr int kShortCodes = 160;  // the first ones have no fourth level

struct Trial {
    float error;
    unsigned int first, second;  // end colours: 5, 6 and 5 bits
};

struct alignas(8) Compressed {
    unsigned int ends, indices;
};

// Rounds a colour to what 5, 6 and 5 bits can say.
static __device__ __forceinline__ unsigned int to_565(float (&colour)[3]) {
    unsigned int packed = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const float steps = c == 1 ? 63.0f : 31.0f;
        const float level = rintf(fminf(fmaxf(colour[c], 0.0f), 1.0f) * steps);
        colour[c] = level / steps;
        packed = (packed << (c == 1 ? 6 : 5)) | static_cast<unsigned int>(level);
    }
    return packed;
}

// The end colours with the least squared error for one way to cut; the part of the error that all ways share is left out.
static __device__ __forceinline__ Trial fit(unsigned int code, float weight, const float (&colour)[kPixels][3], const float (&total)[3]) {
    float aa = 0.0f, ab = 0.0f, bb = 0.0f;
    float ax[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
        const float b = static_cast<float>((code >> (2 * i)) & 3u) * weight;
        const float a = 1.0f - b;
        aa += a * a;
        ab += a * b;
        bb += b * b;
#pragma unroll
        for (int c = 0; c < 3; ++c) ax[c] += a * colour[i][c];
    }
    const float determinant = aa * bb - ab * ab;
    Trial trial = {1e30f, 0, 0};
    if (determinant < 1e-4f) return trial;  // all pixels on one level
    const float scale = 1.0f / determinant;
    float first[3], second[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const float bx = total[c] - ax[c];
        first[c] = (ax[c] * bb - bx * ab) * scale;
        second[c] = (bx * aa - ax[c] * ab) * scale;
    }
    trial.first = to_565(first);
    trial.second = to_565(second);
    trial.error = 0.0f;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const float bx = total[c] - ax[c];
        trial.error += first[c] * first[c] * aa + second[c] * second[c] * bb +
                       2.0f * (first[c] * second[c] * ab - first[c] * ax[c] - second[c] * bx);
    }
    return trial;
}

extern "C" __global__ void dxt_compress(Compressed* result, const unsigned int* image, const unsigned int* codes) {
    __shared__ float colour[kPixels][3];
    __shared__ float sums[3][kPixels];
    __shared__ float products[6][kPixels];
    __shared__ float along[kPixels];
    __shared__ int rank[kPixels];
    __shared__ unsigned int short_codes[kShortCodes];
    __shared__ float errors[kThreads];
    __shared__ int owners[kThreads];
    const int t = threadIdx.x;
    const bool has_pixel = t < kPixels;

    // 1. Pixels, and the sum of their colours.
    float mine[3] = {0.0f, 0.0f, 0.0f};
    if (has_pixel) {
        const unsigned int rgba = image[kPixels * blockIdx.x + t];
#pragma unroll
        for (int c = 0; c < 3; ++c) sums[c][t] = mine[c] = static_cast<float>((rgba >> (8 * c)) & 255u) * (1.0f / 255.0f);
    }
    for (int reach = kPixels / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (t < reach)
            for (int c = 0; c < 3; ++c) sums[c][t] += sums[c][t + reach];
    }
    __syncthreads();
    const float total[3] = {sums[0][0], sums[1][0], sums[2][0]};

    // 2. The main axis of the colours: the covariance, times a vector until it points there.
    if (has_pixel) {
        const float r = mine[0] - total[0] / kPixels, g = mine[1] - total[1] / kPixels, b = mine[2] - total[2] / kPixels;
        products[0][t] = r * r;
        products[1][t] = r * g;
        products[2][t] = r * b;
        products[3][t] = g * g;
        products[4][t] = g * b;
        products[5][t] = b * b;
    }
    for (int reach = kPixels / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (t < reach)
            for (int c = 0; c < 6; ++c) products[c][t] += products[c][t + reach];
    }
    __syncthreads();
    float x = 1.0f, y = 1.0f, z = 1.0f;
    for (int turn = 0; turn < 8; ++turn) {
        const float u = products[0][0] * x + products[1][0] * y + products[2][0] * z;
        const float v = products[1][0] * x + products[3][0] * y + products[4][0] * z;
        const float w = products[2][0] * x + products[4][0] * y + products[5][0] * z;
        const float scale = 1.0f / fmaxf(fmaxf(fabsf(u), fabsf(v)), fmaxf(fabsf(w), 1e-12f));
        x = u * scale;
        y = v * scale;
        z = w * scale;
    }

    // 3. Sorted along it.
    if (has_pixel) along[t] = mine[0] * x + mine[1] * y + mine[2] * z;
    __syncthreads();
    if (has_pixel) {
        int place = 0;
        for (int i = 0; i < kPixels; ++i) place += along[i] < along[t] || (along[i] == along[t] && i < t) ? 1 : 0;
        rank[t] = place;
#pragma unroll
        for (int c = 0; c < 3; ++c) colour[place][c] = mine[c];
    }
    __syncthreads();

    // 4. All ways to cut: four levels, and three.
    Trial best = {1e30f, 0, 0};
    unsigned int best_code = 0;
    bool three_levels = false;
    for (int i = t; i < kCodes; i += kThreads) {
        const unsigned int code = codes[i];
        if (i < kShortCodes) short_codes[i] = code;
        const Trial trial = fit(code, 1.0f / 3.0f, colour, total);
        if (trial.error < best.error) {
            best = trial;
            best_code = code;
        }
    }
    for (int i = t; i < kShortCodes; i += kThreads) {
        const unsigned int code = short_codes[i];
        const Trial trial = fit(code, 0.5f, colour, total);
        if (trial.error < best.error) {
            best = trial;
            best_code = code;
            three_levels = true;
        }
    }

    // 5. The best thread writes.
    errors[t] = best.error;
    owners[t] = t;
    for (int reach = kThreads / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (t < reach && errors[t + reach] < errors[t]) {
            errors[t] = errors[t + reach];
            owners[t] = owners[t + reach];
        }
    }
    __syncthreads();
    if (t != owners[0]) return;
    // A decoder takes four levels if the first end is the greater number.
    const bool swapped = three_levels ? best.first > best.second : best.first < best.second;
    unsigned int indices = 0;
    for (int i = 0; i < kPixels && best.first != best.second; ++i) {
        unsigned int level = (best_code >> (2 * rank[i])) & 3u;
        const unsigned int last = three_levels ? 2u : 3u;
        if (swapped) level = last - level;
        // The ends are 0 and 1, what is between them follows.
        const unsigned int index = level == 0u ? 0u : level == last ? 1u : level + 1u;
        indices |= index << (2 * i);
    }
    const unsigned int low = swapped ? best.second : best.first, high = swapped ? best.first : best.second;
    result[blockIdx.x] = {low | (high << 16), indices};
}
