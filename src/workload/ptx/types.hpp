// SPDX-License-Identifier: MIT
// PTX's type system and state spaces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace mergelane::ptx {

enum class Type : std::uint8_t {
    none,
    b8,
    b16,
    b32,
    b64,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
    pred,
    b128,
    tf32,
    e4m3x2,
    e5m2x2,
    s16x2,
    u16x2
};

enum class StateSpace : std::uint8_t { generic, global, constant, shared, local, param, reg };

/// Calls `use` with every word of a list; words are separated by single spaces.
template <class Use>
void each_word(std::string_view list, Use use) {
    while (!list.empty()) {
        const std::string_view word = list.substr(0, list.find(' '));
        use(word);
        list.remove_prefix(std::min(word.size() + 1, list.size()));
    }
}

/// Finds the enumerator that a word names; `names` are in the order of the enumeration, from 0 on, without gaps.
template <class E>
bool find_word(std::span<const std::string_view> names, std::string_view word, E& found) {
    const auto name = std::find(names.begin(), names.end(), word);
    if (word.empty() || name == names.end()) return false;
    found = static_cast<E>(name - names.begin());
    return true;
}

/// The type named by a modifier such as "s32"; none if it names no type.
Type type_of(std::string_view word);
/// The state space named by a modifier such as "shared"; generic if it names none.
StateSpace space_of(std::string_view word);

inline constexpr std::uint32_t type_bytes(Type type) {
    switch (type) {
        case Type::none: return 0;
        case Type::b8:
        case Type::u8:
        case Type::s8: return 1;
        case Type::b16:
        case Type::u16:
        case Type::s16:
        case Type::f16:
        case Type::bf16:
        case Type::e4m3x2:
        case Type::e5m2x2: return 2;
        case Type::b64:
        case Type::u64:
        case Type::s64:
        case Type::f64: return 8;
        case Type::b128: return 16;
        default: return 4;
    }
}
inline constexpr bool is_signed(Type type) {
    return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
inline constexpr bool is_float(Type type) {
    return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
}

/// f16, bf16 and what is converted or computed like them: pairs of them, narrower formats, pairs of 16-bit integers.
inline constexpr bool is_half(Type type) {
    return (type >= Type::f16 && type <= Type::bf16x2) || (type >= Type::tf32 && type <= Type::u16x2);
}

}  // namespace mergelane::ptx
