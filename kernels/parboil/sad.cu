// SPDX-License-Identifier: MIT
// Motion estimation: sums of absolute differences between each block of 4x4 pixels and the reference frame at 33x33 positions around
// it, then sums for larger blocks. One CTA of 61 threads per block, 18 positions per thread; most of the traffic is results.

constexpr int kAcross = 33;  // positions per direction
constexpr int kPositions = kAcross * kAcross;
constexpr int kPadded = 1096;  // shorts per block
constexpr int kPerThread = 18;

// Results by shape of the block: 16x16, 16x8, 8x16, 8x8, 8x4, 4x8, 4x4 (width x height); so many per macroblock lie in front of each shape.
constexpr int k16x8 = 1, k8x16 = 3, k8x8 = 5, k8x4 = 9, k4x8 = 17, k4x4 = 25;

// Results are copied four at a time.
struct alignas(8) Four {
    unsigned int low, high;
};

extern "C" __global__ void sad_4x4(unsigned short* sads, const unsigned short* frame, const unsigned short* reference, int width,
                                   int height) {
    __shared__ unsigned short current[16];
    alignas(8) __shared__ unsigned short found[kPadded];
    const int t = threadIdx.x;
    const int x0 = 4 * blockIdx.x, y0 = 4 * blockIdx.y;
    if (t < 16) current[t] = frame[(y0 + t / 4) * width + x0 + t % 4];
    __syncthreads();
    int position = kPerThread * t;
    int dx = position % kAcross - kAcross / 2, dy = position / kAcross - kAcross / 2;
    for (int i = 0; i < kPerThread && position < kPadded; ++i, ++position) {
        int sum = 0;
        if (position < kPositions) {
#pragma unroll
            for (int y = 0; y < 4; ++y) {
                const int row = min(max(y0 + dy + y, 0), height - 1) * width;
#pragma unroll
                for (int x = 0; x < 4; ++x) {
                    const int apart = current[4 * y + x] - reference[row + min(max(x0 + dx + x, 0), width - 1)];
                    sum += apart < 0 ? -apart : apart;
                }
            }
        }
        found[position] = static_cast<unsigned short>(sum);
        if (++dx > kAcross / 2) {
            dx = -(kAcross / 2);
            ++dy;
        }
    }
    __syncthreads();
    const int across = width / 16;
    const int macroblock = (blockIdx.y / 4) * across + blockIdx.x / 4;
    const int block = 4 * (blockIdx.y % 4) + blockIdx.x % 4;
    const int macroblocks = across * (height / 16);
    Four* out = reinterpret_cast<Four*>(sads + (k4x4 * macroblocks + 16 * macroblock + block) * kPadded);
    const Four* in = reinterpret_cast<const Four*>(found);
    if (t < 32)
        for (int i = t; i < kPadded / 4; i += 32) out[i] = in[i];
}

// One CTA of 32x4 threads per macroblock, thread y is the quarter of it. Two sums are added at once: none is longer than 16 bits.
extern "C" __global__ void sad_8x8(unsigned int* sads, int macroblocks) {
    const int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
    const int quarter = threadIdx.y;
    const int words = kPadded / 2;
    const int corner = 8 * (quarter / 2) + 2 * (quarter % 2);  // its first block of 4x4
    const unsigned int* in = sads + (k4x4 * macroblocks + 16 * macroblock + corner) * words;
    unsigned int* wide = sads + (k8x4 * macroblocks + 8 * macroblock + 2 * quarter) * words;
    unsigned int* tall = sads + (k4x8 * macroblocks + 8 * macroblock + 2 * quarter) * words;
    unsigned int* whole = sads + (k8x8 * macroblocks + 4 * macroblock + quarter) * words;
    for (int i = threadIdx.x; i < words; i += 32) {
        const unsigned int a = in[i], b = in[i + words], c = in[i + 4 * words], d = in[i + 5 * words];
        wide[i] = a + b;
        wide[i + words] = c + d;
        tall[i] = a + c;
        tall[i + words] = b + d;
        whole[i] = a + b + c + d;
    }
}

// One warp per macroblock.
extern "C" __global__ void sad_16x16(unsigned int* sads, int macroblocks) {
    const int macroblock = blockIdx.y * gridDim.x + blockIdx.x;
    const int words = kPadded / 2;
    const unsigned int* in = sads + (k8x8 * macroblocks + 4 * macroblock) * words;
    unsigned int* wide = sads + (k16x8 * macroblocks + 2 * macroblock) * words;
    unsigned int* tall = sads + (k8x16 * macroblocks + 2 * macroblock) * words;
    unsigned int* whole = sads + macroblock * words;
    for (int i = threadIdx.x; i < words; i += 32) {
        const unsigned int a = in[i], b = in[i + words], c = in[i + 2 * words], d = in[i + 3 * words];
        wide[i] = a + b;
        wide[i + words] = c + d;
        tall[i] = a + c;
        tall[i + words] = b + d;
        whole[i] = a + b + c + d;
    }
}
