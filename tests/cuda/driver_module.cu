// SPDX-License-Identifier: MIT
// The driver API: a module from PTX text, its function and variable, both ways to pass arguments, contexts, copies, fills, events, links, and
// the same device as the runtime's.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define DRIVER(call)                                                                   \
    do {                                                                               \
        const CUresult code = (call);                                                  \
        if (code == CUDA_SUCCESS) break;                                               \
        const char* name = nullptr;                                                    \
        cuGetErrorName(code, &name);                                                   \
        std::printf("line %d: %s: %s\n", __LINE__, #call, name == nullptr ? "?" : name); \
        std::exit(1);                                                                  \
    } while (false)
#define REQUIRE(condition)                                                \
    do {                                                                  \
        if (condition) break;                                             \
        std::printf("line %d: not true: %s\n", __LINE__, #condition);     \
        std::exit(1);                                                     \
    } while (false)

// to[i] = from[i] * factor + offset, where factor is a variable of the module
const char* const kScale = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 to, .param .u64 from, .param .u32 offset, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r2, [count];
  setp.ge.u32 %p, %r1, %r2;
  @%p ret;
  ld.param.u64 %d1, [to];
  ld.param.u64 %d2, [from];
  ld.param.u32 %r4, [offset];
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  ld.global.u32 %r5, [%d2];
  ld.global.u32 %r6, [factor];
  mad.lo.u32 %r5, %r5, %r6, %r4;
  st.global.u32 [%d1], %r5;
  ret;
}
)";
const char* const kCaller = R"(
.version 6.4
.target sm_75
.address_size 64
.extern .func (.param .b32 result) seven();
.visible .entry call_seven(.param .u64 to) {
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  { .param .b32 result; call.uni (result), seven, (); ld.param.b32 %r1, [result]; }
  ld.param.u64 %d1, [to];
  st.global.u32 [%d1], %r1;
  ret;
}
)";
const char* const kCallee = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b32 result) seven() {
  .reg .b32 %r<2>;
  mov.u32 %r1, 7;
  st.param.b32 [result], %r1;
  ret;
}
)";

__global__ void twice(unsigned* values) {
    values[threadIdx.x] *= 2;
}

constexpr unsigned kCount = 1000;

