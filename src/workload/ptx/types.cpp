// SPDX-License-Identifier: MIT
#include "workload/ptx/types.hpp"

namespace mergelane::ptx {

Type type_of(std::string_view word) {
    static constexpr std::string_view kNames[] = {"",    "b8",   "b16",  "b32",  "b64",    "u8",     "u16",   "u32",    "u64",
                                                  "s8",  "s16",  "s32",  "s64",  "f16",    "f16x2",  "bf16",  "bf16x2", "f32",
                                                  "f64", "pred", "b128", "tf32", "e4m3x2", "e5m2x2", "s16x2", "u16x2"};
    Type type = Type::none;
    find_word(kNames, word, type);
    return type;
}

StateSpace space_of(std::string_view word) {
    static constexpr std::string_view kNames[] = {"", "global", "const", "shared", "local", "param"};
    StateSpace space = StateSpace::generic;
    find_word(kNames, word, space);
    return space;
}

}  // namespace mergelane::ptx
