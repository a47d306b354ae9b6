// SPDX-License-Identifier: MIT
// The driver's device, its contexts, and the address of every driver function.
#include <algorithm>
#include <cstring>
#include <string>

#include "driver.hpp"
#include "driver_table.hpp"

namespace mergelane::cudart {

namespace {

constexpr int kDriverVersion = 13000;

DriverContext& primary_context() {
    static DriverContext context;
    return context;
}
int& primary_users() {
    static int users = 0;
    return users;
}
Handles<DriverContext>& created_contexts() {
    static auto* const contexts = new Handles<DriverContext>;  // programs call the driver until the very end
    return *contexts;
}
std::vector<DriverContext*>& context_stack() {
    thread_local std::vector<DriverContext*> stack;
    return stack;
}
void check_device(int device) {
    if (device != 0) throw CudaError{kInvalidDevice, ""};
}
int device_properties(DeviceProp& properties, int device) {
    return driver_call([&] { return cudaGetDeviceProperties(&properties, device); });
}

/// "cuMemAlloc" for CUDA 12 is cuMemAlloc_v2: of the forms of a function, the newest that the version knows.
const DriverFunction* newest_form(const std::string& name, int version, std::string_view suffix) {
    const DriverFunction* best = nullptr;
    for (std::size_t i = 0; i < kDriverFunctionCount; ++i) {
        const DriverFunction& function = kDriverFunctions[i];
        std::string_view rest(function.name);
        if (!rest.starts_with(name) || !rest.ends_with(suffix)) continue;
        rest.remove_prefix(name.size());
        if (rest.size() < suffix.size()) continue;
        rest.remove_suffix(suffix.size());
        const bool form = rest.empty() || (rest.size() == 3 && rest.starts_with("_v"));
        if (!form || function.version > version) continue;
        if (best == nullptr || std::string_view(best->name) < function.name) best = &function;
    }
    return best;
}

}  // namespace

DriverContext* current_context() {
    return context_stack().empty() ? &primary_context() : context_stack().back();
}

DriverContext& driver_context(void* handle) {
    if (handle == nullptr) return *current_context();
    if (handle == &primary_context()) return primary_context();
    try {
        return created_contexts().at(handle);
    } catch (const CudaError&) {
        throw CudaError{static_cast<Error>(kDriverInvalidContext), ""};
    }
}

void* driver_function(const std::string& name, int version, bool per_thread) {
    const DriverFunction* found = nullptr;
    if (per_thread) {
        for (const char* const suffix : {"_ptsz", "_ptds"}) {
            if (found == nullptr) found = newest_form(name, version, suffix);
        }
    }
    if (found == nullptr) found = newest_form(name, version, "");
    return found == nullptr ? nullptr : found->address;
}

}  // namespace mergelane::cudart

using namespace mergelane;
using namespace mergelane::cudart;

MERGELANE_API int cuInit(unsigned flags) {
    return driver_guarded([&](Runtime&) {
        if (flags != 0) throw CudaError{kInvalidValue, ""};
    });
}
MERGELANE_API int cuDriverGetVersion(int* version) {
    return driver_guarded([&](Runtime&) { out(version) = kDriverVersion; });
}
MERGELANE_API int cuProfilerStart() {
    return kSuccess;
}
MERGELANE_SAME(cuProfilerStart, cuProfilerStop);

MERGELANE_API int cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags, int* status) {
    return driver_guarded([&](Runtime&) {
        constexpr std::uint64_t kPerThread = 2;
        out(function) = driver_function(&out(symbol), version, (flags & kPerThread) != 0);
        if (status != nullptr) *status = *function == nullptr ? 1 : 0;
        if (*function == nullptr) throw CudaError{static_cast<Error>(kDriverNotFound), ""};
    });
}
MERGELANE_API int cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
/// Tables of functions that NVIDIA's libraries have in private. NVRTC asks and does without.
MERGELANE_API int cuGetExportTable(const void** table, const void*) {
    if (table != nullptr) *table = nullptr;
    return kDriverNotFound;
}
/// As the real runtime: an unknown name is no error, but a status.
MERGELANE_API int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, std::uint64_t flags,
                                                   int* status) {
    const int code = cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags, status);
    return code == kDriverNotFound ? kSuccess : remember(static_cast<Error>(code));
}
MERGELANE_ALSO(cudaGetDriverEntryPointByVersion, ptsz);
MERGELANE_API int cudaGetDriverEntryPoint(const char* symbol, void** function, std::uint64_t flags, int* status) {
    return cudaGetDriverEntryPointByVersion(symbol, function, kDriverVersion, flags, status);
}
MERGELANE_ALSO(cudaGetDriverEntryPoint, ptsz);

// ---- the device

