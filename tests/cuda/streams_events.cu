// SPDX-License-Identifier: MIT
// Streams, events, pinned and managed memory, rows with pitch, callbacks.
#include "check.cuh"

__global__ void scale(int* data, int n, int factor) {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) data[i] *= factor;
}

__global__ void transpose(const int* from, size_t from_pitch, int* to, int width, int height) {
    const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < width && y < height) to[x * height + y] = reinterpret_cast<const int*>(reinterpret_cast<const char*>(from) + y * from_pitch)[x];
}

__managed__ int results[4] = {1, 2, 3, 4};
__global__ void square() { results[threadIdx.x] *= results[threadIdx.x]; }

static void count_up(void* counter) { ++*static_cast<int*>(counter); }

int main() {
    constexpr int n = 4096;
    cudaStream_t streams[2];
    cudaEvent_t begin, middle, end;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreateWithFlags(&middle, cudaEventDefault));
    OK(cudaEventCreate(&end));
    int *host, *device;
    OK(cudaMallocHost(&host, 2 * n * sizeof(int)));
    OK(cudaMalloc(&device, 2 * n * sizeof(int)));
    for (int i = 0; i < 2 * n; ++i) host[i] = i;
    for (cudaStream_t& stream : streams) OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventRecord(begin, streams[0]));
    for (int s = 0; s < 2; ++s) {
        OK(cudaMemcpyAsync(device + s * n, host + s * n, n * sizeof(int), cudaMemcpyHostToDevice, streams[s]));
        scale<<<4, 128, 0, streams[s]>>>(device + s * n, n, s + 2);
        if (s == 0) OK(cudaEventRecord(middle, streams[0]));
        OK(cudaMemcpyAsync(host + s * n, device + s * n, n * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
    }
    OK(cudaStreamWaitEvent(streams[1], middle, 0));
    OK(cudaEventRecord(end, streams[1]));
    int calls = 0;
    OK(cudaLaunchHostFunc(streams[1], count_up, &calls));
    for (cudaStream_t stream : streams) OK(cudaStreamSynchronize(stream));
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    CHECK(calls == 1);
    for (int i = 0; i < n; ++i) CHECK(host[i] == 2 * i && host[n + i] == 3 * (n + i));
    float first, whole;
    OK(cudaEventElapsedTime(&first, begin, middle));
    OK(cudaEventElapsedTime(&whole, begin, end));
    CHECK(first > 0 && whole > first);

    // Kernels see pinned and managed memory at its own address.
    scale<<<1, 32>>>(host, n, 5);
    OK(cudaDeviceSynchronize());
    CHECK(host[1] == 10);
    int* managed;
    OK(cudaMallocManaged(&managed, n * sizeof(int)));
    for (int i = 0; i < n; ++i) managed[i] = i;
    scale<<<2, 64>>>(managed, n, 7);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < n; ++i) CHECK(managed[i] == 7 * i);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&attributes, device));
    CHECK(attributes.type == cudaMemoryTypeDevice);
    OK(cudaPointerGetAttributes(&attributes, &attributes));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaFree(managed));
    CHECK(results[2] == 3);
    results[3] = 9;
    square<<<1, 4>>>();
    OK(cudaDeviceSynchronize());
    CHECK(results[0] == 1 && results[1] == 4 && results[2] == 9 && results[3] == 81);

    constexpr int width = 70, height = 33;
    static int picture[height][width], turned[width][height];
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) picture[y][x] = 1000 * y + x;
    }
    int* rows;
    size_t pitch;
    OK(cudaMallocPitch(&rows, &pitch, width * sizeof(int), height));
    CHECK(pitch >= width * sizeof(int));
    OK(cudaMemcpy2D(rows, pitch, picture, width * sizeof(int), width * sizeof(int), height, cudaMemcpyHostToDevice));
    transpose<<<dim3(3, 2), dim3(32, 32)>>>(rows, pitch, device, width, height);
    OK(cudaMemcpy(turned, device, sizeof turned, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) CHECK(turned[x][y] == picture[y][x]);
    }
    for (cudaStream_t stream : streams) OK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(streams[0]) == cudaErrorInvalidResourceHandle);
    OK(cudaFreeHost(host));
    std::printf("streams_events: all as expected\n");
}
