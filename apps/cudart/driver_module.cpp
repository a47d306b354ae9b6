// SPDX-License-Identifier: MIT
// The driver's modules, libraries and links, their kernels, and launches. A module, a library and a library's module are the same thing
// here, and so are a function and a kernel.
#include <algorithm>
#include <cstring>

#include "driver.hpp"
#include "modules.hpp"
#include "workload/cuda/link_ptx.hpp"
#include "workload/ptx/program.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::cudart;

std::set<void*>& loaded_modules() {
    static auto* const modules = new std::set<void*>;
    return *modules;
}
CodeImage* loaded_module(void* handle) {
    if (!loaded_modules().contains(handle)) throw CudaError{kInvalidResourceHandle, ""};
    return static_cast<CodeImage*>(handle);
}

/// Logs and times that the program asked for: there is nothing to say.
void answer_options(unsigned count, const int* options, void** values) {
    enum { kWallTime = 2, kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6 };
    for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
        const int option = options[i];
        if ((option == kInfoLog || option == kErrorLog) && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
    }
    for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
        const int option = options[i];
        if (option == kWallTime || option == kInfoLogBytes || option == kErrorLogBytes) values[i] = nullptr;
    }
}

template <class Read>
int load_code(void** module, const Read& read) {
    return driver_guarded([&](Runtime& runtime) {
        out(module) = nullptr;
        const LoadedCode code = read();
        CodeImage* const image = runtime.load_module(code.units, code.sm, code.remarks);
        loaded_modules().insert(image);
        *module = image;
    });
}

/// Pointers to the arguments in the buffer of `extra`.
std::vector<void*> unpacked(Runtime& runtime, Kernel& kernel, void** extra) {
    enum : std::uintptr_t { kEnd = 0, kPointer = 1, kSize = 2 };
    std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    for (; reinterpret_cast<std::uintptr_t>(extra[0]) != kEnd; extra += 2) {
        const auto what = reinterpret_cast<std::uintptr_t>(extra[0]);
        if (what == kPointer) buffer = static_cast<std::byte*>(extra[1]);
        if (what == kSize) bytes = *static_cast<std::size_t*>(extra[1]);
        if (what > kSize) throw CudaError{kInvalidValue, ""};
    }
    const ptx::Function& code = runtime.module(*kernel.image).kernel(kernel.name);
    const std::vector<std::uint32_t> offsets = code.param_offsets();
    std::vector<void*> list;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (buffer == nullptr || offsets[i] + code.params[i].bytes > bytes) throw CudaError{kInvalidValue, ""};
        list.push_back(buffer + offsets[i]);
    }
    return list;
}

/// The link of several inputs; its result is the text of one module.
struct DriverLink {
    std::vector<std::string> units;
    std::string linked;
};
Handles<DriverLink>& links() {
    static auto* const all = new Handles<DriverLink>;
    return *all;
}
template <class Read>
int add_to_link(void* link, const Read& read) {
    return driver_guarded([&](Runtime&) {
        DriverLink& to = links().at(link);
        for (std::string& unit : read().units) to.units.push_back(std::move(unit));
    });
}

}  // namespace

using namespace mergelane;
using namespace mergelane::cudart;

// ---- modules