MERGELANE_API int cuDeviceGet(int* device, int ordinal) {
    return driver_guarded([&](Runtime&) {
        check_device(ordinal);
        out(device) = 0;
    });
}
MERGELANE_API int cuDeviceGetCount(int* count) {
    return driver_guarded([&](Runtime&) { out(count) = 1; });
}
MERGELANE_API int cuDeviceGetName(char* name, int bytes, int device) {
    DeviceProp properties;
    if (const int code = device_properties(properties, device); code != kSuccess) return code;
    if (name == nullptr || bytes <= 0) return kInvalidValue;
    const std::size_t copied = std::min<std::size_t>(std::strlen(properties.name), static_cast<std::size_t>(bytes) - 1);
    std::memcpy(name, properties.name, copied);
    name[copied] = '\0';
    return kSuccess;
}
MERGELANE_API int cuDeviceGetUuid_v2(char* uuid, int device) {
    DeviceProp properties;
    if (const int code = device_properties(properties, device); code != kSuccess) return code;
    if (uuid == nullptr) return kInvalidValue;
    std::memcpy(uuid, properties.uuid, sizeof properties.uuid);
    return kSuccess;
}
MERGELANE_SAME(cuDeviceGetUuid_v2, cuDeviceGetUuid);
MERGELANE_API int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        if (id == nullptr || bytes < 13) throw CudaError{kInvalidValue, ""};
        std::memcpy(id, "0000:00:00.0", 13);
    });
}
MERGELANE_API int cuDeviceGetByPCIBusId(int* device, const char* id) {
    return driver_guarded([&](Runtime&) {
        if (std::string_view(&out(id)).find("00:00") == std::string_view::npos) throw CudaError{kInvalidDevice, ""};
        out(device) = 0;
    });
}
MERGELANE_API int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
    DeviceProp properties;
    if (const int code = device_properties(properties, device); code != kSuccess) return code;
    if (bytes == nullptr) return kInvalidValue;
    *bytes = properties.totalGlobalMem;
    return kSuccess;
}
MERGELANE_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
    constexpr int kVirtualMemoryManagement = 102;
    if (attribute == kVirtualMemoryManagement && value != nullptr && device == 0) {
        *value = 1;
        return kSuccess;
    }
    return driver_call([&] { return cudaDeviceGetAttribute(value, attribute, device); });
}
MERGELANE_API int cuDeviceComputeCapability(int* major, int* minor, int device) {
    DeviceProp properties;
    if (const int code = device_properties(properties, device); code != kSuccess) return code;
    if (major == nullptr || minor == nullptr) return kInvalidValue;
    *major = properties.major;
    *minor = properties.minor;
    return kSuccess;
}
MERGELANE_API int cuDeviceGetProperties(int* result, int device) {
    DeviceProp p;
    if (const int code = device_properties(p, device); code != kSuccess) return code;
    if (result == nullptr) return kInvalidValue;
    const int values[] = {p.maxThreadsPerBlock,
                          p.maxThreadsDim[0],
                          p.maxThreadsDim[1],
                          p.maxThreadsDim[2],
                          p.maxGridSize[0],
                          p.maxGridSize[1],
                          p.maxGridSize[2],
                          static_cast<int>(p.sharedMemPerBlock),
                          static_cast<int>(p.totalConstMem),
                          p.warpSize,
                          static_cast<int>(p.memPitch),
                          p.regsPerBlock};
    int* const end = std::copy(std::begin(values), std::end(values), result);
    if (const int code = cuDeviceGetAttribute(end, 13, device); code != kSuccess) return code;  // the clock
    end[1] = static_cast<int>(p.textureAlignment);
    return kSuccess;
}
MERGELANE_API int cuDeviceCanAccessPeer(int* can, int, int) {
    return driver_guarded([&](Runtime&) { out(can) = 0; });
}
MERGELANE_API int cuDeviceGetP2PAttribute(int* value, int, int, int) {
    return driver_guarded([&](Runtime&) { out(value) = 0; });
}

// ---- contexts

MERGELANE_API int cuDevicePrimaryCtxRetain(void** context, int device) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        out(context) = &primary_context();
        ++primary_users();
    });
}
MERGELANE_API int cuDevicePrimaryCtxRelease_v2(int device) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        primary_users() = std::max(0, primary_users() - 1);
    });
}
MERGELANE_SAME(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);
MERGELANE_API int cuDevicePrimaryCtxReset_v2(int device) {
    return driver_guarded([&](Runtime&) { check_device(device); });
}
MERGELANE_SAME(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset);
MERGELANE_API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        primary_context().flags = flags;
    });
}
MERGELANE_SAME(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);
MERGELANE_API int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        out(flags) = primary_context().flags;
        out(active) = primary_users() > 0;
    });
}

