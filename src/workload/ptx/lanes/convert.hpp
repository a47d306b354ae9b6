// SPDX-License-Identifier: MIT
// cvt, mov with packing, selp, and predicate logic.
#pragma once

#include <limits>

#include "workload/ptx/lanes/floating.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

template <class T>
struct Limits {
    static constexpr s64 low = std::numeric_limits<T>::min();
    static constexpr u64 high = std::numeric_limits<T>::max();
};

/// The low part of a register of `bytes` bytes, as a T. Registers narrower than 16 bits are kept in 16.
template <class T>
inline T low_part(const Warp& warp, Slot slot, u32 bytes, u32 lane) {
    if (bytes == 8) return static_cast<T>(in<u64>(warp, slot)[lane]);
    if (bytes == 4) return static_cast<T>(in<u32>(warp, slot)[lane]);
    return static_cast<T>(in<u16>(warp, slot)[lane]);
}
/// Writes a T into a register of `bytes` bytes, sign- or zero-extended.
template <class T>
inline void put_extended(Warp& warp, Slot slot, u32 bytes, u32 lane, T value) {
    if (bytes == 8) {
        out<u64>(warp, slot)[lane] = static_cast<u64>(value);
    } else if (bytes == 4) {
        out<u32>(warp, slot)[lane] = static_cast<u32>(value);
    } else {
        out<u16>(warp, slot)[lane] = static_cast<u16>(value);
    }
}

/// Registers as wide as their types: the common case. R and S are what the registers hold.
template <class To, class From, class R, class S>
void convert_integer(Warp& warp, const Inst& inst, u32 mask) {
    const S* a = in<S>(warp, inst.a);
    map<R>(warp, inst.d, mask, [=](u32 i) { return static_cast<R>(static_cast<To>(static_cast<From>(a[i]))); });
}
/// inst.count: bytes of the source register, inst.bytes: of the destination's; inst.sub 1: saturate
template <class To, class From>
void convert_integer_any(Warp& warp, const Inst& inst, u32 mask) {
    each_lane(mask, [&](u32 i) {
        const From v = low_part<From>(warp, inst.a, inst.count, i);
        To r = static_cast<To>(v);
        if (inst.sub != 0) {
            const s128 wide = v;
            if (wide < s128{Limits<To>::low}) r = static_cast<To>(Limits<To>::low);
            if (wide > s128{Limits<To>::high}) r = static_cast<To>(Limits<To>::high);
        }
        put_extended(warp, inst.d, inst.bytes, i, r);
    });
}

