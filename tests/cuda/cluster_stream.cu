// SPDX-License-Identifier: MIT
// A long array through a table in shared memory, on a 1-D grid, before and after; docs/cta-cluster.md shows these kernels.
#include "cluster.cuh"

constexpr int kEntries = 256;

// before: every CTA fetches the table
__global__ void look_up(const float* table, const unsigned* keys, float* out, int n) {
    __shared__ float entries[kEntries];
    for (int i = threadIdx.x; i < kEntries; i += blockDim.x) entries[i] = table[i];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = entries[keys[i] % kEntries] * 0.5f;
}

// after: agents fetch it once each, before their first task
__global__ void look_up_agents(mergelane::Agents agents, const float* table, const unsigned* keys, float* out, int n) {
    __shared__ float entries[kEntries];
    for (int i = threadIdx.x; i < kEntries; i += blockDim.x) entries[i] = table[i];
    __syncthreads();
    for (const dim3 block : agents) {
        const int i = block.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = entries[keys[i] % kEntries] * 0.5f;
    }
}

// after: redirection
__global__ void look_up_redirected(mergelane::Order order, unsigned sms, const float* table, const unsigned* keys, float* out, int n) {
    const dim3 block = mergelane::redirect(order, sms);
    __shared__ float entries[kEntries];
    for (int i = threadIdx.x; i < kEntries; i += blockDim.x) entries[i] = table[i];
    __syncthreads();
    const int i = block.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = entries[keys[i] % kEntries] * 0.5f;
}

int main() {
    constexpr int n = 20000, threads = 128, ctas = (n + threads - 1) / threads;
    const DeviceArray<float> table(random_floats(kEntries));
    const DeviceArray<unsigned> keys(shuffled(n));
    DeviceArray<float> out(n);
    compare(
        "stream", {ctas, threads}, out, 0xFF, look_up_agents, [&] { look_up<<<ctas, threads>>>(table.at(), keys.at(), out.at(), n); },
        [&](mergelane::Order order, unsigned sms) {
            look_up_redirected<<<ctas, threads>>>(order, sms, table.at(), keys.at(), out.at(), n);
        },
        [&](mergelane::Agents agents) { look_up_agents<<<agents.ctas(), threads>>>(agents, table.at(), keys.at(), out.at(), n); });
}
