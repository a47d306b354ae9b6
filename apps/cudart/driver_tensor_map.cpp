// SPDX-License-Identifier: MIT
// Tensor maps for cp.async.bulk.tensor: the driver's arguments, checked as it documents them, in Mergelane's format.
#include <fmt/format.h>

#include "driver.hpp"
#include "workload/ptx/tensor_map.hpp"

namespace mergelane::cudart {

namespace {

/// As CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion and CUtensorMapFloatOOBfill.
struct TensorMapModes {
    int type, interleave, swizzle, promotion, fill;
};

[[noreturn]] void wrong_map(Error code, std::string_view function, std::string_view why) {
    throw CudaError{code, fmt::format("{}: {}", function, why)};
}

/// The bytes of the program's tensor map.
std::span<std::byte, ptx::TensorMap::kBytes> map_bytes(void* map, std::string_view function) {
    constexpr std::uintptr_t kMapAlignment = 64;
    if (map == nullptr || reinterpret_cast<std::uintptr_t>(map) % kMapAlignment != 0)
        wrong_map(kInvalidValue, function, "the tensor map is not at a multiple of 64 bytes; declare it as CUtensorMap, which is aligned");
    return std::span<std::byte, ptx::TensorMap::kBytes>(static_cast<std::byte*>(map), ptx::TensorMap::kBytes);
}

/// What exists is told apart from what Mergelane has.
void check_modes(const TensorMapModes& modes, std::string_view function) {
    constexpr int kTypes = 16, kInterleaves = 3, kSwizzles = 7, kPromotions = 4, kFills = 2;
    const auto exists = [](int value, int count) { return value >= 0 && value < count; };
    if (!exists(modes.type, kTypes) || !exists(modes.interleave, kInterleaves) || !exists(modes.swizzle, kSwizzles) ||
        !exists(modes.promotion, kPromotions) || !exists(modes.fill, kFills))
        wrong_map(kInvalidValue, function, "a type or mode does not exist; use the constants of cuda.h");
    if (modes.type >= static_cast<int>(ptx::TensorType::f32_ftz))
        wrong_map(kNotSupported, function, "FLOAT32_FTZ, TFLOAT32 and elements of 4 and 6 bits are not supported; use FLOAT32 or UINT8");
    if (modes.interleave != 0)
        wrong_map(kNotSupported, function, "interleaved layouts are not supported; use CU_TENSOR_MAP_INTERLEAVE_NONE");
    if (modes.swizzle >= static_cast<int>(ptx::TensorSwizzle::count))
        wrong_map(kNotSupported, function, "swizzles of 32 and 64 bytes within 128 are not supported; use CU_TENSOR_MAP_SWIZZLE_128B");
}

}  // namespace

}  // namespace mergelane::cudart

using namespace mergelane;
using namespace mergelane::cudart;

MERGELANE_API int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const std::uint64_t* sizes,
                                         const std::uint64_t* strides, const unsigned* box, const unsigned* element_strides, int interleave,
                                         int swizzle, int promotion, int fill) {
    return driver_guarded([&](Runtime&) {
        constexpr std::string_view kName = "cuTensorMapEncodeTiled";
        const auto bytes = map_bytes(map, kName);
        check_modes({type, interleave, swizzle, promotion, fill}, kName);
        ptx::TensorMap made;
        if (rank == 0 || rank > ptx::TensorMap::kMostRank)
            wrong_map(kInvalidValue, kName, fmt::format("a tensor has 1 to 5 dimensions, not {}", rank));
        if (sizes == nullptr || box == nullptr || element_strides == nullptr || (strides == nullptr && rank > 1))
            wrong_map(kInvalidValue, kName, "sizes, strides, box or element strides are missing");
        made.type = static_cast<ptx::TensorType>(type);
        made.swizzle = static_cast<ptx::TensorSwizzle>(swizzle);
        made.fill_nan = fill != 0;
        made.rank = rank;
        made.address = reinterpret_cast<Addr>(address);
        for (unsigned d = 0; d < rank; ++d) {
            made.size[d] = sizes[d];
            made.box[d] = box[d];
            made.element_stride[d] = d == 0 ? 1 : element_strides[d];  // not interleaved, the first one is ignored
            if (d > 0) made.stride[d - 1] = strides[d - 1];
        }
        if (const std::string why = made.encode(bytes); !why.empty()) wrong_map(kInvalidValue, kName, why);
    });
}
MERGELANE_API int cuTensorMapReplaceAddress(void* map, void* address) {
    return driver_guarded([&](Runtime&) {
        constexpr std::string_view kName = "cuTensorMapReplaceAddress";
        const auto bytes = map_bytes(map, kName);
        ptx::TensorMap known;
        std::string why = known.decode(bytes.data());
        known.address = reinterpret_cast<Addr>(address);
        if (why.empty()) why = known.encode(bytes);
        if (!why.empty()) wrong_map(kInvalidValue, kName, why);
    });
}
