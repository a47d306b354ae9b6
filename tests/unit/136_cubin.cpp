// SPDX-License-Identifier: MIT
// Register counts from machine code: what nvcc wrote is read, and no damage leads outside of the bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "core/rng.hpp"
#include "workload/cuda/cubin.hpp"
#include "workload/cuda/fatbin.hpp"

namespace mergelane::cuda {
namespace {

std::string read(const std::string& name) {
    std::ifstream file(std::string(MERGELANE_SOURCE_DIR "/tests/data/cuda/") + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}
Bytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

template <class T>
void put(std::string& to, std::size_t at, T value) {
    if (to.size() < at + sizeof value) to.resize(at + sizeof value);
    std::memcpy(to.data() + at, &value, sizeof value);
}

struct Attribute {
    std::uint8_t format = 4, attribute = 0x2F;
    std::uint16_t bytes = 8;
    std::uint32_t symbol = 1, value = 31;
};

/// An ELF file with the sections that matter: names, symbols and .nv.info.
std::string cubin(const std::vector<Attribute>& attributes, const std::string& kernel = "saxpy") {
    constexpr std::size_t kHeaders = 64, kText = kHeaders + 4 * 64;
    const std::string names = std::string("\0.strtab\0.symtab\0.nv.info\0", 26) + kernel + '\0';
    std::string info;
    for (const Attribute& a : attributes) {
        const std::size_t at = info.size();
        put(info, at, a.format);
        put(info, at + 1, a.attribute);
        put(info, at + 2, a.bytes);
        if (a.format != 4) continue;
        put(info, at + 4, a.symbol);
        put(info, at + 8, a.value);
    }
    std::string symbols(2 * 24, '\0');
    put<std::uint32_t>(symbols, 24, 26);
    std::string file(
        "\x7F"
        "ELF\2\1",
        6);
    file.resize(kText);
    put<std::uint64_t>(file, 40, kHeaders);
    put<std::uint16_t>(file, 58, 64);
    put<std::uint16_t>(file, 60, 4);
    put<std::uint16_t>(file, 62, 1);
    const auto section = [&](std::size_t index, std::uint32_t name, std::uint32_t type, std::uint32_t link, const std::string& content) {
        const std::size_t at = kHeaders + 64 * index;
        put(file, at, name);
        put(file, at + 4, type);
        put<std::uint64_t>(file, at + 24, file.size());
        put<std::uint64_t>(file, at + 32, content.size());
        put(file, at + 40, link);
        file += content;
    };
    section(1, 1, 3, 0, names);
    section(2, 9, 2, 1, symbols);
    section(3, 17, 0x70000000, 0, info);
    return file;
}

TEST(Cubin, RegistersAreFoundByName) {
    EXPECT_EQ(registers_in_cubin(bytes_of(cubin({{}}))), (KernelRegisters{{"saxpy", 31}}));
    EXPECT_EQ(registers_in_cubin(bytes_of(cubin({{1, 0x33, 0}, {4, 0x11, 8, 1, 0}, {}}))), (KernelRegisters{{"saxpy", 31}}));
}

TEST(Cubin, WhatNvccWroteIsRead) {
    for (const char* name : {"machine_code.fatbin", "several.fatbin"}) {
        const KernelRegisters found = registers_in_container(bytes_of(read(name)), 75);
        EXPECT_FALSE(found.empty()) << name;
        for (const auto& [kernel, registers] : found) EXPECT_GE(registers, 4u) << kernel;
    }
}

TEST(Cubin, ImplausibleValuesAreLeftOut) {
    for (const Attribute& wrong : {Attribute{4, 0x2F, 8, 1, 0}, Attribute{4, 0x2F, 8, 1, 256}, Attribute{4, 0x2F, 8, 2, 31},
                                   Attribute{4, 0x2F, 8, ~0u, 31}, Attribute{4, 0x2F, 7, 1, 31}, Attribute{4, 0x2F, 0xFFFF, 1, 31}})
        EXPECT_TRUE(registers_in_cubin(bytes_of(cubin({wrong}))).empty());
    // A name with a line break would be text of the PTX.
    EXPECT_TRUE(registers_in_cubin(bytes_of(cubin({{}}, "a\n.entry"))).empty());
    EXPECT_TRUE(registers_in_cubin(bytes_of(cubin({{}}, ""))).empty());
    EXPECT_TRUE(registers_in_cubin({}).empty());
}

TEST(Cubin, NoDamageLeadsOutside) {
    const std::string good = cubin({{}, {1, 0x33, 0}, {}});
    for (std::size_t size = 0; size < good.size(); ++size) {
        const std::vector<char> part(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));  // on the heap, for the sanitizer
        registers_in_cubin(std::as_bytes(std::span(part)));
    }
    Rng rng(1);
    for (std::uint32_t i = 0; i < 5000; ++i) {
        std::string bad = good;
        for (std::uint32_t k = 0; k <= i % 4; ++k) bad[rng.next() % bad.size()] = static_cast<char>(rng.next());
        for (const auto& [kernel, registers] : registers_in_cubin(bytes_of(bad))) {
            EXPECT_LE(registers, 255u);
            EXPECT_FALSE(kernel.empty());
        }
    }
}

}  // namespace
}  // namespace mergelane::cuda
