// SPDX-License-Identifier: MIT
// Integer arithmetic and bit operations.
#pragma once

#include "workload/ptx/lanes/access.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// Sums of unsigned numbers wrap.
template <class T>
inline Unsigned<T> as_unsigned(T value) {
    return static_cast<Unsigned<T>>(value);
}
constexpr auto add = [](auto a, auto b) { return static_cast<decltype(a)>(as_unsigned(a) + as_unsigned(b)); };
constexpr auto sub = [](auto a, auto b) { return static_cast<decltype(a)>(as_unsigned(a) - as_unsigned(b)); };
constexpr auto neg = [](auto a) { return static_cast<decltype(a)>(0 - as_unsigned(a)); };
inline s32 clamped(s64 value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : static_cast<s32>(value);
}
constexpr auto add_saturate = [](s32 a, s32 b) { return clamped(s64{a} + b); };
constexpr auto sub_saturate = [](s32 a, s32 b) { return clamped(s64{a} - b); };
constexpr auto mul_lo = [](auto a, auto b) { return static_cast<decltype(a)>(1u * a * b); };  // never as signed numbers
constexpr auto mul_hi = [](auto a, auto b) { return static_cast<decltype(a)>(Wider<decltype(a)>{a} * b >> sizeof a * 8); };
constexpr auto mad_lo = [](auto a, auto b, auto c) { return add(mul_lo(a, b), c); };
constexpr auto mad_hi = [](auto a, auto b, auto c) { return add(mul_hi(a, b), c); };
/// The low 24 bits of each, sign- or zero-extended.
inline s64 low_24(s32 a) {
    return static_cast<s32>(static_cast<u32>(a) << 8) >> 8;
}
inline s64 low_24(u32 a) {
    return a & 0xFFFFFFu;
}
constexpr auto mul24_lo = [](auto a, auto b) { return static_cast<decltype(a)>(low_24(a) * low_24(b)); };
constexpr auto mul24_hi = [](auto a, auto b) { return static_cast<decltype(a)>(low_24(a) * low_24(b) >> 16); };
constexpr auto mad24_lo = [](auto a, auto b, auto c) { return add(mul24_lo(a, b), c); };
/// Division by zero gives all ones, as the hardware's routine does.
constexpr auto div = []<class T>(T a, T b) -> T {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (static_cast<T>(-1) < T{0}) {
        if (b == static_cast<T>(-1)) return neg(a);
    }
    return static_cast<T>(a / b);
};
constexpr auto rem = []<class T>(T a, T b) -> T {
    if (b == 0) return a;
    if constexpr (static_cast<T>(-1) < T{0}) {
        if (b == static_cast<T>(-1)) return 0;
    }
    return static_cast<T>(a % b);
};
constexpr auto abs = [](auto a) { return a < 0 ? neg(a) : a; };
constexpr auto min = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto max = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto sad = [](auto a, auto b, auto c) { return add(c, a < b ? sub(b, a) : sub(a, b)); };
constexpr auto and_ = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto or_ = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto xor_ = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto not_ = [](auto a) { return static_cast<decltype(a)>(~a); };
constexpr auto cnot = [](auto a) { return static_cast<decltype(a)>(a == 0 ? 1 : 0); };
constexpr auto move = [](auto a) { return a; };

/// Shift counts are 32 bits for every type, and clamp.
constexpr auto shl = []<class T>(T a, u32 by) { return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << by); };
constexpr auto shr = []<class T>(T a, u32 by) {
    constexpr u32 kBits = sizeof(T) * 8;
    if constexpr (static_cast<T>(-1) < T{0}) return static_cast<T>(a >> (by >= kBits ? kBits - 1 : by));
    return by >= kBits ? T{0} : static_cast<T>(a >> by);
};
/// A product twice as wide as its factors and, unless c is absent, a sum with it.
template <class T, bool Sum>
void mul_wide(Warp& warp, const Inst& inst, u32 mask) {
    using W = Wider<T>;
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    const W* c = Sum ? in<W>(warp, inst.c) : nullptr;
    map<W>(warp, inst.d, mask, [=](u32 i) { return add(static_cast<W>(W{a[i]} * W{b[i]}), Sum ? c[i] : W{0}); });
}