void modules() {
    CUmodule module;
    CUfunction scale;
    DRIVER(cuModuleLoadData(&module, kScale));
    DRIVER(cuModuleGetFunction(&scale, module, "scale"));
    REQUIRE(cuModuleGetFunction(&scale, module, "no such kernel") == CUDA_ERROR_NOT_FOUND);
    DRIVER(cuModuleGetFunction(&scale, module, "scale"));
    unsigned functions = 0;
    DRIVER(cuModuleGetFunctionCount(&functions, module));
    REQUIRE(functions == 1);
    CUdeviceptr from, to, factor;
    size_t bytes = 0;
    DRIVER(cuMemAlloc(&from, kCount * 4));
    DRIVER(cuMemAlloc(&to, kCount * 4));
    std::vector<unsigned> values(kCount), result(kCount);
    for (unsigned i = 0; i < kCount; ++i) values[i] = i;
    DRIVER(cuMemcpyHtoD(from, values.data(), kCount * 4));
    unsigned offset = 5, count = kCount;
    void* arguments[] = {&to, &from, &offset, &count};
    DRIVER(cuLaunchKernel(scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    DRIVER(cuCtxSynchronize());
    DRIVER(cuMemcpyDtoH(result.data(), to, kCount * 4));
    for (unsigned i = 0; i < kCount; ++i) REQUIRE(result[i] == 3 * i + 5);

    DRIVER(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
    REQUIRE(bytes == 4);
    DRIVER(cuMemsetD32(factor, 10, 1));
    struct {
        CUdeviceptr to, from;
        unsigned offset, count;
    } packed{to, from, 1, kCount};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUevent before, after;
    DRIVER(cuEventCreate(&before, CU_EVENT_DEFAULT));
    DRIVER(cuEventCreate(&after, CU_EVENT_DEFAULT));
    DRIVER(cuEventRecord(before, nullptr));
    DRIVER(cuLaunchKernel(scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
    DRIVER(cuEventRecord(after, nullptr));
    float milliseconds = 0;
    DRIVER(cuEventElapsedTime(&milliseconds, before, after));
    REQUIRE(milliseconds > 0);
    DRIVER(cuMemcpyDtoH(result.data(), to, kCount * 4));
    for (unsigned i = 0; i < kCount; ++i) REQUIRE(result[i] == 10 * i + 1);

    int registers = 0, threads = 0, grid = 0;
    DRIVER(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, scale));
    REQUIRE(registers > 0);
    DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &threads, scale, nullptr, 0, 0));
    REQUIRE(threads >= 32 && grid >= 1);
    DRIVER(cuMemFree(from));
    DRIVER(cuMemFree(to));
    DRIVER(cuModuleUnload(module));
    REQUIRE(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(cuModuleLoadData(&module, "not device code") == CUDA_ERROR_INVALID_IMAGE);
    REQUIRE(cuModuleLoadData(&module, "\177ELF\2\1\1") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    REQUIRE(cuModuleLoad(&module, "no such file") == CUDA_ERROR_FILE_NOT_FOUND);
}

void links_and_libraries() {
    CUlinkState link;
    void* image = nullptr;
    size_t bytes = 0;
    DRIVER(cuLinkCreate(0, nullptr, nullptr, &link));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kCaller), std::strlen(kCaller) + 1, "caller", 0, nullptr, nullptr));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kCallee), std::strlen(kCallee) + 1, "callee", 0, nullptr, nullptr));
    DRIVER(cuLinkComplete(link, &image, &bytes));
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    DRIVER(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    DRIVER(cuLinkDestroy(link));
    DRIVER(cuLibraryGetKernel(&kernel, library, "call_seven"));
    DRIVER(cuKernelGetFunction(&function, kernel));
    CUdeviceptr to;
    DRIVER(cuMemAllocManaged(&to, 4, CU_MEM_ATTACH_GLOBAL));
    void* arguments[] = {&to};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    DRIVER(cuLaunchKernelEx(&config, function, arguments, nullptr));
    DRIVER(cuStreamSynchronize(nullptr));
    REQUIRE(*reinterpret_cast<unsigned*>(to) == 7);
    unsigned managed = 0;
    DRIVER(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, to));
    REQUIRE(managed == 1);
    DRIVER(cuMemFree(to));
    DRIVER(cuLibraryUnload(library));
}

