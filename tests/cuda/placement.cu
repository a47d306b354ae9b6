// SPDX-License-Identifier: MIT
// Every CTA writes down the SM it runs on. A GPU, real or simulated, spreads them; with the argument `one`, all must be on SM 0.
#include <cstring>
#include <set>

#include "check.cuh"

__global__ void where(unsigned* sms, unsigned* warps) {
    unsigned sm, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    if (threadIdx.x == 0) {
        sms[blockIdx.x] = sm;
        warps[blockIdx.x] = warp;
    }
}

int main(int argc, char** argv) {
    const bool on_one = argc > 1 && std::strcmp(argv[1], "one") == 0;
    constexpr int ctas = 200;
    unsigned *device, host[2 * ctas];
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMemset(device, 0xFF, sizeof host));
    where<<<ctas, 64>>>(device, device + ctas);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    int sms, threads;
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    std::set<unsigned> seen;
    for (int cta = 0; cta < ctas; ++cta) {
        CHECK(host[cta] < static_cast<unsigned>(sms));
        CHECK(host[ctas + cta] < static_cast<unsigned>(threads / 32));
        seen.insert(host[cta]);
    }
    CHECK(on_one ? seen == std::set<unsigned>{0} : seen.size() > 1);
    std::printf("placement: SMs seen: %zu of %d\n", seen.size(), sms);
}