/// add.cc, addc, sub.cc, subc, mad.cc, madc of 32 and 64 bits; the carry is one bit per lane.
template <Op K, class T>
void carry_chain(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    const T* c = inst.c == kAbsent ? a : in<T>(warp, inst.c);
    T* d = out<T>(warp, inst.d);
    u32 carry_out = 0;
    each_lane(mask, [&](u32 i) {
        const T carry_in = (inst.sub & kCarryIn) != 0 ? static_cast<T>(warp.carry >> i & 1) : T{0};
        u128 r;
        if constexpr (K == Op::add_carry) {
            r = u128{a[i]} + b[i] + carry_in;
        } else if constexpr (K == Op::sub_carry) {
            r = u128{a[i]} - b[i] - carry_in;
        } else {
            const u128 product = u128{a[i]} * b[i];
            r = u128{K == Op::mad_lo_carry ? static_cast<T>(product) : static_cast<T>(product >> sizeof(T) * 8)} + c[i] + carry_in;
        }
        d[i] = static_cast<T>(r);
        carry_out |= static_cast<u32>(r >> sizeof(T) * 8 & 1) << i;
    });
    if ((inst.sub & kCarryOut) != 0) warp.carry = (warp.carry & ~mask) | carry_out;
}

/// lop3's table as at most eight terms. The table is known only at run time, so common ones have specialised code.
void lop3(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    u32 term[8];
    for (u32 k = 0; k < 8; ++k) term[k] = (inst.sub >> k & 1) != 0 ? kAll : 0;
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 low = (~b[i] & ((~c[i] & term[0]) | (c[i] & term[1]))) | (b[i] & ((~c[i] & term[2]) | (c[i] & term[3])));
        const u32 high = (~b[i] & ((~c[i] & term[4]) | (c[i] & term[5]))) | (b[i] & ((~c[i] & term[6]) | (c[i] & term[7])));
        return (~a[i] & low) | (a[i] & high);
    });
}

/// Funnel shift of b:a; inst.sub 1: wrap, 0: clamp.
template <bool Left>
void funnel(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    const bool wrap = inst.sub != 0;
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 by = wrap ? c[i] & 31 : (c[i] > 32 ? 32 : c[i]);
        const u64 both = u64{b[i]} << 32 | a[i];
        return Left ? static_cast<u32>(by == 32 ? a[i] : both << by >> 32) : static_cast<u32>(both >> by);
    });
}

