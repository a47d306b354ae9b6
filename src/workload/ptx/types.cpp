// SPDX-License-Identifier: MIT
#include "workload/ptx/types.hpp"

#include <array>
#include <utility>

namespace mergelane::ptx {

namespace {
constexpr std::array<std::pair<std::string_view, Type>, 19> kTypes = {{{"b8", Type::b8},
                                                                       {"b16", Type::b16},
                                                                       {"b32", Type::b32},
                                                                       {"b64", Type::b64},
                                                                       {"u8", Type::u8},
                                                                       {"u16", Type::u16},
                                                                       {"u32", Type::u32},
                                                                       {"u64", Type::u64},
                                                                       {"s8", Type::s8},
                                                                       {"s16", Type::s16},
                                                                       {"s32", Type::s32},
                                                                       {"s64", Type::s64},
                                                                       {"f16", Type::f16},
                                                                       {"f16x2", Type::f16x2},
                                                                       {"bf16", Type::bf16},
                                                                       {"bf16x2", Type::bf16x2},
                                                                       {"f32", Type::f32},
                                                                       {"f64", Type::f64},
                                                                       {"pred", Type::pred}}};
}  // namespace

Type type_of(std::string_view word) {
    for (const auto& [name, type] : kTypes) {
        if (name == word) return type;
    }
    return Type::none;
}

std::string_view type_name(Type type) {
    for (const auto& [name, known] : kTypes) {
        if (known == type) return name;
    }
    return "?";
}

}  // namespace mergelane::ptx