MERGELANE_API int cuCtxCreate_v2(void** context, unsigned flags, int device) {
    return driver_guarded([&](Runtime&) {
        check_device(device);
        DriverContext* const made = created_contexts().add({flags});
        out(context) = made;
        context_stack().push_back(made);
    });
}
MERGELANE_API int cuCtxCreate_v3(void** context, void*, int, unsigned flags, int device) {
    return cuCtxCreate_v2(context, flags, device);
}
MERGELANE_API int cuCtxCreate_v4(void** context, void*, unsigned flags, int device) {
    return cuCtxCreate_v2(context, flags, device);
}
MERGELANE_API int cuCtxDestroy_v2(void* context) {
    return driver_guarded([&](Runtime&) {
        driver_context(&out(static_cast<char*>(context)));
        created_contexts().remove(context);
        std::erase(context_stack(), context);
    });
}
MERGELANE_SAME(cuCtxDestroy_v2, cuCtxDestroy);
MERGELANE_SAME(cuCtxDestroy_v2, cuCtxDetach);
MERGELANE_API int cuCtxPushCurrent_v2(void* context) {
    return driver_guarded([&](Runtime&) { context_stack().push_back(&driver_context(&out(static_cast<char*>(context)))); });
}
MERGELANE_SAME(cuCtxPushCurrent_v2, cuCtxPushCurrent);
MERGELANE_API int cuCtxPopCurrent_v2(void** context) {
    return driver_guarded([&](Runtime&) {
        if (context_stack().empty()) throw CudaError{static_cast<Error>(kDriverInvalidContext), ""};
        if (context != nullptr) *context = context_stack().back();
        context_stack().pop_back();
    });
}
MERGELANE_SAME(cuCtxPopCurrent_v2, cuCtxPopCurrent);
MERGELANE_API int cuCtxSetCurrent(void* context) {
    return driver_guarded([&](Runtime&) {
        if (!context_stack().empty()) context_stack().pop_back();
        if (context != nullptr) context_stack().push_back(&driver_context(context));
    });
}
MERGELANE_API int cuCtxGetCurrent(void** context) {
    return driver_guarded([&](Runtime&) { out(context) = current_context(); });
}
MERGELANE_API int cuCtxAttach(void** context, unsigned) {
    return cuCtxGetCurrent(context);
}
MERGELANE_API int cuCtxGetDevice(int* device) {
    return driver_guarded([&](Runtime&) { out(device) = 0; });
}
MERGELANE_API int cuCtxGetDevice_v2(int* device, void* context) {
    return driver_guarded([&](Runtime&) {
        driver_context(context);
        out(device) = 0;
    });
}
MERGELANE_API int cuCtxGetFlags(unsigned* flags) {
    return driver_guarded([&](Runtime&) { out(flags) = current_context()->flags; });
}
MERGELANE_API int cuCtxSetFlags(unsigned flags) {
    return driver_guarded([&](Runtime&) { current_context()->flags = flags; });
}
MERGELANE_API int cuCtxGetId(void* context, unsigned long long* id) {
    return driver_guarded([&](Runtime&) { out(id) = reinterpret_cast<std::uintptr_t>(&driver_context(context)); });
}
MERGELANE_API int cuCtxSynchronize() {
    return driver_guarded([](Runtime&) {});
}
MERGELANE_API int cuCtxSynchronize_v2(void* context) {
    return driver_guarded([&](Runtime&) { driver_context(context); });
}
MERGELANE_API int cuCtxGetApiVersion(void* context, unsigned* version) {
    return driver_guarded([&](Runtime&) {
        driver_context(context);
        out(version) = 3020;
    });
}
MERGELANE_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
    return kSuccess;
}
// Limits, cache configurations and persisting lines are hints here: nothing of the simulated device depends on them.
MERGELANE_API int cuCtxSetLimit(int, std::size_t) {
    return kSuccess;
}
MERGELANE_API int cuCtxGetLimit(std::size_t* value, int limit) {
    return driver_guarded([&](Runtime&) {
        constexpr std::size_t kUsual[] = {1024, 1 << 20, 8 << 20};  // stack, printf buffer, heap
        out(value) = limit >= 0 && limit < 3 ? kUsual[limit] : 0;
    });
}
MERGELANE_API int cuCtxSetCacheConfig(int) {
    return kSuccess;
}
MERGELANE_SAME(cuCtxSetCacheConfig, cuCtxSetSharedMemConfig);
MERGELANE_API int cuCtxGetCacheConfig(int* config) {
    return driver_guarded([&](Runtime&) { out(config) = 0; });
}
MERGELANE_SAME(cuCtxGetCacheConfig, cuCtxGetSharedMemConfig);
MERGELANE_API int cuCtxResetPersistingL2Cache() {
    return kSuccess;
}
MERGELANE_API int cuCtxEnablePeerAccess(void*, unsigned) {
    return kDriverPeerAccessUnsupported;
}