/// inst.sub: 0 default, 1 f4e, 2 b4e, 3 rc8, 4 ecl, 5 ecr, 6 rc16
void prmt(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    static constexpr u16 kSelect[7][4] = {{0, 0, 0, 0},
                                          {0x3210, 0x4321, 0x5432, 0x6543},
                                          {0x5670, 0x6701, 0x7012, 0x0123},
                                          {0x0000, 0x1111, 0x2222, 0x3333},
                                          {0x3210, 0x3211, 0x3222, 0x3333},
                                          {0x0000, 0x1110, 0x2210, 0x3210},
                                          {0x1010, 0x3232, 0x1010, 0x3232}};
    const u32 mode = inst.sub;
    map_active<u32>(warp, inst.d, mask, [=](u32 i) {
        const u64 bytes = u64{b[i]} << 32 | a[i];
        const u32 select = mode == 0 ? c[i] : kSelect[mode][c[i] & 3];
        u32 r = 0;
        for (u32 k = 0; k < 4; ++k) {
            const u32 nibble = select >> 4 * k & 15;
            u32 byte = static_cast<u32>(bytes >> 8 * (nibble & 7) & 0xFF);
            if ((nibble & 8) != 0 && mode == 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
            r |= byte << 8 * k;
        }
        return r;
    });
}

template <class T>
void bit_field_extract(Warp& warp, const Inst& inst, u32 mask) {
    constexpr u32 kBits = sizeof(T) * 8;
    constexpr bool kSigned = static_cast<T>(-1) < T{0};
    const T* a = in<T>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    map_active<T>(warp, inst.d, mask, [=](u32 i) {
        const u32 from = b[i] & 0xFF;
        const u32 count = c[i] & 0xFF;
        const bool negative = kSigned && count != 0 && (a[i] >> (from + count - 1 < kBits ? from + count - 1 : kBits - 1) & 1) != 0;
        using U = Unsigned<T>;
        U r = from < kBits ? static_cast<U>(static_cast<U>(a[i]) >> from) : U{0};
        const u32 have = from < kBits ? (count < kBits - from ? count : kBits - from) : 0;
        const U keep = have >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << have) - 1);
        r &= keep;
        if (negative) r |= static_cast<U>(~keep);
        return static_cast<T>(r);
    });
}
template <class T>
void bit_field_insert(Warp& warp, const Inst& inst, u32 mask) {
    constexpr u32 kBits = sizeof(T) * 8;
    const T* a = in<T>(warp, inst.a);
    const T* b = in<T>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    const u32* n = in<u32>(warp, inst.d2);
    map_active<T>(warp, inst.d, mask, [=](u32 i) {
        const u32 from = c[i] & 0xFF;
        const u32 count = n[i] & 0xFF;
        if (from >= kBits || count == 0) return b[i];
        const T ones = count >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
        const T field = static_cast<T>(ones << from);
        return static_cast<T>((b[i] & ~field) | (static_cast<T>(a[i] << from) & field));
    });
}
/// inst.sub 1: .shiftamt
template <class T>
void find_leading(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    map_active<u32>(warp, inst.d, mask, [=, &inst](u32 i) {
        const auto v = static_cast<Unsigned<T>>(a[i] < 0 ? ~a[i] : a[i]);
        if (v == 0) return kAll;
        const u32 at = 63u - static_cast<u32>(__builtin_clzll(v));
        return inst.sub != 0 ? static_cast<u32>(sizeof(T) * 8 - 1) - at : at;
    });
}
/// inst.sub 1: wrap, 0: clamp
void bit_mask(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const bool wrap = inst.sub != 0;
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 from = wrap ? a[i] & 31 : a[i];
        const u32 count = wrap ? b[i] & 31 : b[i];
        const u32 ones = count >= 32 ? kAll : (1u << (count & 31)) - 1;
        return from >= 32 ? 0 : ones << (from & 31);
    });
}
template <class T>
void reverse(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    map_active<T>(warp, inst.d, mask, [=](u32 i) {
        T r = 0;
        for (u32 k = 0; k < sizeof(T) * 8; ++k) r = static_cast<T>(r << 1 | (a[i] >> k & 1));
        return r;
    });
}
template <class T>
void population(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    map_active<u32>(warp, inst.d, mask, [=](u32 i) { return static_cast<u32>(__builtin_popcountll(a[i])); });
}
template <class T>
void leading_zeros(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    map_active<u32>(warp, inst.d, mask, [=](u32 i) {
        return a[i] == 0 ? static_cast<u32>(sizeof(T) * 8)
                         : static_cast<u32>(__builtin_clzll(a[i])) - (64 - static_cast<u32>(sizeof(T) * 8));
    });
}
/// Sum of products of the parts of a, each an X, and as many bytes of b from `First` on; inst.sub bit 0: a is signed, bit 1: b is signed.
template <class X, u32 First>
void dot(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    map_active<u32>(warp, inst.d, mask, [=, &inst](u32 i) {
        u32 r = c[i];
        for (u32 k = 0; k < 4 / sizeof(X); ++k) {
            const X x = static_cast<X>(a[i] >> 8 * sizeof(X) * k);
            const u8 y = static_cast<u8>(b[i] >> 8 * (k + First));
            const s32 p = (inst.sub & 1) != 0 ? static_cast<std::make_signed_t<X>>(x) : s32{x};
            const s32 q = (inst.sub & 2) != 0 ? static_cast<s8>(y) : s32{y};
            r += static_cast<u32>(p * q);
        }
        return r;
    });
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
