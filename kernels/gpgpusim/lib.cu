// SPDX-License-Identifier: MIT
// Monte Carlo in a market of forward rates, a thread per path. Rates move period by period, each driven by those before it; then a portfolio is
// valued, and the second kernel goes the path backwards for the derivatives by every initial rate. What is a thread's own array
// lies in global memory, word k of all threads side by side, as a compiler lays out local memory: one line per access of a warp.

constexpr int kRates = 80;
constexpr float kDelta = 0.25f, kStrike = 0.05f;

struct Market {
    const float* lambda;   // volatilities, kRates
    const float* initial;  // rates, kRates
    const float* normals;  // of each path, one per period
    float* rates;          // of each path, kRates
};

// saved: the rates before every period, or none.
static __device__ __forceinline__ void walk(const Market& market, float* saved, int periods, int thread, int threads) {
    for (int i = 0; i < kRates; ++i) market.rates[i * threads + thread] = market.initial[i];
    for (int n = 0; n < periods; ++n) {
        const float shock = 0.5f * market.normals[n * threads + thread];  // the root of kDelta
        float drift = 0.0f;
        for (int i = n + 1; i < kRates; ++i) {
            const float lambda = market.lambda[i - n - 1];
            const float rate = market.rates[i * threads + thread];
            if (saved != nullptr) saved[(n * kRates + i) * threads + thread] = rate;
            drift += kDelta * lambda * rate / (1.0f + kDelta * rate);
            market.rates[i * threads + thread] = rate * expf(kDelta * lambda * drift + lambda * (shock - 0.5f * kDelta * lambda));
        }
    }
}

// Caps on all rates that are still open, discounted.
static __device__ __forceinline__ float value_of(const Market& market, int periods, int thread, int threads) {
    float bond = 1.0f, value = 0.0f;
    for (int i = 0; i < kRates; ++i) {
        const float rate = market.rates[i * threads + thread];
        bond /= 1.0f + kDelta * rate;
        if (i >= periods) value += 100.0f * kDelta * bond * fmaxf(rate - kStrike, 0.0f);
    }
    return value;
}

extern "C" __global__ void lib_value(const float* lambda, const float* initial, const float* normals, float* rates, float* value, int periods) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const Market market = {lambda, initial, normals, rates};
    walk(market, nullptr, periods, thread, threads);
    value[thread] = value_of(market, periods, thread, threads);
}

extern "C" __global__ void lib_gradient(const float* lambda, const float* initial, const float* normals, float* rates, float* saved, float* slopes,
                                        float* value, float* slope, int periods) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const Market market = {lambda, initial, normals, rates};
    walk(market, saved, periods, thread, threads);
    const float worth = value_of(market, periods, thread, threads);
    value[thread] = worth;
    // By the last rates: what a rate pays itself, and what it discounts behind it.
    float bond = 1.0f, paid = 0.0f;
    for (int i = 0; i < kRates; ++i) {
        const float rate = market.rates[i * threads + thread];
        const float discount = 1.0f / (1.0f + kDelta * rate);
        const float later = worth - paid;
        bond *= discount;
        float own = 0.0f;
        if (i >= periods && rate > kStrike) {
            own = 100.0f * kDelta * bond;
            paid += own * (rate - kStrike);
        }
        slopes[i * threads + thread] = own - later * kDelta * discount;
    }
    for (int n = periods - 1; n >= 0; --n) {
        float behind = 0.0f;
        for (int i = kRates - 1; i > n; --i) {
            const float weight = market.lambda[i - n - 1];
            const float before = saved[(n * kRates + i) * threads + thread];
            const float after = n + 1 < periods && i > n + 1 ? saved[((n + 1) * kRates + i) * threads + thread] : market.rates[i * threads + thread];
            const float by = slopes[i * threads + thread];
            behind += weight * after * by;
            const float factor = kDelta / (1.0f + kDelta * before);
            slopes[i * threads + thread] = by * after / before + behind * weight * factor * factor;
        }
    }
    float sum = 0.0f;
    for (int i = 0; i < kRates; ++i) sum += slopes[i * threads + thread];
    slope[thread] = sum;
}
