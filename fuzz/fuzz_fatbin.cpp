// SPDX-License-Identifier: MIT
// Any bytes given as a container of device code, or as a program, must be rejected with an InputError or give PTX of bounded size. PTX that
// comes out is linked with itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/error.hpp"
#include "workload/cuda/fatbin.hpp"
#include "workload/cuda/link_ptx.hpp"
#include "workload/cuda/program_file.hpp"

namespace {

void check_message(const mergelane::InputError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() >= 2000) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mergelane;
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    try {
        for (const cuda::FatbinEntry& entry : cuda::fatbin_entries(bytes, "fuzz")) {
            if (entry.content.data() < bytes.data() || entry.content.data() + entry.content.size() > bytes.data() + size) std::abort();
            try {
                const std::string text = cuda::unpack_ptx(entry, "fuzz");
                if (text.size() > cuda::kMostPtxBytes) std::abort();
                if (text.size() < 4096) cuda::link_ptx({text, text}, "fuzz");
            } catch (const InputError& error) {
                check_message(error);
            }
        }
        cuda::find_ptx(bytes, "fuzz");
    } catch (const InputError& error) {
        check_message(error);
    }
    try {
        const std::string text(reinterpret_cast<const char*>(data), size);
        if (size < 4096) cuda::link_ptx({text, text}, "fuzz");
    } catch (const InputError& error) {
        check_message(error);
    }
    for (const std::span<const std::byte> container : cuda::find_containers(bytes)) {
        if (container.empty()) std::abort();
    }
    cuda::why_not(cuda::inspect_program(bytes), "fuzz");
    return 0;
}
