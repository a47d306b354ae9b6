// SPDX-License-Identifier: MIT
// The driver's streams and events.
#include "driver.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

MERGELANE_API int cuStreamCreate(void** stream, unsigned flags) {
    return driver_call([&] { return cudaStreamCreateWithPriority(stream, flags, 0); });
}
MERGELANE_API int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return driver_call([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}
MERGELANE_API int cuStreamDestroy_v2(void* stream) {
    return driver_call([&] { return cudaStreamDestroy(stream); });
}
MERGELANE_SAME(cuStreamDestroy_v2, cuStreamDestroy);
MERGELANE_API int cuStreamSynchronize(void* stream) {
    return driver_call([&] { return cudaStreamSynchronize(stream); });
}
MERGELANE_ALSO(cuStreamSynchronize, ptsz);
MERGELANE_API int cuStreamQuery(void* stream) {
    return driver_call([&] { return cudaStreamQuery(stream); });
}
MERGELANE_ALSO(cuStreamQuery, ptsz);
MERGELANE_API int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return driver_call([&] { return cudaStreamWaitEvent(stream, event, flags); });
}
MERGELANE_ALSO(cuStreamWaitEvent, ptsz);
MERGELANE_API int cuStreamGetFlags(void* stream, unsigned* flags) {
    return driver_call([&] { return cudaStreamGetFlags(stream, flags); });
}
MERGELANE_ALSO(cuStreamGetFlags, ptsz);
MERGELANE_API int cuStreamGetPriority(void* stream, int* priority) {
    return driver_call([&] { return cudaStreamGetPriority(stream, priority); });
}
MERGELANE_ALSO(cuStreamGetPriority, ptsz);
MERGELANE_API int cuStreamGetDevice(void* stream, int* device) {
    return driver_call([&] { return guarded_on(stream, [&](Runtime&) { out(device) = 0; }); });
}
MERGELANE_ALSO(cuStreamGetDevice, ptsz);
MERGELANE_API int cuStreamGetCtx(void* stream, void** context) {
    return driver_call([&] { return guarded_on(stream, [&](Runtime&) { out(context) = current_context(); }); });
}
MERGELANE_ALSO(cuStreamGetCtx, ptsz);
MERGELANE_API int cuStreamGetCtx_v2(void* stream, void** context, void** green) {
    if (green != nullptr) *green = nullptr;
    return cuStreamGetCtx(stream, context);
}
MERGELANE_ALSO(cuStreamGetCtx_v2, ptsz);
MERGELANE_API int cuStreamGetId(void* stream, unsigned long long* id) {
    return driver_call([&] { return guarded_on(stream, [&](Runtime&) { out(id) = reinterpret_cast<std::uintptr_t>(stream); }); });
}
MERGELANE_ALSO(cuStreamGetId, ptsz);
MERGELANE_API int cuStreamIsCapturing(void* stream, int* status) {
    return driver_call([&] { return cudaStreamIsCapturing(stream, status); });
}
MERGELANE_ALSO(cuStreamIsCapturing, ptsz);
MERGELANE_API int cuStreamAttachMemAsync(void* stream, DevicePointer, std::size_t, unsigned) {
    return cuStreamSynchronize(stream);
}
MERGELANE_ALSO(cuStreamAttachMemAsync, ptsz);
MERGELANE_API int cuStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned flags) {
    return driver_call([&] { return cudaStreamAddCallback(stream, function, data, flags); });
}
MERGELANE_ALSO(cuStreamAddCallback, ptsz);
MERGELANE_API int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
    return driver_call([&] { return cudaLaunchHostFunc(stream, function, data); });
}
MERGELANE_ALSO(cuLaunchHostFunc, ptsz);

MERGELANE_API int cuEventCreate(void** event, unsigned flags) {
    return driver_call([&] { return cudaEventCreateWithFlags(event, flags); });
}
MERGELANE_API int cuEventDestroy_v2(void* event) {
    return driver_call([&] { return cudaEventDestroy(event); });
}
MERGELANE_SAME(cuEventDestroy_v2, cuEventDestroy);
MERGELANE_API int cuEventRecord(void* event, void* stream) {
    return driver_call([&] { return cudaEventRecord(event, stream); });
}
MERGELANE_ALSO(cuEventRecord, ptsz);
MERGELANE_API int cuEventRecordWithFlags(void* event, void* stream, unsigned) {
    return cuEventRecord(event, stream);
}
MERGELANE_ALSO(cuEventRecordWithFlags, ptsz);
MERGELANE_API int cuEventSynchronize(void* event) {
    return driver_call([&] { return cudaEventSynchronize(event); });
}
MERGELANE_SAME(cuEventSynchronize, cuEventQuery);
MERGELANE_API int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
    return driver_call([&] { return cudaEventElapsedTime(milliseconds, from, to); });
}
MERGELANE_SAME(cuEventElapsedTime, cuEventElapsedTime_v2);
MERGELANE_API int cuCtxRecordEvent(void* context, void* event) {
    const int known = driver_guarded([&](Runtime&) { driver_context(context); });
    return known == kSuccess ? cuEventRecord(event, nullptr) : known;
}
MERGELANE_API int cuCtxWaitEvent(void* context, void* event) {
    const int known = driver_guarded([&](Runtime&) { driver_context(context); });
    return known == kSuccess ? cuEventSynchronize(event) : known;
}
