// SPDX-License-Identifier: MIT
// All CTAs of a cooperative launch meet at barriers of the grid, however it is launched, and a grid that does not fit is refused.
#include <cooperative_groups.h>

#include "check.cuh"

namespace cg = cooperative_groups;

/// Each round adds what the right neighbour had in the round before: wrong as soon as a CTA runs ahead.
__global__ void rounds(int* values, int count) {
    const cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < count; ++round) {
        const int from = static_cast<int>((grid.block_rank() + 1) % grid.num_blocks());
        const int next = values[from] + 1;
        grid.sync();
        if (threadIdx.x == 0) values[grid.block_rank()] = next;
        grid.sync();
    }
}

int main() {
    int sms, per_sm, can;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    CHECK(can == 1);
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, rounds, 64, 0));
    CHECK(per_sm > 0);
    constexpr int ctas = 24, count = 5;
    int *device, host[ctas];
    OK(cudaMalloc(&device, sizeof host));
    int times = count;
    void* arguments[] = {&device, &times};
    for (int how = 0; how < 2; ++how) {
        OK(cudaMemset(device, 0, sizeof host));
        if (how == 0) {
            OK(cudaLaunchCooperativeKernel(rounds, ctas, 64, arguments));
        } else {
            cudaLaunchAttribute attribute{};
            attribute.id = cudaLaunchAttributeCooperative;
            attribute.val.cooperative = 1;
            cudaLaunchConfig_t config{};
            config.gridDim = ctas;
            config.blockDim = 64;
            config.attrs = &attribute;
            config.numAttrs = 1;
            OK(cudaLaunchKernelEx(&config, rounds, device, count));
        }
        OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        for (const int value : host) CHECK(value == count);
    }
    CHECK(cudaLaunchCooperativeKernel(rounds, sms * per_sm + 1, 64, arguments) == cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    std::printf("cooperative: %d CTAs kept in step\n", ctas);
}
