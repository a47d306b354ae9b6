// SPDX-License-Identifier: MIT
// Two elementwise steps of a layer in f16: rotary position embedding of queries and keys, in place, and the gate of the feed-forward network,
// silu(gate) * up. Both read and write 16 bytes per lane.
#include <cuda_fp16.h>

namespace {

constexpr int kHead = 128;

}  // namespace

// Rotates dimensions i and i + 64 of every head by the angle of the token's position. `angles`: positions x 64 pairs of cosine and sine. Eight
// threads per head; the heads of a token lie one after the other.
extern "C" __global__ void rope_f16(uint4* heads, const int* positions, const float2* angles, int heads_per_token, int total) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = thread / 8, part = thread % 8;
    if (head >= total) return;
    uint4* at = heads + (long long)head * (kHead / 8) + part;
    uint4 low = at[0], high = at[8];
    const float2* turn = angles + (long long)positions[head / heads_per_token] * (kHead / 2) + part * 8;
    __half2* first = reinterpret_cast<__half2*>(&low);
    __half2* second = reinterpret_cast<__half2*>(&high);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float4 both = reinterpret_cast<const float4*>(turn)[i];  // two pairs
        const float2 x = __half22float2(first[i]), y = __half22float2(second[i]);
        first[i] = __floats2half2_rn(x.x * both.x - y.x * both.y, x.y * both.z - y.y * both.w);
        second[i] = __floats2half2_rn(y.x * both.x + x.x * both.y, y.y * both.z + x.y * both.w);
    }
    at[0] = low;
    at[8] = high;
}

// A row has `vectors` of eight gates, then as many values.
extern "C" __global__ void silu_mul_f16(const uint4* from, uint4* to, int vectors, int total) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= total) return;
    const int row = thread / vectors, column = thread % vectors;
    uint4 gates = from[(long long)row * 2 * vectors + column];
    const uint4 values = from[((long long)row * 2 + 1) * vectors + column];
    __half2* gate = reinterpret_cast<__half2*>(&gates);
    const __half2* value = reinterpret_cast<const __half2*>(&values);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 x = __half22float2(gate[i]);
        const __half2 silu = __floats2half2_rn(x.x / (1.0f + __expf(-x.x)), x.y / (1.0f + __expf(-x.y)));
        gate[i] = __hmul2(silu, value[i]);
    }
    to[thread] = gates;
}
