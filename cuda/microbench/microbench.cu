// SPDX-License-Identifier: MIT
// The patterns of `mergelane microbench` as a CUDA program, for a GPU or for `mergelane cuda --gpu`:
//
//   nvcc -O3 -arch=sm_80 -cudart shared microbench.cu -o microbench
//   ./microbench 200000 20                     # on a GPU: loads of a chase, repetitions of which the fastest counts
//   mergelane cuda --gpu a100 ./microbench     # 2,000 loads and one repetition are enough, as runs do not differ
//
// Times are differences between a kernel and one of twice the length, so that what a launch costs cancels.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define OK(call)                                                                         \
    do {                                                                                 \
        const cudaError_t error = (call);                                                \
        if (error != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));          \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

constexpr unsigned kLine = 128;

static int repetitions = 1;
static double cycles_per_ms = 0;
static int sms = 0;
static unsigned passes = 1;  // over a buffer, to measure bandwidth

/// Milliseconds of the fastest repetition.
template <class Launch>
double fastest(Launch launch) {
    cudaEvent_t begin, end;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    double best = 0;
    for (int i = 0; i < repetitions; ++i) {
        OK(cudaEventRecord(begin));
        launch();
        OK(cudaEventRecord(end));
        OK(cudaEventSynchronize(end));
        OK(cudaGetLastError());
        float ms = 0;
        OK(cudaEventElapsedTime(&ms, begin, end));
        if (i == 0 || ms < best) best = ms;
    }
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    return best;
}
template <class Launch>
double cycles_of(unsigned length, Launch launch) {
    launch(length);  // warms the caches, and loads the kernel on a GPU
    return (fastest([&] { launch(2 * length); }) - fastest([&] { launch(length); })) * cycles_per_ms;
}

// Latencies: one thread, and every load yields the address of the next, so that nothing but loads is measured.

using Address = unsigned long long;

/// Goes on where the kernel before has stopped.
template <bool bypass_l1>
__global__ void chase(unsigned loads, Address* where) {
    Address at = *where;
    for (unsigned i = 0; i < loads; ++i) {
        if (bypass_l1)
            asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        else
            asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
    }
    *where = at;
}
__global__ void chase_shared(unsigned loads, Address* where) {
    __shared__ unsigned cell;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&cell));
    cell = at;
    for (unsigned i = 0; i < loads; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    *where = at;
}

/// A ring through all lines of a buffer in random order: a line's first word is the address of the next.
std::vector<Address> ring_of(std::size_t bytes, Address buffer) {
    const std::size_t lines = bytes / kLine;
    std::vector<unsigned> order(lines);
    for (std::size_t i = 0; i < lines; ++i) order[i] = static_cast<unsigned>(i);
    Address state = 1;
    for (std::size_t i = lines - 1; i > 0; --i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        std::swap(order[i], order[(state >> 33) % (i + 1)]);
    }
    std::vector<Address> words(bytes / sizeof(Address));
    for (std::size_t i = 0; i < lines; ++i) words[order[i] * (kLine / sizeof(Address))] = buffer + order[(i + 1) % lines] * kLine;
    return words;
}

template <class Launch>
void print_latency(const char* name, unsigned length, Launch launch) {
    std::printf("%-28s%12.1f cycles\n", name, cycles_of(length, launch) / length);
}

void print_chase(const char* name, std::size_t bytes, bool bypass_l1, unsigned loads) {
    char* buffer;
    Address* where;
    OK(cudaMalloc(&buffer, bytes));
    OK(cudaMalloc(&where, sizeof(Address)));
    const Address start = reinterpret_cast<Address>(buffer);
    OK(cudaMemcpy(where, &start, sizeof start, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(buffer, ring_of(bytes, start).data(), bytes, cudaMemcpyHostToDevice));
    print_latency(name, loads, [&](unsigned n) {
        if (bypass_l1)
            chase<true><<<1, 1>>>(n, where);
        else
            chase<false><<<1, 1>>>(n, where);
    });
    OK(cudaFree(buffer));
    OK(cudaFree(where));
}

void print_shared(unsigned loads) {
    Address* where;
    OK(cudaMalloc(&where, sizeof(Address)));
    print_latency("latency of shared memory", loads, [&](unsigned n) { chase_shared<<<1, 1>>>(n, where); });
    OK(cudaFree(where));
}

// Bandwidths.

__device__ unsigned folded(unsigned value) { return value; }
__device__ unsigned folded(uint2 value) { return value.x ^ value.y; }
__device__ unsigned folded(uint4 value) { return value.x ^ value.y ^ value.z ^ value.w; }

/// All CTAs read the whole buffer `passes` times, each from a place of its own; `own`: each its own part.
template <class T, bool bypass_l1>
__global__ void read(const T* data, unsigned count, unsigned passes, bool own, unsigned* out) {
    const unsigned begin = own ? blockIdx.x * count : 0;
    const unsigned shift = own ? 0 : blockIdx.x * (count / gridDim.x);
    unsigned sum = 0;
    for (unsigned pass = 0; pass < passes; ++pass) {
        for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
            unsigned at = i + shift;
            if (at >= count) at -= count;
            sum ^= folded(bypass_l1 ? __ldcg(data + begin + at) : __ldca(data + begin + at));
        }
    }
    if (sum == 0x9e3779b9) *out = sum;  // never; keeps the loads
}

