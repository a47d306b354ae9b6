// SPDX-License-Identifier: MIT
// Histogram of bytes in 64 bins. First kernel: 64 threads, each with its own byte counters in shared memory. Second kernel: one
// CTA per bin adds up the partial histograms, a stride of 256 bytes apart.

constexpr int kBins = 64;
constexpr int kCounters = 64;  // threads of a counting CTA
constexpr int kMergers = 256;

extern "C" __global__ void histogram_count(unsigned int* partial, const unsigned int* data, int words) {
    __shared__ unsigned char counters[kBins * kCounters];
    const int thread = threadIdx.x;
    unsigned int* as_words = reinterpret_cast<unsigned int*>(counters);
    for (int i = thread; i < kBins * kCounters / 4; i += kCounters) as_words[i] = 0;
    __syncthreads();
    // Neighbouring threads count in different banks.
    unsigned char* mine = counters + (thread % 16) * 4 + thread / 16;
    const int stride = gridDim.x * kCounters;
    for (int position = blockIdx.x * kCounters + thread; position < words; position += stride) {
        const unsigned int word = data[position];
        ++mine[((word >> 2) & 63u) * kCounters];
        ++mine[((word >> 10) & 63u) * kCounters];
        ++mine[((word >> 18) & 63u) * kCounters];
        ++mine[(word >> 26) * kCounters];
    }
    __syncthreads();
    // Now one bin per thread; threads start at different words so that they meet different banks.
    unsigned int sum = 0;
    for (int i = 0; i < kCounters / 4; ++i) {
        const unsigned int four = as_words[thread * (kCounters / 4) + (i + thread) % (kCounters / 4)];
        sum += (four & 255u) + ((four >> 8) & 255u) + ((four >> 16) & 255u) + (four >> 24);
    }
    partial[blockIdx.x * kBins + thread] = sum;
}

extern "C" __global__ void histogram_merge(unsigned int* histogram, const unsigned int* partial, int partials) {
    __shared__ unsigned int sums[kMergers];
    const int thread = threadIdx.x;
    unsigned int sum = 0;
    for (int i = thread; i < partials; i += kMergers) sum += partial[blockIdx.x + i * kBins];
    sums[thread] = sum;
    for (int reach = kMergers / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread < reach) sums[thread] += sums[thread + reach];
    }
    if (thread == 0) histogram[blockIdx.x] = sums[0];
}