void with_the_runtime() {
    unsigned* values = nullptr;
    REQUIRE(cudaMalloc(&values, 32 * 4) == cudaSuccess);
    DRIVER(cuMemsetD32(reinterpret_cast<CUdeviceptr>(values), 4, 32));
    twice<<<1, 32>>>(values);
    cudaFunction_t function = nullptr;
    REQUIRE(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(twice)) == cudaSuccess);
    void* arguments[] = {&values};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    unsigned result[32];
    REQUIRE(cudaMemcpy(result, values, sizeof result, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (const unsigned value : result) REQUIRE(value == 16);
    CUcontext primary, current;
    DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    DRIVER(cuCtxSetCurrent(primary));
    DRIVER(cuCtxGetCurrent(&current));
    REQUIRE(current == primary);
    DRIVER(cuDevicePrimaryCtxRelease(0));
    void* address = nullptr;
    cudaDriverEntryPointQueryResult status;
    REQUIRE(cudaGetDriverEntryPointByVersion("cuMemAlloc", &address, 12000, cudaEnableDefault, &status) == cudaSuccess);
    REQUIRE(address == reinterpret_cast<void*>(&cuMemAlloc));
    REQUIRE(cudaGetLastError() == cudaSuccess);
    REQUIRE(cuMemFree(12345) == CUDA_ERROR_INVALID_VALUE && cudaGetLastError() == cudaSuccess);
}

void rows() {
    CUdeviceptr to;
    size_t pitch = 0;
    DRIVER(cuMemAllocPitch(&to, &pitch, 40, 4, 4));
    std::vector<unsigned char> from(400), back(160);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.srcPitch = 100;
    copy.srcXInBytes = 8;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to;
    copy.dstPitch = pitch;
    copy.WidthInBytes = 40;
    copy.Height = 4;
    DRIVER(cuMemcpy2D(&copy));
    CUDA_MEMCPY2D home{};
    home.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    home.srcDevice = to;
    home.srcPitch = pitch;
    home.dstMemoryType = CU_MEMORYTYPE_HOST;
    home.dstHost = back.data();
    home.dstPitch = 40;
    home.WidthInBytes = 40;
    home.Height = 4;
    DRIVER(cuMemcpy2D(&home));
    for (size_t i = 0; i < 160; ++i) REQUIRE(back[i] == from[i / 40 * 100 + 8 + i % 40]);
    DRIVER(cuMemsetD2D16(to, pitch, 0x1234, 20, 4));
    DRIVER(cuMemcpy2D(&home));
    REQUIRE(back[0] == 0x34 && back[159] == 0x12);
    DRIVER(cuMemFree(to));
}

/// Contents stay with an allocation when it is mapped elsewhere.
void virtual_memory() {
    CUmemAllocationProp property{};
    property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    DRIVER(cuMemGetAllocationGranularity(&unit, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr first, second;
    CUmemGenericAllocationHandle memory;
    DRIVER(cuMemAddressReserve(&first, 2 * unit, 0, 0, 0));
    DRIVER(cuMemAddressReserve(&second, unit, 0, 0, 0));
    DRIVER(cuMemCreate(&memory, unit, &property, 0));
    DRIVER(cuMemMap(first + unit, unit, 0, memory, 0));
    CUmemAccessDesc access{property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DRIVER(cuMemSetAccess(first + unit, unit, &access, 1));
    DRIVER(cuMemsetD32(first + unit, 99, unit / 4));
    DRIVER(cuMemUnmap(first + unit, unit));
    DRIVER(cuMemMap(second, unit, 0, memory, 0));
    DRIVER(cuMemRelease(memory));
    unsigned value = 0;
    DRIVER(cuMemcpyDtoH(&value, second + unit - 4, 4));
    REQUIRE(value == 99);
    REQUIRE(cuMemAddressFree(second, unit) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemUnmap(second, unit));
    DRIVER(cuMemAddressFree(second, unit));
    DRIVER(cuMemAddressFree(first, 2 * unit));
}

/// A kernel that ends itself was launched; whoever waits for it gets the error.
void trap() {
    CUmodule module;
    CUfunction function;
    DRIVER(cuModuleLoadData(&module, ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry stop() { trap; }\n"));
    DRIVER(cuModuleGetFunction(&function, module, "stop"));
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    REQUIRE(cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED);
    std::printf("the trap was reported\n");
}

int main(int argc, char**) {
    DRIVER(cuInit(0));
    int devices = 0, version = 0, sms = 0;
    DRIVER(cuDeviceGetCount(&devices));
    DRIVER(cuDriverGetVersion(&version));
    REQUIRE(devices == 1 && version >= 13000);
    CUdevice device;
    char name[64];
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDeviceGetName(name, sizeof name, device));
    DRIVER(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    REQUIRE(std::strncmp(name, "Mergelane ", 10) == 0 && sms > 0);
    CUcontext context, popped;
    DRIVER(cuCtxCreate(&context, nullptr, 0, device));
    if (argc > 1) {
        trap();
        return 0;
    }
    modules();
    links_and_libraries();
    rows();
    virtual_memory();
    DRIVER(cuCtxPopCurrent(&popped));
    REQUIRE(popped == context);
    DRIVER(cuCtxDestroy(context));
    with_the_runtime();
    REQUIRE(cuMemPoolTrimTo(nullptr, 0) == CUDA_ERROR_NOT_SUPPORTED);
    std::printf("the driver and the runtime agree\n");
}
