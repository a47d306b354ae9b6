// SPDX-License-Identifier: MIT
// Streams and events. Every call is synchronous, so waits return immediately; events read the simulated clock.
#include <algorithm>

#include "api.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

MERGELANE_API int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return guarded([&](Runtime& runtime) {
        Stream made;
        made.flags = flags;
        made.priority = std::clamp(priority, Runtime::kGreatestPriority, 0);
        out(stream) = runtime.streams.add(std::move(made));
    });
}
MERGELANE_API int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
MERGELANE_API int cudaStreamCreate(void** stream) {
    return cudaStreamCreateWithPriority(stream, 0, 0);
}
MERGELANE_API int cudaStreamDestroy(void* stream) {
    return guarded([&](Runtime& runtime) { runtime.streams.remove(stream); });
}
MERGELANE_API int cudaStreamSynchronize(void* stream) {
    return guarded([&](Runtime& runtime) { runtime.check_not_captured(stream); });
}
MERGELANE_ALSO(cudaStreamSynchronize, ptsz);
MERGELANE_SAME(cudaStreamSynchronize, cudaStreamQuery);
MERGELANE_ALSO(cudaStreamQuery, ptsz);
MERGELANE_API int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
    return guarded_on(stream, [&](Runtime& runtime) { runtime.capture_wait(stream, event); });
}
MERGELANE_ALSO(cudaStreamWaitEvent, ptsz);
MERGELANE_API int cudaStreamGetFlags(void* stream, unsigned* flags) {
    return guarded([&](Runtime& runtime) {
        const Stream* const known = runtime.stream(stream);
        out(flags) = known == nullptr ? 0 : known->flags;
    });
}
MERGELANE_ALSO(cudaStreamGetFlags, ptsz);
MERGELANE_API int cudaStreamGetPriority(void* stream, int* priority) {
    return guarded([&](Runtime& runtime) {
        const Stream* const known = runtime.stream(stream);
        out(priority) = known == nullptr ? 0 : known->priority;
    });
}
MERGELANE_ALSO(cudaStreamGetPriority, ptsz);
MERGELANE_API int cudaStreamGetDevice(void* stream, int* device) {
    return guarded_on(stream, [&](Runtime&) { out(device) = 0; });
}
MERGELANE_ALSO(cudaStreamGetDevice, ptsz);
MERGELANE_API int cudaStreamGetId(void* stream, unsigned long long* id) {
    return guarded_on(stream, [&](Runtime&) { out(id) = reinterpret_cast<std::uintptr_t>(stream); });
}
MERGELANE_ALSO(cudaStreamGetId, ptsz);
// Attributes of streams (persisting L2, priorities) are hints here.
MERGELANE_API int cudaStreamSetAttribute(void* stream, int, const void*) {
    return guarded_on(stream, [](Runtime&) {});
}
MERGELANE_ALSO(cudaStreamSetAttribute, ptsz);
MERGELANE_API int cudaStreamAttachMemAsync(void* stream, void*, std::size_t, unsigned) {
    return guarded_on(stream, [](Runtime&) {});
}
MERGELANE_ALSO(cudaStreamAttachMemAsync, ptsz);
MERGELANE_API int cudaEventCreate(void** event) {
    return guarded([&](Runtime& runtime) { out(event) = runtime.events.add(Event{}); });
}
MERGELANE_API int cudaEventCreateWithFlags(void** event, unsigned) {
    return cudaEventCreate(event);
}
MERGELANE_API int cudaEventDestroy(void* event) {
    return guarded([&](Runtime& runtime) { runtime.events.remove(event); });
}
MERGELANE_API int cudaEventRecord(void* event, void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) {
        if (runtime.capture_record(stream, event)) return;
        Event& mark = runtime.events.at(event);
        mark.recorded = true;
        mark.tick = runtime.now();
    });
}
MERGELANE_ALSO(cudaEventRecord, ptsz);
MERGELANE_API int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
    return cudaEventRecord(event, stream);
}
MERGELANE_ALSO(cudaEventRecordWithFlags, ptsz);
MERGELANE_API int cudaEventSynchronize(void* event) {
    return guarded([&](Runtime& runtime) { runtime.events.at(event); });
}
MERGELANE_SAME(cudaEventSynchronize, cudaEventQuery);
MERGELANE_API int cudaEventElapsedTime(float* milliseconds, void* from, void* to) {
    return guarded([&](Runtime& runtime) {
        const Event& first = runtime.events.at(from);
        const Event& last = runtime.events.at(to);
        if (!first.recorded || !last.recorded) throw CudaError{kInvalidResourceHandle, ""};
        const double ticks = static_cast<double>(last.tick) - static_cast<double>(first.tick);
        out(milliseconds) = static_cast<float>(ticks / runtime.ticks_per_millisecond());
    });
}
