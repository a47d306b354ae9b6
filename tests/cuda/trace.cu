// SPDX-License-Identifier: MIT
// Launches to be recorded, and every way in which a program or its launches can end; the argument says which.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "check.cuh"

#ifdef __clang__
extern "C" cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
#endif

__global__ void add_one(unsigned* data, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1;
}
__global__ void only_writes(unsigned* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }
__global__ void choose_grid(unsigned* grid) {
    if (threadIdx.x == 0) *grid += 5;
}

static constexpr unsigned n = 1000;

/// Every launch adds one, once: what was recorded was not executed a second time.
static void add(unsigned* device, unsigned times) {
    OK(cudaMemset(device, 0, n * sizeof *device));
    for (unsigned t = 0; t < times; ++t) add_one<<<8, 128>>>(device, n);
    OK(cudaGetLastError());
    unsigned host[n];
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) CHECK(host[i] == times);
}

int main(int words, char** word) {
    const char* const how = words > 1 ? word[1] : "";
    const auto is = [how](const char* name) { return std::strcmp(how, name) == 0; };
    unsigned* device;
    OK(cudaMalloc(&device, n * sizeof *device));
    if (is("none")) return 0;
    if (is("early")) return 6;
    if (is("echo")) std::printf("[%s] [%s]\n", words > 2 ? word[2] : "-", words > 3 ? word[3] : "-");
    if (is("one")) {
        add_one<<<1, 32>>>(device, 32);
    } else if (is("stores")) {
        only_writes<<<4, 128>>>(device);
    } else if (is("grid")) {
        unsigned grid = 0;
        OK(cudaMemset(device, 0, sizeof grid));
        choose_grid<<<1, 32>>>(device);
        OK(cudaMemcpy(&grid, device, sizeof grid, cudaMemcpyDeviceToHost));
        add_one<<<grid, 128>>>(device, n);
    } else if (is("sms")) {
        int sms = 0;
        OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
        add_one<<<sms, 128>>>(device, n);
    } else {
        add(device, 3);
    }
    if (is("empty")) add_one<<<0, 128>>>(device, n);
    if (is("cooperative")) {
        unsigned count = n;
        void* arguments[] = {&device, &count};
        const cudaError_t error = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(add_one), dim3(8), dim3(128), arguments, 0, nullptr);
        std::printf("trace: a cooperative launch gives %d\n", static_cast<int>(error));
    }
    if (is("fork")) {
        const pid_t child = fork();
        if (child == 0) return 0;
        int status = 1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        add(device, 1);
    }
    if (is("fork_launch") && fork() == 0) {
        add_one<<<8, 128>>>(device, n);
        return 0;
    }
    if (is("fork_launch")) wait(nullptr);
    if (is("exec")) CHECK(std::system((std::string("\"") + word[0] + "\" one").c_str()) != -1);
    if (is("exit")) std::exit(7);
    if (is("_exit")) _exit(0);
    if (is("abort")) std::abort();
    if (is("segv")) std::raise(SIGSEGV);
    if (is("sleep")) {
        std::printf("trace: asleep\n");
        std::fflush(stdout);
        sleep(60);
    }
    std::printf("trace: done\n");
}
