// SPDX-License-Identifier: MIT
// Registration of device code, and launches.
#include <cstring>
#include <new>

#include "api.hpp"
#include "cluster.hpp"
#include "workload/ptx/program.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

struct CallConfiguration {
    Dim grid, block;
    std::size_t shared;
    void* stream;
};
std::vector<CallConfiguration>& configurations() {
    thread_local std::vector<CallConfiguration> stack;
    return stack;
}

/// What is registered without an image is ignored.
template <class Body>
int with_image(void** image, const Body& body) {
    return guarded([&](Runtime& runtime) {
        if (image != nullptr) body(runtime, reinterpret_cast<CodeImage*>(image));
    });
}

int launch(const void* function, Dim grid, Dim block, void** arguments, std::size_t shared, void* stream, const LaunchKind& kind) {
    const int status = guarded([&](Runtime& runtime) {
        const KernelNode node{function, grid, block, static_cast<unsigned>(shared), arguments, nullptr};
        if (!runtime.capture(stream, node, kind)) runtime.launch(runtime.kernel(function), grid, block, arguments, shared, stream, kind);
    });
    // An empty grid is an error too, but a harmless one, here and on a GPU, and programs rely on that.
    if (status != kSuccess && grid.x != 0 && grid.y != 0 && grid.z != 0 && !Runtime::get().faulted())
        Runtime::get().set_unseen_failure(true);
    return status;
}

}  // namespace

MERGELANE_API void** __cudaRegisterFatBinary(void* wrapper) {
    CodeImage* image = nullptr;
    guarded([&](Runtime& runtime) { image = runtime.add_image(static_cast<const cuda::FatbinWrapper*>(wrapper)); });
    return reinterpret_cast<void**>(image);
}
MERGELANE_API void __cudaRegisterFatBinaryEnd(void**) {}
MERGELANE_API void __cudaUnregisterFatBinary(void** image) {
    with_image(image, [](Runtime& runtime, CodeImage* code) { runtime.remove_image(code); });
}
/// Called before the host first accesses a __managed__ variable, which must have its initial value by then.
MERGELANE_API char __cudaInitModule(void** image) {
    return with_image(image, [](Runtime& runtime, CodeImage* code) { runtime.module(*code); }) == kSuccess;
}
MERGELANE_API void __cudaRegisterManagedVar(void** image, void** host, char*, const char* name, int, std::size_t bytes, int, int) {
    with_image(image, [&](Runtime& runtime, CodeImage* code) {
        if (host == nullptr) return;
        *host = runtime.add_managed_variable(code, name, bytes);
        runtime.add_variable(code, *host, name, bytes);
    });
}
MERGELANE_API void __cudaRegisterFunction(void** image, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
    with_image(image, [&](Runtime& runtime, CodeImage* code) { runtime.add_kernel(code, host, name); });
}
MERGELANE_API void __cudaRegisterVar(void** image, char* host, char*, const char* name, int, std::size_t bytes, int, int) {
    with_image(image, [&](Runtime& runtime, CodeImage* code) { runtime.add_variable(code, host, name, bytes); });
}
MERGELANE_API void __cudaRegisterHostVar(void**, const char*, char*, std::size_t) {}
MERGELANE_API void __cudaRegisterUnifiedTable(void**, void*) {}

MERGELANE_API unsigned __cudaPushCallConfiguration(Dim grid, Dim block, std::size_t shared, void* stream) {
    try {
        configurations().push_back({grid, block, shared, stream});
        return 0;
    } catch (const std::bad_alloc&) {
        Runtime::get().lost_for_recording("(unknown)", "out of memory");
        Runtime::get().set_unseen_failure(true);  // the launch does not take place
        return static_cast<unsigned>(out_of_memory());
    }
}
MERGELANE_API int __cudaPopCallConfiguration(Dim* grid, Dim* block, std::size_t* shared, void* stream) {
    if (configurations().empty()) return remember(kMissingConfiguration);
    const CallConfiguration last = configurations().back();
    configurations().pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    std::memcpy(stream, &last.stream, sizeof last.stream);
    return kSuccess;
}

MERGELANE_API int __cudaGetKernel(void** handle, const void* function) {
    return guarded([&](Runtime& runtime) {
        out(handle) = nullptr;
        *handle = &runtime.kernel(function);
    });
}
MERGELANE_SAME(__cudaGetKernel, cudaGetKernel);
MERGELANE_SAME(__cudaGetKernel, cudaGetFuncBySymbol);
MERGELANE_API int cudaLaunchKernel(const void* function, Dim grid, Dim block, void** arguments, std::size_t shared, void* stream) {
    return launch(function, grid, block, arguments, shared, stream, {});
}
MERGELANE_ALSO(cudaLaunchKernel, ptsz);
MERGELANE_SAME(cudaLaunchKernel, __cudaLaunchKernel);
MERGELANE_ALSO(__cudaLaunchKernel, ptsz);
MERGELANE_API int cudaLaunchKernelExC(const LaunchConfiguration* config, const void* function, void** arguments) {
    if (config == nullptr || (config->attribute_count != 0 && config->attributes == nullptr)) return remember(kInvalidValue);
    return launch(function, config->grid, config->block, arguments, config->dynamic_shared, config->stream, launch_kind(*config));
}
MERGELANE_ALSO(cudaLaunchKernelExC, ptsz);
MERGELANE_API int cudaLaunchCooperativeKernel(const void* function, Dim grid, Dim block, void** arguments, std::size_t shared,
                                              void* stream) {
    return launch(function, grid, block, arguments, shared, stream, {true});
}
MERGELANE_ALSO(cudaLaunchCooperativeKernel, ptsz);

