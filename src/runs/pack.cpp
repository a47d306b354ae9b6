// SPDX-License-Identifier: MIT
#include "runs/pack.hpp"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <new>

#include "core/error.hpp"

namespace mergelane::study {

namespace {
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::uint64_t kMostDecoderMemory = std::uint64_t{128} << 20;
}  // namespace

std::string unpacked(std::string_view bytes, const std::string& name) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, kMostDecoderMemory, 0) != LZMA_OK) throw std::bad_alloc();
    std::string lines;
    stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    stream.avail_in = bytes.size();
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK && lines.size() < kMostBytes) {
        const std::size_t before = lines.size();
        lines.resize(std::min(kMostBytes, std::max(before * 2, std::size_t{1} << 16)));
        stream.next_out = reinterpret_cast<std::uint8_t*>(lines.data()) + before;
        stream.avail_out = lines.size() - before;
        result = lzma_code(&stream, LZMA_FINISH);
        lines.resize(lines.size() - stream.avail_out);
    }
    lzma_end(&stream);
    if (result == LZMA_STREAM_END) return lines;
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    throw InputError(fmt::format("{}: {}; pack the store again with 'mergelane store pack'", name,
                                 result == LZMA_FORMAT_ERROR  ? "is not a packed store"
                                 : lines.size() >= kMostBytes ? "has more than a gigabyte of records"
                                                              : "is damaged or cut off"));
}

}  // namespace mergelane::study
