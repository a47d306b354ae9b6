// SPDX-License-Identifier: MIT
// Any bytes given as a container of device code, or as a program, must be rejected with an InputError or give PTX of bounded size. PTX that
// comes out is linked with itself. After an 'e', parts that are separated by 0xFD 0xFD are contents of entries: their container is made
// here, with correct sizes or with sizes that are wrong by a little.
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "workload/cuda/cubin.hpp"
#include "workload/cuda/fatbin.hpp"
#include "workload/cuda/link_ptx.hpp"
#include "workload/cuda/program_file.hpp"

namespace {

using namespace mergelane;

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string packed(std::string_view text, unsigned how) {
    if (how == 0) return std::string(text);
    std::string to(how == 1 ? ZSTD_compressBound(text.size()) : LZ4_compressBound(static_cast<int>(text.size())), '\0');
    const std::size_t size = how == 1
                                 ? ZSTD_compress(to.data(), to.size(), text.data(), text.size(), 1)
                                 : LZ4_compress_default(text.data(), to.data(), static_cast<int>(text.size()), static_cast<int>(to.size()));
    to.resize(size);
    return to;
}

/// `part`: kind, packing, which sizes are wrong, by how much; then the content.
std::string entry_of(std::string_view part) {
    constexpr std::size_t kHeader = 64;
    constexpr std::uint64_t kFlags[] = {0, 0x8000, 0x2000};
    const unsigned how = static_cast<unsigned char>(part[1]) % 3u;
    const std::string content = packed(part.substr(4), how);
    const auto size = [&](unsigned field, std::uint64_t right) {
        const bool wrong = (static_cast<unsigned char>(part[2]) >> field & 1u) != 0;
        return right + (wrong ? static_cast<std::uint64_t>(static_cast<signed char>(part[3])) : 0);
    };
    const std::uint64_t padded = (content.size() + 7) / 8 * 8;
    std::string entry(kHeader, '\0');
    put<std::uint16_t>(entry, 0, static_cast<unsigned char>(part[0]));
    put(entry, 4, static_cast<std::uint32_t>(size(0, kHeader)));
    put(entry, 8, size(1, padded));
    put(entry, 16, static_cast<std::uint32_t>(size(2, how == 0 ? 0 : content.size())));
    put<std::uint32_t>(entry, 28, 75);
    put(entry, 40, kFlags[how]);
    put(entry, 56, size(3, part.size() - 4));
    entry += content;
    entry.resize(kHeader + padded);
    return entry;
}

std::vector<std::byte> container_of(std::string_view parts) {
    std::string entries;
    while (!parts.empty()) {
        const std::size_t end = std::min(parts.find("\xFD\xFD"), parts.size());
        if (end >= 4) entries += entry_of(parts.substr(0, end));
        parts.remove_prefix(std::min(parts.size(), end + 2));
    }
    std::string head(16, '\0');
    put(head, 0, cuda::kContainerMagic);
    put<std::uint16_t>(head, 4, 1);
    put<std::uint16_t>(head, 6, 16);
    put<std::uint64_t>(head, 8, entries.size());
    head += entries;
    const auto* const first = reinterpret_cast<const std::byte*>(head.data());
    return {first, first + head.size()};  // no byte more, so that a read beyond it is noticed
}

void check_message(const InputError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() >= 2000) std::abort();
}

void check_registers(const cuda::KernelRegisters& found) {
    for (const auto& [kernel, registers] : found) {
        if (kernel.empty() || registers == 0 || registers > 255) std::abort();
    }
}

void read(std::span<const std::byte> bytes) {
    check_registers(cuda::registers_in_cubin(bytes));
    check_registers(cuda::registers_in_container(bytes, 75));
    try {
        for (const cuda::FatbinEntry& entry : cuda::fatbin_entries(bytes, "fuzz")) {
            const std::byte* const end = bytes.data() + bytes.size();
            if (entry.content.data() < bytes.data() || entry.content.data() + entry.content.size() > end) std::abort();
            try {
                const std::string text = cuda::unpack_ptx(entry, "fuzz");
                if (text.size() > cuda::kMostPtxBytes) std::abort();
                if (text.size() < 4096) cuda::link_ptx({text, text}, "fuzz");
                const std::string content = cuda::unpack(entry, "fuzz");
                check_registers(cuda::registers_in_cubin(std::as_bytes(std::span(content))));
            } catch (const InputError& error) {
                check_message(error);
            }
        }
        cuda::find_ptx(bytes, "fuzz");
    } catch (const InputError& error) {
        check_message(error);
    }
    for (const std::span<const std::byte> container : cuda::find_containers(bytes)) {
        if (container.empty()) std::abort();
    }
    cuda::why_not(cuda::inspect_program(bytes), "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read({reinterpret_cast<const std::byte*>(data), size});
    if (text.starts_with('e')) read(container_of(text.substr(1)));
    try {
        if (size < 4096) cuda::link_ptx({std::string(text), std::string(text)}, "fuzz");
    } catch (const InputError& error) {
        check_message(error);
    }
    return 0;
}