MERGELANE_API int cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options, void** values) {
    answer_options(count, options, values);
    return load_code(module, [&] { return read_image(image); });
}
MERGELANE_API int cuModuleLoadData(void** module, const void* image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
MERGELANE_SAME(cuModuleLoadData, cuModuleLoadFatBinary);
MERGELANE_API int cuModuleLoad(void** module, const char* path) {
    return load_code(module, [&] { return read_image_file(path); });
}
MERGELANE_API int cuModuleUnload(void* module) {
    return driver_guarded([&](Runtime& runtime) {
        runtime.unload_module(loaded_module(module));
        loaded_modules().erase(module);
    });
}
MERGELANE_SAME(cuModuleUnload, cuLibraryUnload);
MERGELANE_API int cuModuleGetLoadingMode(int* mode) {
    return driver_guarded([&](Runtime&) { out(mode) = 1; });
}
MERGELANE_API int cuModuleGetFunction(void** function, void* module, const char* name) {
    return driver_guarded([&](Runtime& runtime) {
        out(function) = nullptr;
        *function = &runtime.module_kernel(loaded_module(module), &out(name));
    });
}
MERGELANE_SAME(cuModuleGetFunction, cuLibraryGetKernel);
MERGELANE_API int cuModuleGetFunctionCount(unsigned* count, void* module) {
    return driver_guarded(
        [&](Runtime& runtime) { out(count) = static_cast<unsigned>(runtime.module(*loaded_module(module)).kernels().size()); });
}
MERGELANE_SAME(cuModuleGetFunctionCount, cuLibraryGetKernelCount);
MERGELANE_API int cuModuleEnumerateFunctions(void** functions, unsigned count, void* module) {
    return driver_guarded([&](Runtime& runtime) {
        CodeImage* const image = loaded_module(module);
        const std::vector<std::string_view> names = runtime.module(*image).kernels();
        for (unsigned i = 0; i < count && i < names.size(); ++i) (&out(functions))[i] = &runtime.module_kernel(image, names[i]);
    });
}
MERGELANE_SAME(cuModuleEnumerateFunctions, cuLibraryEnumerateKernels);
MERGELANE_API int cuModuleGetGlobal_v2(DevicePointer* pointer, std::size_t* bytes, void* module, const char* name) {
    return driver_guarded([&](Runtime& runtime) {
        const ptx::Module& code = runtime.module(*loaded_module(module));
        const ptx::Variable* const variable = code.find_variable(&out(name));
        if (variable == nullptr) throw CudaError{static_cast<Error>(kDriverNotFound), ""};
        if (pointer != nullptr) *pointer = runtime.memory().symbol(code, name);
        if (bytes != nullptr) *bytes = variable->bytes;
    });
}
MERGELANE_SAME(cuModuleGetGlobal_v2, cuLibraryGetGlobal);
MERGELANE_SAME(cuModuleGetGlobal_v2, cuLibraryGetManaged);

// ---- libraries

MERGELANE_API int cuLibraryLoadData(void** library, const void* code, const int* options, void** values, unsigned count, const int*, void**,
                                    unsigned) {
    return cuModuleLoadDataEx(library, code, count, options, values);
}
MERGELANE_API int cuLibraryLoadFromFile(void** library, const char* path, const int* options, void** values, unsigned count, const int*,
                                        void**, unsigned) {
    answer_options(count, options, values);
    return cuModuleLoad(library, path);
}
MERGELANE_API int cuLibraryGetModule(void** module, void* library) {
    return driver_guarded([&](Runtime&) { out(module) = loaded_module(library); });
}
// The runtime has the same functions; its kernels may be registered ones.
MERGELANE_API int cudaLibraryLoadData(void** library, const void* code, const int* options, void** values, unsigned count, const int*,
                                      void**, unsigned) {
    return remember(static_cast<Error>(cuModuleLoadDataEx(library, code, count, options, values)));
}
MERGELANE_API int cudaLibraryLoadFromFile(void** library, const char* path, const int* options, void** values, unsigned count, const int*,
                                          void**, unsigned) {
    answer_options(count, options, values);
    return remember(static_cast<Error>(cuModuleLoad(library, path)));
}
MERGELANE_API int cudaLibraryUnload(void* library) {
    return remember(static_cast<Error>(cuModuleUnload(library)));
}
MERGELANE_API int cudaLibraryGetKernel(void** kernel, void* library, const char* name) {
    return remember(static_cast<Error>(cuModuleGetFunction(kernel, library, name)));
}
MERGELANE_API int cudaLibraryGetKernelCount(unsigned* count, void* library) {
    return remember(static_cast<Error>(cuModuleGetFunctionCount(count, library)));
}
MERGELANE_API int cudaLibraryEnumerateKernels(void** kernels, unsigned count, void* library) {
    return remember(static_cast<Error>(cuModuleEnumerateFunctions(kernels, count, library)));
}
MERGELANE_API int cudaLibraryGetGlobal(DevicePointer* pointer, std::size_t* bytes, void* library, const char* name) {
    return remember(static_cast<Error>(cuModuleGetGlobal_v2(pointer, bytes, library, name)));
}

// ---- links

MERGELANE_API int cuLinkCreate_v2(unsigned count, const int* options, void** values, void** link) {
    answer_options(count, options, values);
    return driver_guarded([&](Runtime&) { out(link) = links().add({}); });
}
MERGELANE_SAME(cuLinkCreate_v2, cuLinkCreate);
MERGELANE_API int cuLinkAddData_v2(void* link, int, const void* data, std::size_t, const char*, unsigned, const int*, void**) {
    return add_to_link(link, [&] { return read_image(data); });
}
MERGELANE_SAME(cuLinkAddData_v2, cuLinkAddData);
MERGELANE_API int cuLinkAddFile_v2(void* link, int, const char* path, unsigned, const int*, void**) {
    return add_to_link(link, [&] { return read_image_file(path); });
}
MERGELANE_SAME(cuLinkAddFile_v2, cuLinkAddFile);
/// The result is valid until the link is destroyed.
MERGELANE_API int cuLinkComplete(void* link, const void** image, std::size_t* bytes) {
    return driver_guarded([&](Runtime&) {
        DriverLink& made = links().at(link);
        made.linked = cuda::link_ptx(made.units, "the link");
        out(image) = made.linked.c_str();
        if (bytes != nullptr) *bytes = made.linked.size() + 1;
    });
}
MERGELANE_API int cuLinkDestroy(void* link) {
    return driver_guarded([&](Runtime&) { links().remove(link); });
}

// ---- kernels

MERGELANE_API int cuKernelGetFunction(void** function, void* kernel) {
    return driver_guarded([&](Runtime& runtime) { out(function) = &runtime.kernel(kernel); });
}
MERGELANE_API int cuKernelGetLibrary(void** library, void* kernel) {
    return driver_guarded([&](Runtime& runtime) { out(library) = runtime.kernel(kernel).image; });
}
MERGELANE_API int cuFuncGetModule(void** module, void* function) {
    return cuKernelGetLibrary(module, function);
}
MERGELANE_API int cuFuncGetAttribute(int* value, int attribute, void* function) {
    FuncAttributes a;
    if (const int code = driver_call([&] { return cudaFuncGetAttributes(&a, function); }); code != kSuccess) return code;
    const int values[] = {a.maxThreadsPerBlock,
                          static_cast<int>(a.sharedSizeBytes),
                          static_cast<int>(a.constSizeBytes),
                          static_cast<int>(a.localSizeBytes),
                          a.numRegs,
                          a.ptxVersion,
                          a.binaryVersion,
                          a.cacheModeCA,
                          a.maxDynamicSharedSizeBytes,
                          a.preferredShmemCarveout,
                          a.clusterDimMustBeSet,
                          a.requiredClusterWidth,
                          a.requiredClusterHeight,
                          a.requiredClusterDepth,
                          a.nonPortableClusterSizeAllowed,
                          a.clusterSchedulingPolicyPreference};
    if (value == nullptr || attribute < 0 || attribute >= static_cast<int>(std::size(values))) return kInvalidValue;
    *value = values[attribute];
    return kSuccess;
}
MERGELANE_API int cuKernelGetAttribute(int* value, int attribute, void* kernel, int) {
    return cuFuncGetAttribute(value, attribute, kernel);
}
MERGELANE_API int cuFuncSetAttribute(void* function, int attribute, int value) {
    return driver_call([&] { return cudaFuncSetAttribute(function, attribute, value); });
}
MERGELANE_API int cuKernelSetAttribute(int attribute, int value, void* kernel, int) {
    return cuFuncSetAttribute(kernel, attribute, value);
}
MERGELANE_API int cuFuncSetCacheConfig(void* function, int) {
    return driver_guarded([&](Runtime& runtime) { runtime.kernel(function); });
}
MERGELANE_SAME(cuFuncSetCacheConfig, cuFuncSetSharedMemConfig);
MERGELANE_API int cuKernelSetCacheConfig(void* kernel, int config, int) {
    return cuFuncSetCacheConfig(kernel, config);
}
MERGELANE_API int cuFuncGetName(const char** name, void* function) {
    return driver_call([&] { return cudaFuncGetName(name, function); });
}
MERGELANE_SAME(cuFuncGetName, cuKernelGetName);
MERGELANE_API int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return driver_call([&] { return cudaFuncGetParamInfo(function, index, offset, bytes); });
}
MERGELANE_SAME(cuFuncGetParamInfo, cuKernelGetParamInfo);
MERGELANE_API int cuFuncLoad(void* function) {
    return cuFuncSetCacheConfig(function, 0);
}
MERGELANE_API int cuFuncIsLoaded(int* state, void* function) {
    return driver_guarded([&](Runtime& runtime) {
        runtime.kernel(function);
        out(state) = 1;
    });
}

