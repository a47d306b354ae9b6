// SPDX-License-Identifier: MIT
// A program without device code of its own: it compiles a kernel with NVRTC and loads the PTX with the driver API.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

#define CHECK(call)                                           \
    if (const int code = static_cast<int>(call); code != 0) { \
        std::printf("%s: %d\n", #call, code);                 \
        return 1;                                             \
    }

int main(int argc, char**) {
    const char* const source =
        "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) y[i] += a * x[i];\n"
        "}\n";
    CUdevice device;
    int major = 0, minor = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    const std::string architecture = "--gpu-architecture=compute_" + std::to_string(major * 10 + minor);
    const char* const options[] = {architecture.c_str()};
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, source, "axpy.cu", 0, nullptr, nullptr));
    CHECK(nvrtcCompileProgram(program, 1, options));
    size_t bytes = 0;
    CHECK(nvrtcGetPTXSize(program, &bytes));
    std::string ptx(bytes, '\0');
    CHECK(nvrtcGetPTX(program, ptx.data()));
    CHECK(nvrtcGetCUBINSize(program, &bytes));
    if (bytes != 0) return 1;  // there is none for a virtual architecture
    CHECK(nvrtcDestroyProgram(&program));
    if (argc > 1) {  // as machine code
        const char* const real[] = {"--gpu-architecture=sm_75"};
        CHECK(nvrtcCreateProgram(&program, source, "axpy.cu", 0, nullptr, nullptr));
        CHECK(nvrtcCompileProgram(program, 1, real));
        CHECK(nvrtcGetCUBINSize(program, &bytes));
        ptx.assign(bytes, '\0');
        CHECK(nvrtcGetCUBIN(program, ptx.data()));
        CHECK(nvrtcDestroyProgram(&program));
    }

    CUcontext context;
    CUmodule module;
    CUfunction axpy;
    CHECK(cuCtxCreate(&context, nullptr, 0, device));
    CHECK(cuModuleLoadData(&module, ptx.c_str()));
    CHECK(cuModuleGetFunction(&axpy, module, "axpy"));
    int n = 1000;
    float a = 2;
    std::vector<float> x(1000), y(1000);
    for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i), y[i] = 1;
    CUdeviceptr device_x, device_y;
    CHECK(cuMemAlloc(&device_x, 4000));
    CHECK(cuMemAlloc(&device_y, 4000));
    CHECK(cuMemcpyHtoD(device_x, x.data(), 4000));
    CHECK(cuMemcpyHtoD(device_y, y.data(), 4000));
    void* arguments[] = {&a, &device_x, &device_y, &n};
    CHECK(cuLaunchKernel(axpy, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(cuMemcpyDtoH(y.data(), device_y, 4000));
    for (int i = 0; i < n; ++i) {
        if (y[i] != 2 * static_cast<float>(i) + 1) return 1;
    }
    std::printf("compiled while running: right\n");
}
