// SPDX-License-Identifier: MIT
// Runtime functions that the driver functions and the libraries above them are made of.
#pragma once

#include <cstddef>

#include "abi.hpp"

extern "C" {
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
int cudaFree(void* pointer);
int cudaMallocHost(void** pointer, std::size_t bytes);
int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
int cudaFreeHost(void* pointer);
int cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags);
int cudaHostUnregister(void* pointer);
int cudaHostGetDevicePointer(void** pointer, void* host, unsigned flags);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int direction, void* stream);
int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height,
                      int direction, void* stream);
int cudaPointerGetAttributes(mergelane::cudart::PointerAttributes* attributes, const void* pointer);
int cudaGetDeviceProperties(mergelane::cudart::DeviceProp* result, int device);
int cudaDeviceGetAttribute(int* value, int attribute, int device);
int cudaDeviceSynchronize();
int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority);
int cudaStreamDestroy(void* stream);
int cudaStreamSynchronize(void* stream);
int cudaStreamQuery(void* stream);
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags);
int cudaStreamGetFlags(void* stream, unsigned* flags);
int cudaStreamGetPriority(void* stream, int* priority);
int cudaStreamIsCapturing(void* stream, int* status);
int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned flags);
int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cudaEventCreateWithFlags(void** event, unsigned flags);
int cudaEventDestroy(void* event);
int cudaEventRecord(void* event, void* stream);
int cudaEventSynchronize(void* event);
int cudaEventElapsedTime(float* milliseconds, void* from, void* to);
int cudaLaunchKernelExC(const mergelane::cudart::LaunchConfiguration* config, const void* function, void** arguments);
int cudaLaunchCooperativeKernel(const void* function, mergelane::cudart::Dim grid, mergelane::cudart::Dim block, void** arguments,
                                std::size_t shared, void* stream);
int cudaFuncGetAttributes(mergelane::cudart::FuncAttributes* attributes, const void* function);
int cudaFuncSetAttribute(const void* function, int attribute, int value);
int cudaFuncGetName(const char** name, const void* function);
int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads, std::size_t shared,
                                                           unsigned flags);
int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks, int threads);
}