// ---- launches

namespace {

/// A kernel whose own assertion or trap ends it was launched: a GPU reports the error with the next call that waits for it.
template <class Launch>
int driver_launch(const Launch& launch) {
    const bool before = Runtime::get().faulted();
    const int code = driver_call(launch);
    if (code == kSuccess) return code;
    Runtime::get().set_unseen_failure(false);  // the program has the code, or gets it then
    return !before && Runtime::get().faulted() ? kSuccess : code;
}

}  // namespace

MERGELANE_API int cuLaunchKernelEx(const DriverLaunch* launch, void* function, void** arguments, void** extra) {
    if (launch == nullptr || (arguments != nullptr && extra != nullptr)) return kInvalidValue;
    std::vector<void*> list;
    if (extra != nullptr) {
        const int code = driver_guarded([&](Runtime& runtime) { list = unpacked(runtime, runtime.kernel(function), extra); });
        if (code != kSuccess) return code;
        arguments = list.data();
    }
    const LaunchConfiguration config = launch->configuration();
    return driver_launch([&] { return cudaLaunchKernelExC(&config, function, arguments); });
}
MERGELANE_ALSO(cuLaunchKernelEx, ptsz);
MERGELANE_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, void* stream, void** arguments, void** extra) {
    const DriverLaunch launch{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, nullptr, 0};
    return cuLaunchKernelEx(&launch, function, arguments, extra);
}
MERGELANE_ALSO(cuLaunchKernel, ptsz);
MERGELANE_API int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments) {
    return driver_launch([&] {
        return cudaLaunchCooperativeKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments, shared, stream);
    });
}
MERGELANE_ALSO(cuLaunchCooperativeKernel, ptsz);