MERGELANE_API int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
    bool captured = false;
    const int status = guarded_on(stream, [&](Runtime& runtime) {
        out(reinterpret_cast<const char*>(function));
        captured = runtime.capture(stream, HostNode{function, data});
    });
    if (status == kSuccess && !captured) function(data);  // outside of the lock
    return status;
}
MERGELANE_ALSO(cudaLaunchHostFunc, ptsz);
MERGELANE_API int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned) {
    const int status = guarded_on(stream, [&](Runtime& runtime) {
        runtime.check_not_captured(stream);
        out(reinterpret_cast<const char*>(function));
    });
    if (status == kSuccess) function(stream, kSuccess, data);
    return status;
}
MERGELANE_ALSO(cudaStreamAddCallback, ptsz);

MERGELANE_API int cudaFuncGetAttributes(FuncAttributes* attributes, const void* function) {
    return guarded([&](Runtime& runtime) {
        FuncAttributes& a = out(attributes);
        a = {};
        Kernel& kernel = runtime.kernel(function);
        const ptx::Program& code = runtime.program(kernel);
        a.sharedSizeBytes = code.shared_bytes;
        a.localSizeBytes = code.local_bytes;
        a.maxThreadsPerBlock = 1024;
        a.numRegs = static_cast<int>(code.registers_per_thread);
        a.ptxVersion = static_cast<int>(kernel.image->sm == 0 ? runtime.compute_capability() : kernel.image->sm);
        a.binaryVersion = static_cast<int>(runtime.compute_capability());
        a.maxDynamicSharedSizeBytes = static_cast<int>(runtime.dynamic_shared_limit(kernel));
        a.preferredShmemCarveout = -1;
        const Dim cluster = runtime.required_cluster(kernel);
        a.clusterDimMustBeSet = kernel.image->module->kernel(kernel.name).explicit_cluster ? 1 : 0;
        a.requiredClusterWidth = static_cast<int>(cluster.x);
        a.requiredClusterHeight = static_cast<int>(cluster.y);
        a.requiredClusterDepth = static_cast<int>(cluster.z);
        a.clusterSchedulingPolicyPreference = kernel.cluster_policy;
        a.nonPortableClusterSizeAllowed = kernel.large_clusters ? 1 : 0;
    });
}
MERGELANE_API int cudaFuncSetAttribute(const void* function, int attribute, int value) {
    return guarded([&](Runtime& runtime) {
        constexpr int kMostDynamicShared = 8;
        Kernel& kernel = runtime.kernel(function);
        if (set_cluster_attribute(runtime, kernel, attribute, value) || attribute != kMostDynamicShared) return;
        const int most = static_cast<int>(runtime.spec().sm.shared_kib * 1024) - static_cast<int>(runtime.program(kernel).dynamic_shared);
        if (value < 0 || value > most) throw CudaError{kInvalidValue, ""};
        kernel.most_dynamic_shared = static_cast<std::uint32_t>(value);
    });
}
MERGELANE_API int cudaKernelSetAttributeForDevice(const void* function, int attribute, int value, int) {
    return cudaFuncSetAttribute(function, attribute, value);
}
MERGELANE_API int cudaFuncSetCacheConfig(const void* function, int) {
    return guarded([&](Runtime& runtime) { runtime.kernel(function); });
}
MERGELANE_SAME(cudaFuncSetCacheConfig, cudaFuncSetSharedMemConfig);
MERGELANE_API int cudaFuncGetName(const char** name, const void* function) {
    return guarded([&](Runtime& runtime) { out(name) = runtime.kernel(function).name.c_str(); });
}
MERGELANE_API int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return guarded([&](Runtime& runtime) {
        Kernel& kernel = runtime.kernel(function);
        runtime.program(kernel);
        const ptx::Function& code = kernel.image->module->kernel(kernel.name);
        if (index >= code.params.size()) throw CudaError{kInvalidValue, ""};
        out(offset) = code.param_offsets()[index];
        if (bytes != nullptr) *bytes = code.params[index].bytes;
    });
}

MERGELANE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads, std::size_t shared,
                                                                         unsigned) {
    return guarded([&](Runtime& runtime) {
        if (threads <= 0) throw CudaError{kInvalidValue, ""};
        out(blocks) = 0;
        if (threads > 1024 || shared > runtime.spec().sm.shared_kib * 1024) return;
        const KernelInfo info =
            runtime.needs(runtime.kernel(function), {static_cast<std::uint32_t>(threads), 1, 1}, static_cast<std::uint32_t>(shared));
        *blocks = static_cast<int>(residency(runtime.spec().sm, info).ctas);
    });
}
MERGELANE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, std::size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
MERGELANE_API int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks, int) {
    return guarded([&](Runtime& runtime) {
        if (blocks <= 0) throw CudaError{kInvalidValue, ""};
        const std::size_t own = runtime.program(runtime.kernel(function)).dynamic_shared;
        const std::size_t share = runtime.spec().sm.shared_kib * 1024 / static_cast<std::size_t>(blocks);
        out(bytes) = share > own ? share - own : 0;
    });
}
