// SPDX-License-Identifier: MIT
// Prices of European options by the Black-Scholes formula: three coalesced loads and two stores per option, each used once.

// Cumulative normal distribution by a five-term polynomial in 1/(1 + 0.2316419 |d|) (Abramowitz and Stegun 26.2.17).
static __device__ __forceinline__ float normal_cdf(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) *
                       (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(float* call, float* put, const float* price, const float* strike, const float* years,
                                         float riskless, float volatility, int options) {
    const int threads = blockDim.x * gridDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < options; i += threads) {
        const float s = price[i], x = strike[i], t = years[i];
        const float root = sqrtf(t);
        const float d1 = (logf(s / x) + (riskless + 0.5f * volatility * volatility) * t) / (volatility * root);
        const float d2 = d1 - volatility * root;
        const float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
        const float discounted = x * expf(-riskless * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
