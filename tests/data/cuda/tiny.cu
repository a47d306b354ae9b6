// SPDX-License-Identifier: MIT
// The *.fatbin files here are this, by CUDA 13.0: see make_fatbins.sh.
__device__ int offset = 3;
extern "C" __global__ void tiny(int* data) { data[threadIdx.x] = static_cast<int>(threadIdx.x) * 2 + offset; }
