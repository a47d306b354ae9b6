// SPDX-License-Identifier: MIT
// Host memory of the program that kernels see at its own address.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "workload/ptx/device_memory.hpp"

namespace mergelane::ptx {
namespace {

TEST(AdoptedMemory, IsReadAndWrittenInPlace) {
    DeviceMemory memory(1 << 20);
    std::vector<int> host(100, 7);
    const Addr at = memory.adopt(host.data(), 400);
    EXPECT_EQ(at, reinterpret_cast<Addr>(host.data()));
    EXPECT_EQ(memory.used(), 0u);
    const int value = 9;
    memory.write(at + 40, &value, 4);
    EXPECT_EQ(host[10], 9);
    EXPECT_THROW(memory.write(at + 400, &value, 4), InputError);
    EXPECT_THROW(memory.adopt(host.data() + 50, 4), InputError);
    EXPECT_THROW(memory.adopt(host.data() - 1, 8), InputError);
    EXPECT_THROW(memory.adopt(nullptr, 8), InputError);
    // Allocations of the device are where they were without it.
    EXPECT_EQ(memory.allocate(100), DeviceMemory::kArenaBase);
    memory.free(at);
    EXPECT_FALSE(memory.contains(at, 1));
    EXPECT_EQ(host[10], 9);
}

}  // namespace
}  // namespace mergelane::ptx
