// SPDX-License-Identifier: MIT
// Inspection of a program before it starts.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "workload/cuda/program_file.hpp"

namespace mergelane::cuda {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const std::string& text) {
    for (const char c : text) to.push_back(static_cast<std::byte>(c));
}
template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// An ELF file with as much in it as is looked at.
Bytes program(const std::vector<std::string>& needed, const std::string& device_code, bool rpath = false, const std::string& texts = "") {
    struct Part {
        std::uint32_t name, type, link;
        std::string content;
    };
    const std::string names = std::string("\0.dynamic\0.dynstr\0.nv_fatbin\0.shstrtab\0.rodata\0", 47);
    std::string strings(1, '\0');
    std::string dynamic;
    const auto entry = [&](std::uint64_t tag, std::uint64_t value) {
        dynamic.append(reinterpret_cast<const char*>(&tag), 8);
        dynamic.append(reinterpret_cast<const char*>(&value), 8);
    };
    for (const std::string& name : needed) {
        entry(1, strings.size());
        strings += name + '\0';
    }
    if (rpath) entry(15, 0);
    const std::vector<Part> parts = {{0, 0, 0, ""},           {1, 6, 2, dynamic}, {10, 3, 0, strings},
                                     {18, 1, 0, device_code}, {29, 3, 0, names},  {39, 1, 0, texts}};
    Bytes file(64);
    std::vector<std::size_t> places;
    for (const Part& part : parts) {
        file.resize((file.size() + 7) / 8 * 8);
        places.push_back(file.size());
        append(file, part.content);
    }
    file.resize((file.size() + 7) / 8 * 8);
    const std::size_t table = file.size();
    file.resize(table + parts.size() * 64);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        put<std::uint32_t>(file, table + i * 64, parts[i].name);
        put<std::uint32_t>(file, table + i * 64 + 4, parts[i].type);
        put<std::uint64_t>(file, table + i * 64 + 24, places[i]);
        put<std::uint64_t>(file, table + i * 64 + 32, parts[i].content.size());
        put<std::uint32_t>(file, table + i * 64 + 40, parts[i].link);
    }
    std::memcpy(file.data(),
                "\x7F"
                "ELF\x02\x01",
                6);
    put<std::uint64_t>(file, 40, table);
    put<std::uint16_t>(file, 58, 64);
    put<std::uint16_t>(file, 60, static_cast<std::uint16_t>(parts.size()));
    put<std::uint16_t>(file, 62, 4);
    return file;
}

std::string fatbin(const std::string& name) {
    std::ifstream file(std::string(MERGELANE_SOURCE_DIR "/tests/data/cuda/") + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
std::string problem(const Bytes& file) {
    return why_not(inspect_program(file), "app");
}

TEST(ProgramFile, SharedRuntimeAndPtxIsFine) {
    const ProgramFacts facts = inspect_program(program({"libcudart.so.13", "libc.so.6"}, fatbin("zstd.fatbin")));
    EXPECT_TRUE(facts.elf);
    EXPECT_EQ(facts.needed, (std::vector<std::string>{"libcudart.so.13", "libc.so.6"}));
    EXPECT_EQ(facts.containers, 1u);
    EXPECT_EQ(facts.with_ptx, 1u);
    EXPECT_EQ(why_not(facts, "app"), "");
}

TEST(ProgramFile, WhatIsWrongNamesTheFlag) {
    EXPECT_NE(problem(program({"libc.so.6"}, fatbin("zstd.fatbin"))).find("-cudart shared"), std::string::npos);
    EXPECT_NE(problem(program({"libcudart.so.10.2"}, fatbin("zstd.fatbin"))).find("CUDA 13"), std::string::npos);
    EXPECT_NE(problem(program({"libcudart.so.13"}, fatbin("machine_code.fatbin"))).find("-arch=sm_75"), std::string::npos);
    EXPECT_NE(problem(program({"libcudart.so.13"}, fatbin("zstd.fatbin"), true)).find("RPATH"), std::string::npos);
}

TEST(ProgramFile, OlderRuntimesAreReplacedToo) {
    EXPECT_EQ(problem(program({"libcudart.so.12"}, fatbin("zstd.fatbin"))), "");
    EXPECT_EQ(problem(program({"libcudart.so.11.0"}, fatbin("zstd.fatbin"))), "");
}

TEST(ProgramFile, ProgramsThatLoadModulesMayStartWithoutPtx) {
    const std::string empty("\x50\xED\x55\xBA\x01\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16);  // what nvcc puts in without kernels
    EXPECT_EQ(problem(program({"libcudart.so.13"}, empty)), "");
    EXPECT_EQ(problem(program({"libcuda.so.1", "libcudart.so.13"}, fatbin("machine_code.fatbin"))), "");
    EXPECT_EQ(problem(program({"libnvrtc.so.13", "libcudart.so.13"}, empty)), "");
    // The driver API alone does not need the runtime, which may then be linked statically. Kernels of its own do.
    EXPECT_EQ(problem(program({"libcuda.so.1"}, empty)), "");
    EXPECT_NE(problem(program({"libcuda.so.1"}, fatbin("zstd.fatbin"))).find("-cudart shared"), std::string::npos);
    // Who needs neither opens libcuda with dlopen, or contains the runtime.
    EXPECT_EQ(problem(program({"libc.so.6"}, empty)), "");
    const std::string runtime = "CUDA driver version is insufficient for CUDA runtime version";
    EXPECT_NE(problem(program({"libc.so.6"}, empty, false, runtime)).find("-cudart shared"), std::string::npos);
    EXPECT_EQ(problem(program({"libcuda.so.1"}, empty, false, runtime)), "");
}

TEST(ProgramFile, OtherProgramsMayStart) {
    EXPECT_EQ(problem(program({"libc.so.6"}, "")), "");
    Bytes script;
    append(script, "#!/bin/sh\nexec ./app with quite a long line, longer than the header of a program\n");
    EXPECT_EQ(problem(script), "");
    EXPECT_EQ(problem({}), "");
}

TEST(ProgramFile, DamageIsSurvived) {
    const Bytes whole = program({"libcudart.so.13"}, fatbin("rdc.fatbin"));
    for (std::size_t size = 0; size < whole.size(); size += 3) inspect_program(std::span(whole).first(size));
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const unsigned change : {0x01u, 0x80u, 0xFFu}) {
            Bytes damaged = whole;
            damaged[at] ^= static_cast<std::byte>(change);
            problem(damaged);
        }
    }
}

}  // namespace
}  // namespace mergelane::cuda
