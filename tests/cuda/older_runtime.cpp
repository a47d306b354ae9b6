// SPDX-License-Identifier: MIT
// Functions that differ between the runtimes of CUDA 11, 12 and 13, called without any header of theirs. What lies behind a structure must
// not be written.
#include <cstdio>
#include <cstring>

extern "C" {
int cudaGetDeviceProperties(void* properties, int device);
int cudaGetDeviceProperties_v2(void* properties, int device);
int cudaPointerGetAttributes(void* attributes, const void* pointer);
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
int cudaThreadSynchronize();
#if MAJOR < 13
int cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, void* stream);
#endif
}

#define REQUIRE(condition)                                          \
    if (!(condition)) {                                             \
        std::printf("line %d: not so: %s\n", __LINE__, #condition); \
        return 1;                                                   \
    }

namespace {

constexpr unsigned char kUntouched = 0xA5;
unsigned char room[4096];

bool untouched_from(std::size_t bytes) {
    for (std::size_t i = bytes; i < sizeof room; ++i) {
        if (room[i] != kUntouched) return false;
    }
    return true;
}
int number_at(std::size_t at) {
    int number;
    std::memcpy(&number, room + at, sizeof number);
    return number;
}

}  // namespace

int main() {
    std::memset(room, kUntouched, sizeof room);
#if MAJOR == 12
    REQUIRE(cudaGetDeviceProperties_v2(room, 0) == 0);
#else
    REQUIRE(cudaGetDeviceProperties(room, 0) == 0);
#endif
    REQUIRE(untouched_from(PROPERTIES) && std::strncmp(reinterpret_cast<char*>(room), "Mergelane ", 10) == 0);
    REQUIRE(number_at(308) == 32);  // the size of a warp, everywhere at the same place
#if MAJOR < 13
    REQUIRE(number_at(348) == 1500000 && number_at(360) >= 7 && number_at(388) == 40);  // the clock, the capability, the SMs
#endif
    void* pointer = nullptr;
    REQUIRE(cudaMallocManaged(&pointer, 64, 1) == 0);
    std::memset(room, kUntouched, sizeof room);
    REQUIRE(cudaPointerGetAttributes(room, pointer) == 0 && number_at(0) == 3 && untouched_from(MAJOR < 13 ? 24 : 88));
#if MAJOR < 13
    REQUIRE(cudaMemPrefetchAsync(pointer, 64, 0, nullptr) == 0);
#endif
    REQUIRE(cudaThreadSynchronize() == 0);
    std::printf("as with CUDA %d\n", MAJOR);
}
