// SPDX-License-Identifier: MIT
// Denoising by non-local means: a pixel becomes the mean of those in a window of 7x7 around it, weighted by how alike the patches of
// 7x7 around both are. CTAs of 8x8 pixels; neighbours read the same twelve rows and columns.

constexpr int kTile = 8;
constexpr int kWindow = 3;     // radius
constexpr int kPatch = 3;      // radius
constexpr int kPatchStep = 2;  // of a patch, every second row and column is compared

// Outside the image, the nearest pixel in it.
static __device__ __forceinline__ unsigned int pixel(const unsigned int* image, int x, int y, int width, int height) {
    return image[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}

static __device__ __forceinline__ int channel(unsigned int rgba, int which) {
    return static_cast<int>((rgba >> (8 * which)) & 255u);
}

static __device__ __forceinline__ int distance(unsigned int p, unsigned int q) {
    const int red = channel(p, 0) - channel(q, 0), green = channel(p, 1) - channel(q, 1), blue = channel(p, 2) - channel(q, 2);
    return red * red + green * green + blue * blue;
}

extern "C" __global__ void denoise(unsigned int* result, const unsigned int* image, int width, int height, float unlike, float away) {
    const int x = kTile * blockIdx.x + threadIdx.x;
    const int y = kTile * blockIdx.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float red = 0.0f, green = 0.0f, blue = 0.0f, weights = 0.0f;
    for (int dy = -kWindow; dy <= kWindow; ++dy) {
        for (int dx = -kWindow; dx <= kWindow; ++dx) {
            int difference = 0;
#pragma unroll 1  // else the patch around this pixel would stay in registers
            for (int v = -kPatch; v <= kPatch; v += kPatchStep) {
#pragma unroll
                for (int u = -kPatch; u <= kPatch; u += kPatchStep)
                    difference += distance(pixel(image, x + dx + u, y + dy + v, width, height), pixel(image, x + u, y + v, width, height));
            }
            const float weight = expf(-(static_cast<float>(difference) * unlike + static_cast<float>(dx * dx + dy * dy) * away));
            const unsigned int there = pixel(image, x + dx, y + dy, width, height);
            red += weight * static_cast<float>(channel(there, 0));
            green += weight * static_cast<float>(channel(there, 1));
            blue += weight * static_cast<float>(channel(there, 2));
            weights += weight;
        }
    }
    const float scale = 1.0f / weights;
    const unsigned int r = static_cast<unsigned int>(red * scale + 0.5f);
    const unsigned int g = static_cast<unsigned int>(green * scale + 0.5f);
    const unsigned int b = static_cast<unsigned int>(blue * scale + 0.5f);
    result[y * width + x] = r | (g << 8) | (b << 16);
}
