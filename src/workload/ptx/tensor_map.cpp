// SPDX-License-Identifier: MIT
#include "workload/ptx/tensor_map.hpp"

#include <fmt/format.h>

#include <cstring>

namespace mergelane::ptx {

namespace {

constexpr std::uint64_t kMagic = 0x31'50414D'54'4C4DFF;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 32;

/// One list of fields for both directions.
template <class Transfer>
void transfer(Transfer&& field, auto& map) {
    field(map.type);
    field(map.swizzle);
    field(map.fill_nan);
    field(map.rank);
    field(map.address);
    for (auto& stride : map.stride) field(stride);
    for (std::uint32_t d = 0; d < TensorMap::kMostRank; ++d) {
        auto last = static_cast<std::uint32_t>(map.size[d] - 1);
        auto box = static_cast<std::uint16_t>(map.box[d]);
        auto step = static_cast<std::uint8_t>(map.element_stride[d]);
        field(last), field(box), field(step);
        if constexpr (!std::is_const_v<std::remove_reference_t<decltype(map)>>) {
            map.size[d] = std::uint64_t{last} + 1;
            map.box[d] = box;
            map.element_stride[d] = step;
        }
    }
}

}  // namespace

std::uint32_t TensorMap::element_bytes() const {
    switch (type) {
        case TensorType::u8: return 1;
        case TensorType::u16:
        case TensorType::f16:
        case TensorType::bf16: return 2;
        case TensorType::u64:
        case TensorType::s64:
        case TensorType::f64: return 8;
        default: return 4;
    }
}

bool TensorMap::is_floating() const {
    return type == TensorType::f16 || type == TensorType::bf16 || type == TensorType::f32 || type == TensorType::f64;
}

std::uint64_t TensorMap::box_bytes() const {
    std::uint64_t bytes = element_bytes();
    for (std::uint32_t d = 0; d < rank; ++d) bytes *= elements(d);
    return bytes;
}

std::string TensorMap::check() const {
    if (type >= TensorType::count || swizzle >= TensorSwizzle::count) return "its type or swizzle mode does not exist";
    if (type >= TensorType::f32_ftz) return "the types FLOAT32_FTZ, TFLOAT32 and TFLOAT32_FTZ are not supported; use FLOAT32";
    if (rank == 0 || rank > kMostRank) return fmt::format("it has {} dimensions; use 1 to {}", rank, kMostRank);
    if (address % 16 != 0) return "its address is not a multiple of 16";
    for (std::uint32_t d = 0; d < rank; ++d) {
        if (size[d] == 0 || size[d] > kMostSize) return fmt::format("dimension {} has {} elements; use 1 to {}", d, size[d], kMostSize);
        if (box[d] == 0 || box[d] > 256) return fmt::format("its box has {} elements in dimension {}; use 1 to 256", box[d], d);
        if (element_stride[d] == 0 || element_stride[d] > 8)
            return fmt::format("its element stride in dimension {} is {}; use 1 to 8", d, element_stride[d]);
        if (d + 1 < rank && (stride[d] % 16 != 0 || stride[d] >= kMostStride))
            return fmt::format("the stride of dimension {} is {} bytes; use a multiple of 16 below 2^40", d + 1, stride[d]);
    }
    if (fill_nan && !is_floating()) return "only elements of a floating-point type can be filled with NaN";
    const std::uint32_t row = box[0] * element_bytes();
    if (row % 16 != 0) return fmt::format("a row of its box has {} bytes; use a multiple of 16", row);
    if (swizzle != TensorSwizzle::none && row > 16u << static_cast<std::uint32_t>(swizzle))
        return fmt::format("a row of its box has {} bytes, more than its swizzle mode allows; use at most {}", row,
                           16u << static_cast<std::uint32_t>(swizzle));
    return "";
}

std::string TensorMap::encode(std::span<std::byte, kBytes> to) const {
    std::string wrong = check();
    if (!wrong.empty()) return wrong;
    std::memset(to.data(), 0, kBytes);
    std::byte* at = to.data();
    const auto put = [&](const auto& value) {
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
    };
    put(kMagic);
    transfer(put, *this);
    return "";
}

std::string TensorMap::decode(const std::byte* from) {
    std::uint64_t magic = 0;
    const auto get = [&](auto& value) {
        std::memcpy(&value, from, sizeof value);
        from += sizeof value;
    };
    get(magic);
    if (magic != kMagic) return "its bytes are no tensor map";
    transfer(
        [&](auto& value) {
            if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, bool>) {
                std::uint8_t byte = 0;
                get(byte);
                value = byte == 1;
            } else {
                get(value);
            }
        },
        *this);
    return check();
}

}  // namespace mergelane::ptx
