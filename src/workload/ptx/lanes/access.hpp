// SPDX-License-Identifier: MIT
// How handlers read and write 32 lanes. The files of this folder are compiled once per host instruction set (see base.cpp, avx2.cpp);
// nothing in them may have external linkage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "workload/ptx/choice.hpp"
#include "workload/ptx/warp.hpp"

// Lanes are independent of each other, even where a result is also an operand.
#if defined(__clang__)
#define MERGELANE_LANES_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define MERGELANE_LANES_LOOP _Pragma("GCC ivdep")
#endif

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;
using f32 = float;
using f64 = double;

constexpr u32 kAll = 0xFFFFFFFFu;

alignas(64) constexpr u32 kBit[32] = {1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
                                      1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
                                      1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
                                      1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

template <class To, class From>
inline To as(From value) {
    return __builtin_bit_cast(To, value);
}

template <class T>
inline const T* in(const Warp& warp, Slot slot) {
    const std::byte* base = slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
    return static_cast<const T*>(__builtin_assume_aligned(base, 64));
}
template <class T>
inline T* out(Warp& warp, Slot slot) {
    return static_cast<T*>(__builtin_assume_aligned(warp.regs + slot, 64));
}
inline u32 predicate(const Warp& warp, Slot slot) {
    const std::byte* base = slot < 0 ? warp.pool + (slot & 0x7FFFFFFF) : warp.regs + slot;
    u32 mask;
    std::memcpy(&mask, base, sizeof mask);
    return mask;
}
inline void set_predicate(Warp& warp, Slot slot, u32 mask, u32 value) {
    u32 old;
    std::memcpy(&old, warp.regs + slot, sizeof old);
    old = (old & ~mask) | (value & mask);
    std::memcpy(warp.regs + slot, &old, sizeof old);
}

/// Calls f(lane) for the lanes of the mask, in order.
template <class F>
inline void each_lane(u32 mask, F f) {
    for (u32 left = mask; left != 0; left &= left - 1) f(static_cast<u32>(__builtin_ctz(left)));
}
/// d[lane] = f(lane) for the lanes of the mask. `f` is evaluated for all lanes and must not trap.
template <class D, class F>
inline void map(Warp& warp, Slot slot, u32 mask, F f) {
    D* d = out<D>(warp, slot);
    if (mask == kAll) {
        MERGELANE_LANES_LOOP
        for (u32 i = 0; i < 32; ++i) d[i] = f(i);
    } else {
        MERGELANE_LANES_LOOP
        for (u32 i = 0; i < 32; ++i) {
            const D r = f(i);
            d[i] = (mask & kBit[i]) != 0 ? r : d[i];
        }
    }
}
/// The same for work that should be done only for active lanes.
template <class D, class F>
inline void map_active(Warp& warp, Slot slot, u32 mask, F f) {
    D* d = out<D>(warp, slot);
    each_lane(mask, [&](u32 i) { d[i] = f(i); });
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;
/// Twice as wide.
template <class T>
using Wider =
    std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 2, s32, std::conditional_t<sizeof(T) == 4, s64, s128>>,
                       std::conditional_t<sizeof(T) == 2, u32, std::conditional_t<sizeof(T) == 4, u64, u128>>>;

/// What happens to operands before, and to results after, an operation: nothing.
struct AsIs {
    static auto before(auto v) { return v; }
    static auto after(auto v) { return v; }
};
/// A handler made of an operation on one lane: apply<neg, s32, 1> and so on.
template <auto O, class T, u32 Operands, class F = AsIs, class B = T>
void apply(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const B* b = Operands > 1 ? in<B>(warp, inst.b) : nullptr;
    const T* c = Operands > 2 ? in<T>(warp, inst.c) : nullptr;
    map<T>(warp, inst.d, mask, [=](u32 i) {
        if constexpr (Operands == 1) return F::after(O(F::before(a[i])));
        if constexpr (Operands == 2) return F::after(O(F::before(a[i]), F::before(b[i])));
        if constexpr (Operands == 3) return F::after(O(F::before(a[i]), F::before(b[i]), F::before(c[i])));
    });
}
template <auto O, class T>
void binary_active(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    map_active<T>(warp, inst.d, mask, [=](u32 i) { return O(a[i], b[i]); });
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
