// SPDX-License-Identifier: MIT
// Host memory of the program that kernels see at its own address.
#include <gtest/gtest.h>

#include <map>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "ptx_helpers.hpp"
#include "workload/ptx/device_memory.hpp"
#include "workload/record/recorded_kernel.hpp"

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

/// What saxpy does to two arrays of the program, as the timing model sees it.
std::string recorded(std::vector<float>& y, std::vector<float>& x, bool moved) {
    TestDevice device(test_data("samples.ptx"));
    device.record = true;
    const Addr to = device.memory.adopt(y.data(), y.size() * sizeof(float), moved ? 0x20'0000'0000 : 0);
    const Addr from = device.memory.adopt(x.data(), x.size() * sizeof(float), moved ? 0x20'0000'3000 : 0);
    EXPECT_EQ(device.memory.moved(), moved);
    const auto kernel = device.run("saxpy", {4}, {256}, to, from, 2.0f, 1000);
    std::string bytes;
    for (std::uint64_t cta = 0; cta < 4; ++cta) bytes += static_cast<const record::RecordedKernel&>(*kernel).cta(cta);
    device.memory.free(to);
    device.memory.free(from);
    EXPECT_FALSE(device.memory.moved());
    return bytes;
}

TEST(AdoptedMemory, IsTimedWhereItDoesNotDependOnTheHost) {
    std::vector<float> all[4];
    for (std::vector<float>& one : all) one.assign(1000, 1);
    EXPECT_NE(recorded(all[0], all[1], false), recorded(all[2], all[3], false)) << "at host addresses";
    EXPECT_EQ(recorded(all[0], all[1], true), recorded(all[2], all[3], true));
    EXPECT_EQ(all[0][999], 5.0f);
    // As if the device had allocated it there.
    DeviceMemory memory;
    const Addr at = memory.adopt(all[0].data(), 4000, 0x20'0000'0000);
    EXPECT_EQ(memory.timed(at + 40), 0x20'0000'0028u);
    EXPECT_EQ(memory.timed(at + 4000), at + 4000);
    EXPECT_EQ(memory.timed(1), 1u);
}

TEST(DeviceMemory, AllocatesAtTheLowestFreeAddress) {
    DeviceMemory memory;
    Rng random(3);
    std::map<Addr, std::uint64_t> taken;
    const auto room = [](std::uint64_t bytes) { return (bytes + 1023) / 512 * 512; };
    for (int k = 0; k < 3000; ++k) {
        if (!taken.empty() && random.below(3) == 0) {
            const auto one = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(taken.size()))));
            memory.free(one->first);
            taken.erase(one);
            continue;
        }
        const std::uint64_t bytes = random.below(4000);
        Addr lowest = DeviceMemory::kArenaBase;
        for (const auto& [at, size] : taken) {
            if (at - lowest >= room(bytes)) break;
            lowest = at + room(size);
        }
        ASSERT_EQ(memory.allocate(bytes), lowest);
        taken[lowest] = bytes;
    }
}

}  // namespace
}  // namespace mergelane::ptx
