// SPDX-License-Identifier: MIT
// A stencil of seven points on a 3-D grid, before and after; docs/cta-cluster.md shows these kernels.
#include "cluster.cuh"

// before
__global__ void stencil(const float* in, float* out, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    const int at = (z * ny + y) * nx + x;
    out[at] = 0.4f * in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
}

// after: agents; `return` has become `continue`
__global__ void stencil_agents(mergelane::Agents agents, const float* in, float* out, int nx, int ny, int nz) {
    for (const dim3 block : agents) {
        const int x = block.x * blockDim.x + threadIdx.x;
        const int y = block.y * blockDim.y + threadIdx.y;
        const int z = block.z * blockDim.z + threadIdx.z;
        if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) continue;
        const int at = (z * ny + y) * nx + x;
        out[at] = 0.4f * in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
    }
}

// after: redirection
__global__ void stencil_redirected(mergelane::Order order, unsigned sms, const float* in, float* out, int nx, int ny, int nz) {
    const dim3 block = mergelane::redirect(order, sms);
    const int x = block.x * blockDim.x + threadIdx.x;
    const int y = block.y * blockDim.y + threadIdx.y;
    const int z = block.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    const int at = (z * ny + y) * nx + x;
    out[at] = 0.4f * in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
}

int main() {
    constexpr int nx = 75, ny = 22, nz = 13;
    const dim3 block(16, 4, 2), grid((nx + 15) / 16, (ny + 3) / 4, (nz + 1) / 2);
    const DeviceArray<float> in(random_floats(nx * ny * nz));
    DeviceArray<float> out(nx * ny * nz);
    compare(
        "stencil", {grid, block}, out, 0xFF, stencil_agents, [&] { stencil<<<grid, block>>>(in.at(), out.at(), nx, ny, nz); },
        [&](mergelane::Order order, unsigned sms) { stencil_redirected<<<grid, block>>>(order, sms, in.at(), out.at(), nx, ny, nz); },
        [&](mergelane::Agents agents) { stencil_agents<<<agents.ctas(), block>>>(agents, in.at(), out.at(), nx, ny, nz); });
}
