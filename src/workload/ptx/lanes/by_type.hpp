// SPDX-License-Identifier: MIT
// From the types and flags of an instruction to template arguments of its handler.
#pragma once

#include <utility>

#include "workload/ptx/lanes/access.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// Calls `make` with a value of the C++ type that implements a PTX type.
template <class Make>
Handler by_width(Type type, Make make) {
    switch (type_bytes(type)) {
        case 1:
        case 2: return make(u16{});
        case 4: return make(u32{});
        case 8: return make(u64{});
        default: return nullptr;
    }
}
template <class Make>
Handler by_word(Type type, Make make) {
    switch (type) {
        case Type::u32: return make(u32{});
        case Type::u64: return make(u64{});
        case Type::s32: return make(s32{});
        case Type::s64: return make(s64{});
        default: return nullptr;
    }
}
template <class Make>
Handler by_integer(Type type, Make make) {
    switch (type) {
        case Type::b16:
        case Type::u16: return make(u16{});
        case Type::b32: return make(u32{});
        case Type::b64: return make(u64{});
        case Type::s16: return make(s16{});
        default: return by_word(type, make);
    }
}
template <class Make>
Handler by_any_integer(Type type, Make make) {
    switch (type) {
        case Type::b8:
        case Type::u8: return make(u8{});
        case Type::s8: return make(s8{});
        default: return by_integer(type, make);
    }
}

template <class Make>
Handler by_float(Type type, Make make) {
    return type == Type::f64 ? make(f64{}) : type == Type::f32 ? make(f32{}) : nullptr;
}
/// Calls `make` with whether the instruction flushes denormal numbers and whether it saturates, as constants.
template <class Make>
Handler by_flags(const Choice& c, Make make) {
    constexpr std::true_type kYes;
    constexpr std::false_type kNo;
    if (c.ftz) return c.saturate ? make(kYes, kYes) : make(kYes, kNo);
    return c.saturate ? make(kNo, kYes) : make(kNo, kNo);
}
/// Calls `make` with the enumerator as a constant; those after `Last` have no handler.
template <auto Last, class Make>
Handler by_value(decltype(Last) value, Make make) {
    using E = decltype(Last);
    const auto pick = [&]<std::size_t... K>(std::index_sequence<K...>)->Handler {
        const Handler handlers[] = {make(std::integral_constant<E, static_cast<E>(K)>{})...};
        return value <= Last ? handlers[static_cast<std::size_t>(value)] : nullptr;
    };
    return pick(std::make_index_sequence<static_cast<std::size_t>(Last) + 1>{});
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