template <class F>
inline F to_integral(F v, Round round) {
    switch (round) {
        case Round::int_zero: return static_cast<F>(__builtin_trunc(static_cast<f64>(v)));
        case Round::int_down: return static_cast<F>(__builtin_floor(static_cast<f64>(v)));
        case Round::int_up: return static_cast<F>(__builtin_ceil(static_cast<f64>(v)));
        default: return static_cast<F>(__builtin_nearbyint(static_cast<f64>(v)));
    }
}
/// NaN becomes 0 or, if either type has 64 bits, only the top bit; values out of range saturate.
template <class To, class From, bool Ftz>
void float_to_integer(Warp& warp, const Inst& inst, u32 mask) {
    const From* a = in<From>(warp, inst.a);
    const Round round = static_cast<Round>(inst.sub);
    each_lane(mask, [&](u32 i) {
        From v = a[i];
        if constexpr (Ftz && sizeof(From) == 4) v = flush(v);
        const f64 wide = to_integral(static_cast<f64>(v), round);
        To r;
        if (v != v)
            r = sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(u64{1} << (sizeof(To) * 8 - 1)) : To{0};
        else if (wide <= static_cast<f64>(Limits<To>::low))
            r = static_cast<To>(Limits<To>::low);
        else if (wide >= static_cast<f64>(Limits<To>::high))
            r = static_cast<To>(Limits<To>::high);
        else
            r = static_cast<To>(wide);
        put_extended(warp, inst.d, inst.bytes, i, r);
    });
}
/// s32 from f32, rounded toward zero: frequent enough for a separate loop.
void float_to_s32_zero(Warp& warp, const Inst& inst, u32 mask) {
    const f32* a = in<f32>(warp, inst.a);
    map<s32>(warp, inst.d, mask, [=](u32 i) {
        const f32 v = a[i];
        const bool fits = v >= -2147483648.0f && v < 2147483648.0f;
        const s32 r = static_cast<s32>(fits ? v : 0.0f);
        return fits ? r : v > 0 ? INT32_MAX : v < 0 ? INT32_MIN : 0;
    });
}
/// Avoids the instruction sequence of compilers, which turns 0 into -0 when rounding down.
template <class To, class From>
inline To rounded_to_float(From v) {
    To r = static_cast<To>(v);
    asm volatile("" : "+m"(r));
    return v == 0 ? To{0} : r;
}
template <class To, class From>
void integer_to_float(Warp& warp, const Inst& inst, u32 mask) {
    const auto round = static_cast<Round>(inst.sub);
    const u32 bytes = inst.count;
    if (round != Round::nearest && round != Round::none) {
        const RoundingScope scope(round);
        map_active<To>(warp, inst.d, mask, [&](u32 i) { return rounded_to_float<To>(low_part<From>(warp, inst.a, bytes, i)); });
    } else if (bytes == sizeof(From)) {
        const From* a = in<From>(warp, inst.a);
        map<To>(warp, inst.d, mask, [=](u32 i) { return static_cast<To>(a[i]); });
    } else {
        map_active<To>(warp, inst.d, mask, [&](u32 i) { return static_cast<To>(low_part<From>(warp, inst.a, bytes, i)); });
    }
}
template <class F, bool Ftz, bool Saturate>
void float_to_same(Warp& warp, const Inst& inst, u32 mask) {
    const F* a = in<F>(warp, inst.a);
    const auto round = static_cast<Round>(inst.sub);
    map_active<F>(warp, inst.d, mask, [=](u32 i) {
        F v = a[i];
        if constexpr (Ftz) v = flush(v);
        if (round >= Round::int_nearest) v = to_integral(v, round);
        return canonical(Saturate ? saturated(v) : v);
    });
}
template <bool Ftz, bool Saturate>
void widen(Warp& warp, const Inst& inst, u32 mask) {
    const f32* a = in<f32>(warp, inst.a);
    map<f64>(warp, inst.d, mask, [=](u32 i) {
        const f64 v = canonical(static_cast<f64>(Ftz ? flush(a[i]) : a[i]));
        return Saturate ? saturated(v) : v;
    });
}
template <bool Ftz, bool Saturate>
inline void narrow_lanes(Warp& warp, const Inst& inst, u32 mask) {
    const f64* a = in<f64>(warp, inst.a);
    map<f32>(warp, inst.d, mask, [=](u32 i) {
        f32 v = static_cast<f32>(a[i]);
        if (Saturate) v = saturated(v);
        if (Ftz) v = flush(v);
        return canonical(v);
    });
}
template <bool Ftz, bool Saturate>
void narrow(Warp& warp, const Inst& inst, u32 mask) {
    const auto round = static_cast<Round>(inst.sub);
    if (round == Round::nearest || round == Round::none) return narrow_lanes<Ftz, Saturate>(warp, inst, mask);
    const RoundingScope scope(round);
    narrow_lanes<Ftz, Saturate>(warp, inst, mask);
}

template <class T>
void selp(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    const u32 p = inst.negate ? ~predicate(warp, inst.c) : predicate(warp, inst.c);
    map<T>(warp, inst.d, mask, [=](u32 i) { return (p & kBit[i]) != 0 ? a[i] : b[i]; });
}

/// {a, b, ..} to one register; parts in Program::lists, inst.count of them, each inst.bytes wide.
template <class D, class P>
void pack(Warp& warp, const Inst& inst, u32 mask) {
    D value[32] = {};
    for (u32 k = 0; k < inst.count; ++k) {
        const P* part = in<P>(warp, warp.launch->program.lists[inst.list + k]);
        for (u32 i = 0; i < 32; ++i) value[i] = static_cast<D>(value[i] | static_cast<D>(static_cast<D>(part[i]) << k * sizeof(P) * 8));
    }
    map<D>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}
template <class S, class P>
void unpack(Warp& warp, const Inst& inst, u32 mask) {
    S value[32];
    std::memcpy(value, in<S>(warp, inst.a), sizeof value);
    for (u32 k = 0; k < inst.count; ++k) {
        const Slot to = warp.launch->program.lists[inst.list + k];
        if (to != kAbsent) map<P>(warp, to, mask, [&](u32 i) { return static_cast<P>(value[i] >> k * sizeof(P) * 8); });
    }
}

/// Logic on predicates: the bits of all lanes at once.
template <auto O>
void logic(Warp& warp, const Inst& inst, u32 mask) {
    const u32 a = predicate(warp, inst.a);
    if constexpr (requires { O(a); })
        set_predicate(warp, inst.d, mask, O(a));
    else
        set_predicate(warp, inst.d, mask, O(a, predicate(warp, inst.b)));
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
