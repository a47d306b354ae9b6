// SPDX-License-Identifier: MIT
// Packs what a fuzzer made, so that its changes reach the code behind the checksums of .xz.
#pragma once

#include <lzma.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

inline std::string xz_of(std::string_view text) {
    std::string file(lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                reinterpret_cast<std::uint8_t*>(file.data()), &size, file.size()) != LZMA_OK)
        std::abort();
    file.resize(size);
    return file;
}
