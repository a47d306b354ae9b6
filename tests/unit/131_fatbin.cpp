// SPDX-License-Identifier: MIT
// Containers of device code: nvcc's output is read, damaged containers are rejected.
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "workload/cuda/fatbin.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::cuda {
namespace {

using Bytes = std::vector<std::byte>;

Bytes read(const std::string& name) {
    std::ifstream file(std::string(MERGELANE_SOURCE_DIR "/tests/data/cuda/") + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct EntryText {
    std::uint16_t kind = 1;
    std::uint32_t sm = 75;
    std::uint64_t flags = 0x11;
    std::string content;
    std::uint64_t unpacked = 0;
    bool compressed = false;
};

/// A container by hand.
Bytes container(const std::vector<EntryText>& entries) {
    Bytes all(16);
    for (const EntryText& entry : entries) {
        Bytes header(64);
        const std::uint64_t padded = (entry.content.size() + 7) / 8 * 8;
        put<std::uint16_t>(header, 0, entry.kind);
        put<std::uint32_t>(header, 4, 64);
        put<std::uint64_t>(header, 8, padded);
        put<std::uint32_t>(header, 16, entry.compressed ? static_cast<std::uint32_t>(entry.content.size()) : 0);
        put<std::uint32_t>(header, 28, entry.sm);
        put<std::uint64_t>(header, 40, entry.flags);
        put<std::uint64_t>(header, 56, entry.unpacked);
        all.insert(all.end(), header.begin(), header.end());
        for (const char c : entry.content) all.push_back(static_cast<std::byte>(c));
        all.resize(all.size() + padded - entry.content.size());
    }
    put<std::uint32_t>(all, 0, kContainerMagic);
    put<std::uint16_t>(all, 4, 1);
    put<std::uint16_t>(all, 6, 16);
    put<std::uint64_t>(all, 8, all.size() - 16);
    return all;
}

std::string zstd(const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
}

class RealFatbin : public testing::TestWithParam<const char*> {};

TEST_P(RealFatbin, HoldsPtxThatRuns) {
    const std::optional<PtxImage> image = find_ptx(read(GetParam()), GetParam());
    ASSERT_TRUE(image);
    EXPECT_EQ(image->sm, 75u);
    const auto module = ptx::parse_module(image->text, GetParam());
    ptx::DeviceMemory memory;
    const Addr at = memory.allocate(128);
    ptx::execute(*module, "tiny", {{1, 1, 1}, {32, 1, 1}, 0}, module->pack("tiny", {{&at, sizeof at}}), memory, {}, false);
    std::int32_t values[32];
    memory.read(at, values, sizeof values);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(values[i], 2 * i + 3);
}

TEST_P(RealFatbin, CutAnywhereIsRefused) {
    const Bytes whole = read(GetParam());
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_THROW(find_ptx(std::span(whole).first(size), "cut"), InputError) << size;
}

TEST_P(RealFatbin, AnyDamagedByteIsSurvived) {
    const Bytes whole = read(GetParam());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const unsigned change : {0x01u, 0x80u, 0xFFu}) {
            Bytes damaged = whole;
            damaged[at] ^= static_cast<std::byte>(change);
            try {
                find_ptx(damaged, "damaged");
            } catch (const InputError& error) {
                EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Nvcc, RealFatbin, testing::Values("plain.fatbin", "zstd.fatbin", "lz4.fatbin", "rdc.fatbin", "several.fatbin"));

TEST(Fatbin, MachineCodeAloneHasNoPtx) {
    EXPECT_FALSE(find_ptx(read("machine_code.fatbin"), "x"));
}

TEST(Fatbin, TheLowestSmIsChosen) {
    const Bytes bytes =
        container({{1, 90, 0x11, ".version 9", 0, false}, {1, 80, 0x11, ".version 8", 0, false}, {2, 75, 0x11, "code", 0, false}});
    const std::optional<PtxImage> image = find_ptx(bytes, "x");
    ASSERT_TRUE(image);
    EXPECT_EQ(image->sm, 80u);
    EXPECT_EQ(image->text, ".version 8");
}

TEST(Fatbin, CompressedBothWays) {
    const std::string text(5000, '.');
    EXPECT_EQ(find_ptx(container({{1, 75, 0x8011, zstd(text), text.size(), true}}), "x")->text, text);
    std::string packed(6000, '\0');
    packed.resize(static_cast<std::size_t>(LZ4_compress_default(text.data(), packed.data(), 5000, 6000)));
    EXPECT_EQ(find_ptx(container({{1, 75, 0x2011, packed, text.size(), true}}), "x")->text, text);
}

TEST(Fatbin, DoesNotBecomeLargerThanItSays) {
    const std::string packed = zstd(std::string(1'000'000, '.'));
    EXPECT_THROW(find_ptx(container({{1, 75, 0x8011, packed, 1000, true}}), "x"), InputError);
    // A few bytes that claim gigabytes cost nothing.
    for (const std::uint64_t claim : {std::uint64_t{1} << 28, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        EXPECT_THROW(find_ptx(container({{1, 75, 0x8011, packed, claim, true}}), "x"), InputError);
        EXPECT_THROW(find_ptx(container({{1, 75, 0x2011, "abcdefgh", claim, true}}), "x"), InputError);
    }
}

TEST(Fatbin, SizesThatWrapAreRefused) {
    const Bytes good = container({{1, 75, 0x11, ".version 8.0", 0, false}});
    for (const std::uint64_t size : {~std::uint64_t{0}, ~std::uint64_t{0} - 15, ~std::uint64_t{0} - 64, std::uint64_t{1} << 63}) {
        Bytes bytes = good;
        put<std::uint64_t>(bytes, 8, size);
        EXPECT_THROW(find_ptx(bytes, "x"), InputError);
        bytes = good;
        put<std::uint64_t>(bytes, 16 + 8, size);
        EXPECT_THROW(find_ptx(bytes, "x"), InputError);
    }
    for (const std::uint32_t header : {0u, 1u, 47u, 0xFFFFFFFFu}) {
        Bytes bytes = good;
        put<std::uint32_t>(bytes, 16 + 4, header);
        EXPECT_THROW(find_ptx(bytes, "x"), InputError);
    }
    // Empty entries without end do not occupy memory without end.
    Bytes many(16 + 5000 * 48);
    std::memcpy(many.data(), good.data(), 16);
    put<std::uint64_t>(many, 8, many.size() - 16);
    for (std::size_t at = 16; at < many.size(); at += 48) put<std::uint32_t>(many, at + 4, 48);
    EXPECT_THROW(fatbin_entries(many, "x"), InputError);
}

TEST(Fatbin, ContainersOfASectionAreFound) {
    const Bytes first = container({{1, 75, 0x11, ".version 8.0", 0, false}});
    const Bytes second = read("zstd.fatbin");
    Bytes section(24);
    section.insert(section.end(), first.begin(), first.end());
    section.resize((section.size() + 7) / 8 * 8 + 16);
    section.insert(section.end(), second.begin(), second.end());
    section.resize(section.size() + 5);
    const auto found = find_containers(section);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].size(), first.size());
    EXPECT_EQ(found[1].size(), second.size());
}

TEST(Fatbin, ADeviceUsesTheHighestPtxThatIsNotAboveIt) {
    const auto chosen = [](std::vector<std::uint32_t> sms, std::uint32_t device) {
        std::vector<FatbinEntry> entries(sms.size() + 1);
        entries.back().kind = FatbinEntry::Kind::machine_code;
        entries.back().sm = device;
        for (std::size_t k = 0; k < sms.size(); ++k) {
            entries[k].kind = FatbinEntry::Kind::ptx;
            entries[k].sm = sms[k];
        }
        const FatbinEntry* const found = best_ptx(entries, device);
        return found == nullptr ? 0 : found->sm;
    };
    EXPECT_EQ(chosen({75, 80, 90}, 80), 80u);
    EXPECT_EQ(chosen({90, 75}, 80), 75u);
    EXPECT_EQ(chosen({75, 90, 86}, 80), 75u);
    EXPECT_EQ(chosen({100, 90}, 80), 90u);  // all are above: the one that asks for least
    EXPECT_EQ(chosen({}, 80), 0u);
}

}  // namespace
}  // namespace mergelane::cuda