// ---- occupancy

MERGELANE_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int threads, std::size_t shared,
                                                                       unsigned flags) {
    return driver_call([&] { return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags); });
}
MERGELANE_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, std::size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
MERGELANE_API int cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, void* function, int blocks, int threads) {
    return driver_call([&] { return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads); });
}
/// The largest CTA with the most threads on an SM, and the CTAs that fill the device then.
MERGELANE_API int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, void* function, std::size_t (*shared_of)(int),
                                                            std::size_t shared, int most, unsigned flags) {
    if (grid == nullptr || block == nullptr) return kInvalidValue;
    *grid = *block = 0;
    int best = 0;
    for (int threads = most <= 0 ? 1024 : std::min(most, 1024); threads > 0; threads -= threads % 32 == 0 ? 32 : threads % 32) {
        int ctas = 0;
        const std::size_t bytes = shared_of == nullptr ? shared : shared_of(threads);
        const int code = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&ctas, function, threads, bytes, flags);
        if (code != kSuccess) return code;
        if (ctas * threads <= best) continue;
        best = ctas * threads;
        *block = threads;
        *grid = ctas * static_cast<int>(Runtime::get().spec().sms());
    }
    return kSuccess;
}
MERGELANE_API int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* function, std::size_t (*shared_of)(int), std::size_t shared,
                                                   int most) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, most, 0);
}