/// `bytes` of the buffer that each CTA reads, `ctas` of 1,024 threads.
template <class T, bool bypass_l1>
void print_read(const char* name, std::size_t bytes, unsigned ctas, bool own) {
    const std::size_t all = own ? bytes * ctas : bytes;
    T* data;
    unsigned* out;
    OK(cudaMalloc(&data, all));
    OK(cudaMalloc(&out, sizeof(unsigned)));
    OK(cudaMemset(data, 0, all));
    const unsigned count = static_cast<unsigned>(bytes / sizeof(T));
    const double cycles = cycles_of(passes, [&](unsigned n) { read<T, bypass_l1><<<ctas, 1024>>>(data, count, n, own, out); });
    std::printf("%-28s%12.1f bytes/cycle, %u CTAs, %zu bytes per thread\n", name, static_cast<double>(bytes) * ctas * passes / cycles, ctas, sizeof(T));
    OK(cudaFree(data));
    OK(cudaFree(out));
}

__global__ void add(unsigned* counters, unsigned rounds, bool one) {
    unsigned* const mine = one ? counters : counters + blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < rounds; ++i) atomicAdd(mine, 1u);
}
void print_atomics(const char* name, bool one) {
    const unsigned ctas = static_cast<unsigned>(sms), threads = 64, rounds = 4 * passes;
    unsigned* counters;
    OK(cudaMalloc(&counters, ctas * threads * sizeof(unsigned)));
    const double cycles = cycles_of(rounds, [&](unsigned n) { add<<<ctas, threads>>>(counters, n, one); });
    std::printf("%-28s%12.1f lanes/cycle\n", name, static_cast<double>(ctas) * threads * rounds / cycles);
    OK(cudaFree(counters));
}

__global__ void nothing() {}

int main(int count, char** arguments) {
    const unsigned loads = count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)) : 2000;
    repetitions = count > 2 ? std::atoi(arguments[2]) : 1;
    if (loads < 32 || loads > 100000000 || repetitions < 1) {
        std::fprintf(stderr, "usage: microbench [LOADS [REPETITIONS]]\n");
        return 2;
    }
    if (loads > 2000) passes = loads / 2000;
    int khz = 0, l2_bytes = 0;
    OK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
    cycles_per_ms = khz;
    std::printf("%d SMs, %.0f MHz, %d KiB of L2\n", sms, khz / 1000.0, l2_bytes / 1024);

    print_shared(loads);
    print_chase("latency of the L1", 4 << 10, false, loads);
    print_chase("latency of the L2", 128 << 10, true, loads);
    print_chase("latency of DRAM", std::size_t{256} << 20, true, loads);  // a few of its lines, each once

    const unsigned all = 2 * static_cast<unsigned>(sms);
    print_read<uint4, false>("bandwidth of the L1", 8 << 10, all, true);
    print_read<unsigned, true>("bandwidth of the L2", 64 << 10, all, false);
    print_read<uint2, true>("bandwidth of the L2", 64 << 10, all, false);
    print_read<uint4, true>("bandwidth of the L2", 64 << 10, all, false);
    print_read<uint4, true>("bandwidth of the L2", 64 << 10, all / 8 + 1, false);
    print_read<uint4, true>("bandwidth of the L2", 64 << 10, 1, false);
    print_atomics("atomics, one address", true);
    print_atomics("atomics, own addresses", false);
    nothing<<<1, 1>>>();
    std::printf("%-28s%12.1f cycles\n", "launch", fastest([] { nothing<<<1, 1>>>(); }) * cycles_per_ms);
    return 0;
}
