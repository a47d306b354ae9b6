// SPDX-License-Identifier: MIT
// Value of European call options by simulated price paths: one CTA per option, whose threads stride over the same normal samples as
// those of every other option; sums of values and of their squares meet in shared memory, in double precision.

constexpr int kThreads = 256;

struct alignas(16) Option {
    float price, strike, drift, spread;  // the last two up to the option's end, of the logarithm
};
struct alignas(8) Value {
    float mean, deviation;
};

extern "C" __global__ void monte_carlo(Value* value, const Option* option, const float* samples, int paths) {
    __shared__ double sums[kThreads];
    __shared__ double squares[kThreads];
    const int t = threadIdx.x;
    const Option mine = option[blockIdx.x];
    double sum = 0.0, square = 0.0;
    for (int path = t; path < paths; path += kThreads) {
        const float gain = fmaxf(mine.price * expf(mine.drift + mine.spread * samples[path]) - mine.strike, 0.0f);
        sum += gain;
        square += gain * gain;
    }
    sums[t] = sum;
    squares[t] = square;
    for (int reach = kThreads / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (t < reach) {
            sums[t] += sums[t + reach];
            squares[t] += squares[t + reach];
        }
    }
    if (t == 0) {
        const double mean = sums[0] / paths;
        const double variance = squares[0] / paths - mean * mean;
        value[blockIdx.x] = {static_cast<float>(mean), sqrtf(static_cast<float>(variance))};
    }
}
