// SPDX-License-Identifier: MIT
// Every arithmetic opcode, one at a time, against C++ over corner and random values, with the host's best handlers and with
// the portable ones, under a full and under a partial mask.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class T>
struct Names;
template <>
struct Names<u16> {
    static constexpr const char *reg = ".b16", *mem = ".u16";
};
template <>
struct Names<s16> {
    static constexpr const char *reg = ".b16", *mem = ".u16";
};
template <>
struct Names<u32> {
    static constexpr const char *reg = ".b32", *mem = ".u32";
};
template <>
struct Names<s32> {
    static constexpr const char *reg = ".b32", *mem = ".u32";
};
template <>
struct Names<u64> {
    static constexpr const char *reg = ".b64", *mem = ".u64";
};
template <>
struct Names<s64> {
    static constexpr const char *reg = ".b64", *mem = ".u64";
};
template <>
struct Names<float> {
    static constexpr const char *reg = ".f32", *mem = ".f32";
};
template <>
struct Names<double> {
    static constexpr const char *reg = ".f64", *mem = ".f64";
};

template <class T>
std::vector<T> interesting(std::size_t count, u64 seed) {
    std::vector<T> values;
    if constexpr (std::is_floating_point_v<T>) {
        using L = std::numeric_limits<T>;
        values = {T{0},
                  -T{0},
                  T{1},
                  -T{1},
                  T(0.5),
                  T(1.5),
                  T(2.5),
                  T(-3.5),
                  L::infinity(),
                  -L::infinity(),
                  L::quiet_NaN(),
                  L::max(),
                  L::lowest(),
                  L::min(),
                  L::denorm_min(),
                  -L::min() / 2,
                  T(1) + L::epsilon(),
                  T(16777217.0),
                  T(2147483648.0),
                  T(-2147483649.0),
                  T(1e10),
                  T(3.14159)};
    } else {
        using L = std::numeric_limits<T>;
        values = {T{0}, T{1},  T(-1), L::max(), L::min(), T(L::max() - 1), T(L::min() + 1), T{2},
                  T{3}, T(-7), T{31}, T{32},    T{33},    T{63},           T{64},           T{127}};
    }
    Rng rng(seed);
    while (values.size() < count) {
        if constexpr (sizeof(T) == 8)
            values.push_back(std::bit_cast<T>(rng.next() >> (std::is_floating_point_v<T> ? 0 : rng.below(60))));
        else if constexpr (sizeof(T) == 4)
            values.push_back(std::bit_cast<T>(static_cast<u32>(rng.next()) >> (std::is_floating_point_v<T> ? 0 : rng.below(28))));
        else
            values.push_back(static_cast<T>(rng.next()));
        if constexpr (std::is_floating_point_v<T>) {  // half of them of moderate size, so that sums and roundings matter
            if (values.size() % 2 == 0)
                values.back() = static_cast<T>(static_cast<s32>(rng.next())) / static_cast<T>(65536 << rng.below(16));
        }
    }
    Rng shuffle(seed * 31);
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[shuffle.below(static_cast<u32>(i))]);
    return values;
}

template <class T>
bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (a != a || b != b) return a != a && b != b;
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
    return a == b;
}

constexpr std::size_t kCount = 1024;

/// Runs "code", which computes %d from %a, %b and %c, and compares with `want`. Only threads whose number divided by
/// `every` leaves 0 take part; the others must keep what was in the result.
template <class D, class A, class B, class C>
void check(const std::string& code, const std::function<D(A, B, C)>& want) {
    for (const bool portable : {false, true}) {
        for (const u32 every : {1u, 3u}) {
            TestDevice device(fmt::format(R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry op(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)
{{
    .reg .pred %p<9>;
    .reg .b32 %t<9>;
    .reg .b64 %x<19>;
    .reg {} %d; .reg {} %a; .reg {} %b; .reg {} %c;
    ld.param.u64 %x1, [pd]; ld.param.u64 %x2, [pa]; ld.param.u64 %x3, [pb]; ld.param.u64 %x4, [pc];
    mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mov.u32 %t3, %tid.x;
    mad.lo.u32 %t4, %t1, %t2, %t3;
    mad.wide.u32 %x1, %t4, {}, %x1; mad.wide.u32 %x2, %t4, {}, %x2; mad.wide.u32 %x3, %t4, {}, %x3; mad.wide.u32 %x4, %t4, {}, %x4;
    rem.u32 %t5, %t4, {};
    setp.ne.u32 %p1, %t5, 0;
    @%p1 bra END;
    ld.global{} %a, [%x2]; ld.global{} %b, [%x3]; ld.global{} %c, [%x4];
    {}
    st.global{} [%x1], %d;
END:
    ret;
}}
)",
                                          Names<D>::reg, Names<A>::reg, Names<B>::reg, Names<C>::reg, sizeof(D), sizeof(A), sizeof(B),
                                          sizeof(C), every, Names<A>::mem, Names<B>::mem, Names<C>::mem, code, Names<D>::mem));
            device.options.portable = portable;
            const auto a = interesting<A>(kCount, 1);
            const auto b = interesting<B>(kCount, 2);
            const auto c = interesting<C>(kCount, 3);
            const Addr da = device.put(a), db = device.put(b), dc = device.put(c), dd = device.zeros<D>(kCount);
            device.run("op", {4}, {256}, dd, da, db, dc);
            const auto got = device.get<D>(dd, kCount);
            for (std::size_t i = 0; i < kCount; ++i) {
                const D expected = i % every == 0 ? want(a[i], b[i], c[i]) : D{0};
                ASSERT_TRUE(same(got[i], expected)) << code << " a=" << +a[i] << " b=" << +b[i] << " c=" << +c[i] << ": got " << +got[i]
                                                    << ", want " << +expected << (portable ? " (portable)" : "");
            }
        }
    }
}
template <class T>
void check1(const std::string& opcode, std::function<T(T)> want) {
    check<T, T, T, T>(opcode + " %d, %a;", [=](T a, T, T) { return want(a); });
}
template <class T>
void check2(const std::string& opcode, std::function<T(T, T)> want) {
    check<T, T, T, T>(opcode + " %d, %a, %b;", [=](T a, T b, T) { return want(a, b); });
}
template <class T>
void check3(const std::string& opcode, std::function<T(T, T, T)> want) {
    check<T, T, T, T>(opcode + " %d, %a, %b, %c;", want);
}

/// Unsigned arithmetic of at least 32 bits, so that nothing overflows as an int.
template <class T>
using Calc = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
void integers(const std::string& t, const std::string& bits) {
    using U = Calc<T>;
    check2<T>("add." + t, [](T a, T b) { return static_cast<T>(U(a) + U(b)); });
    check2<T>("sub." + t, [](T a, T b) { return static_cast<T>(U(a) - U(b)); });
    check2<T>("mul.lo." + t, [](T a, T b) { return static_cast<T>(U(a) * U(b)); });
    check2<T>("mul.hi." + t, [](T a, T b) { return static_cast<T>(static_cast<s128>(a) * static_cast<s128>(b) >> sizeof(T) * 8); });
    check3<T>("mad.lo." + t, [](T a, T b, T c) { return static_cast<T>(U(a) * U(b) + U(c)); });
    check3<T>("mad.hi." + t,
              [](T a, T b, T c) { return static_cast<T>(U(static_cast<s128>(a) * static_cast<s128>(b) >> sizeof(T) * 8) + U(c)); });
    check2<T>("min." + t, [](T a, T b) { return std::min(a, b); });
    check2<T>("max." + t, [](T a, T b) { return std::max(a, b); });
    check2<T>("div." + t,
              [](T a, T b) { return b == 0 ? static_cast<T>(-1) : static_cast<T>(static_cast<s128>(a) / static_cast<s128>(b)); });
    check2<T>("rem." + t, [](T a, T b) { return b == 0 ? a : static_cast<T>(static_cast<s128>(a) % static_cast<s128>(b)); });
    check3<T>("sad." + t, [](T a, T b, T c) { return static_cast<T>(U(c) + (a < b ? U(b) - U(a) : U(a) - U(b))); });
    check2<T>("and." + bits, [](T a, T b) { return static_cast<T>(a & b); });
    check2<T>("or." + bits, [](T a, T b) { return static_cast<T>(a | b); });
    check2<T>("xor." + bits, [](T a, T b) { return static_cast<T>(a ^ b); });
    check1<T>("not." + bits, [](T a) { return static_cast<T>(~a); });
    check1<T>("cnot." + bits, [](T a) { return static_cast<T>(a == 0); });
    check<T, T, u32, T>("shr." + t + " %d, %a, %b;",
                        [](T a, u32 b, T) { return static_cast<T>(static_cast<s128>(a) >> std::min(b, 127u)); });
    check<T, T, u32, T>("shl." + bits + " %d, %a, %b;",
                        [](T a, u32 b, T) { return b >= sizeof(T) * 8 ? T{0} : static_cast<T>(U(a) << b); });
    if constexpr (std::is_signed_v<T>) {
        check1<T>("neg." + t, [](T a) { return static_cast<T>(U{0} - U(a)); });
        check1<T>("abs." + t, [](T a) { return a < 0 ? static_cast<T>(U{0} - U(a)) : a; });
    }
    const std::pair<const char*, std::function<bool(T, T)>> compares[] = {{"eq", std::equal_to<T>()}, {"ne", std::not_equal_to<T>()},
                                                                          {"lt", std::less<T>()},     {"le", std::less_equal<T>()},
                                                                          {"gt", std::greater<T>()},  {"ge", std::greater_equal<T>()}};
    for (const auto& [name, holds] : compares) {
        check<u32, T, T, T>(fmt::format("setp.{}.{} %p2, %a, %b; selp.u32 %d, 7, 9, %p2;", name, t),
                            [&holds = holds](T a, T b, T) { return holds(a, b) ? 7u : 9u; });
    }
    check<u32, T, T, T>(fmt::format("setp.gt.{0} %p4, %c, %a; setp.lt.or.{0} %p2|%p3, %a, %b, !%p4; selp.u32 %t6, 1, 0, %p2; selp.u32 %t7, "
                                    "2, 0, %p3; or.b32 %d, %t6, %t7;",
                                    t),
                        [](T a, T b, T c) { return (a < b || !(c > a) ? 1u : 0u) | (!(a < b) || !(c > a) ? 2u : 0u); });
}

TEST(PtxOpcodes, Integers16) {
    integers<u16>("u16", "b16");
    integers<s16>("s16", "b16");
}
TEST(PtxOpcodes, Integers32) {
    integers<u32>("u32", "b32");
    integers<s32>("s32", "b32");
}
TEST(PtxOpcodes, Integers64) {
    integers<u64>("u64", "b64");
    integers<s64>("s64", "b64");
}

TEST(PtxOpcodes, WideProducts) {
    check<u32, u16, u16, u32>("mul.wide.u16 %d, %a, %b;", [](u16 a, u16 b, u32) { return u32{a} * b; });
    check<s32, s16, s16, s32>("mul.wide.s16 %d, %a, %b;", [](s16 a, s16 b, s32) { return s32{a} * b; });
    check<u64, u32, u32, u64>("mad.wide.u32 %d, %a, %b, %c;", [](u32 a, u32 b, u64 c) { return u64{a} * b + c; });
    check<s64, s32, s32, s64>("mad.wide.s32 %d, %a, %b, %c;",
                              [](s32 a, s32 b, s64 c) { return static_cast<s64>(static_cast<u64>(s64{a} * b) + static_cast<u64>(c)); });
    check2<s32>("mul24.lo.s32", [](s32 a, s32 b) { return static_cast<s32>(s64{a << 8 >> 8} * (b << 8 >> 8)); });
    check2<u32>("mul24.hi.u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a & 0xFFFFFF} * (b & 0xFFFFFF) >> 16); });
    check2<s32>("add.sat.s32", [](s32 a, s32 b) { return static_cast<s32>(std::clamp<s64>(s64{a} + b, INT32_MIN, INT32_MAX)); });
    check2<s32>("sub.sat.s32", [](s32 a, s32 b) { return static_cast<s32>(std::clamp<s64>(s64{a} - b, INT32_MIN, INT32_MAX)); });
}

TEST(PtxOpcodes, CarryChains) {
    // 128-bit sums, differences and products out of 64- and 32-bit pieces.
    check<u64, u64, u64, u64>("add.cc.u64 %x5, %a, %b; addc.u64 %d, %c, %a;",
                              [](u64 a, u64 b, u64 c) { return c + a + (a + b < a ? 1 : 0); });
    check<u64, u64, u64, u64>("sub.cc.u64 %x5, %a, %b; subc.u64 %d, %c, %a;", [](u64 a, u64 b, u64 c) { return c - a - (a < b ? 1 : 0); });
    check<u32, u32, u32, u32>("mad.lo.cc.u32 %t6, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;", [](u32 a, u32 b, u32 c) {
        return static_cast<u32>((u64{a} * b >> 32) + c + ((u64{static_cast<u32>(a * b)} + c) >> 32));
    });
    check<u32, u32, u32, u32>("add.cc.u32 %t6, %a, %b; addc.cc.u32 %t7, %a, %c; addc.u32 %d, 0, 0;",
                              [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} + c + ((u64{a} + b) >> 32)) >> 32); });
}

TEST(PtxOpcodes, Bits) {
    check1<u32>("popc.b32", [](u32 a) { return static_cast<u32>(std::popcount(a)); });
    check1<u32>("clz.b32", [](u32 a) { return static_cast<u32>(std::countl_zero(a)); });
    check<u32, u64, u64, u64>("popc.b64 %d, %a;", [](u64 a, u64, u64) { return static_cast<u32>(std::popcount(a)); });
    check<u32, u64, u64, u64>("clz.b64 %d, %a;", [](u64 a, u64, u64) { return static_cast<u32>(std::countl_zero(a)); });
    check<u32, u32, u32, u32>("bfind.u32 %d, %a;",
                              [](u32 a, u32, u32) { return a == 0 ? ~0u : 31u - static_cast<u32>(std::countl_zero(a)); });
    check<u32, s32, u32, u32>("bfind.s32 %d, %a;", [](s32 a, u32, u32) {
        const u32 v = static_cast<u32>(a < 0 ? ~a : a);
        return v == 0 ? ~0u : 31u - static_cast<u32>(std::countl_zero(v));
    });
    check<u32, u64, u32, u32>("bfind.shiftamt.u64 %d, %a;",
                              [](u64 a, u32, u32) { return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)); });
    check1<u32>("brev.b32", [](u32 a) {
        u32 r = 0;
        for (u32 k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
        return r;
    });
    check1<u64>("brev.b64", [](u64 a) {
        u64 r = 0;
        for (u32 k = 0; k < 64; ++k) r |= (a >> k & 1) << (63 - k);
        return r;
    });
    check3<u32>("bfe.u32", [](u32 a, u32 b, u32 c) {
        b &= 255, c &= 255;
        u32 r = 0;
        for (u32 k = 0; k < 32 && k < c; ++k) r |= (b + k < 32 ? a >> (b + k) & 1 : 0) << k;
        return r;
    });
    check3<s32>("bfe.s32", [](s32 a, s32 b, s32 c) {
        b &= 255, c &= 255;
        u32 r = 0;
        const int top = std::min(b + c - 1, 31);
        const u32 sign = c == 0 ? 0 : static_cast<u32>(a) >> top & 1;
        for (int k = 0; k < 32; ++k) r |= (k < c && b + k < 32 ? static_cast<u32>(a) >> (b + k) & 1 : sign) << k;
        return static_cast<s32>(r);
    });
    check<u32, u32, u32, u32>("and.b32 %t6, %c, 31; shr.u32 %t7, %c, 8; and.b32 %t7, %t7, 63; bfi.b32 %d, %a, %b, %t6, %t7;",
                              [](u32 a, u32 b, u32 c) {
                                  for (u32 k = 0; k < (c >> 8 & 63) && k + (c & 31) < 32; ++k) {
                                      const u32 at = k + (c & 31);
                                      b = (b & ~(1u << at)) | (a >> k & 1) << at;
                                  }
                                  return b;
                              });
    check3<u32>("shf.l.wrap.b32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{b} << 32 | a) << (c & 31) >> 32); });
    check3<u32>("shf.r.wrap.b32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{b} << 32 | a) >> (c & 31)); });
    check3<u32>("shf.r.clamp.b32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{b} << 32 | a) >> std::min(c, 32u)); });
    check3<u32>("shf.l.clamp.b32", [](u32 a, u32 b, u32 c) { return c >= 32 ? a : static_cast<u32>((u64{b} << 32 | a) << c >> 32); });
    check3<u32>("prmt.b32", [](u32 a, u32 b, u32 c) {
        u32 r = 0;
        for (u32 k = 0; k < 4; ++k) {
            const u32 n = c >> 4 * k & 15;
            u32 byte = static_cast<u32>((u64{b} << 32 | a) >> 8 * (n & 7)) & 255;
            if (n & 8) byte = byte & 128 ? 255 : 0;
            r |= byte << 8 * k;
        }
        return r;
    });
    check2<u32>("bmsk.clamp.b32", [](u32 a, u32 b) {
        u64 r = 0;
        for (u64 k = a; k < u64{a} + b && k < 32; ++k) r |= u64{1} << k;
        return static_cast<u32>(r);
    });
    for (const u32 table : {0xE8u, 0x96u, 0xCAu, 0x01u, 0x80u, 0x3Cu}) {
        check<u32, u32, u32, u32>(fmt::format("lop3.b32 %d, %a, %b, %c, {};", table), [=](u32 a, u32 b, u32 c) {
            u32 r = 0;
            for (u32 k = 0; k < 32; ++k) r |= (table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k;
            return r;
        });
    }
    check3<u32>("dp4a.u32.s32", [](u32 a, u32 b, u32 c) {
        for (u32 k = 0; k < 4; ++k) c += (a >> 8 * k & 255) * static_cast<u32>(s32{static_cast<s8>(b >> 8 * k)});
        return c;
    });
    check<u32, s32, s32, s32>("set.lt.u32.s32 %d, %a, %b;", [](s32 a, s32 b, s32) { return a < b ? ~0u : 0u; });
    check<u32, u32, u32, s32>("slct.u32.s32 %d, %a, %b, %c;", [](u32 a, u32 b, s32 c) { return c >= 0 ? a : b; });
}

TEST(PtxOpcodes, RareProductsAndBits) {
    const auto low24 = [](s32 a) { return s64{static_cast<s32>(static_cast<u32>(a) << 8) >> 8}; };
    const auto clamp = [](s64 v) { return static_cast<s32>(std::clamp<s64>(v, INT32_MIN, INT32_MAX)); };
    check3<u32>("mad24.hi.u32", [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a & 0xFFFFFF} * (b & 0xFFFFFF) >> 16) + c); });
    check3<s32>("mad24.hi.s32",
                [&](s32 a, s32 b, s32 c) { return static_cast<s32>(static_cast<u32>(low24(a) * low24(b) >> 16) + static_cast<u32>(c)); });
    check3<s32>("mad24.hi.sat.s32", [&](s32 a, s32 b, s32 c) { return clamp(s64{static_cast<s32>(low24(a) * low24(b) >> 16)} + c); });
    check3<s32>("mad.hi.sat.s32", [&](s32 a, s32 b, s32 c) { return clamp((s64{a} * b >> 32) + c); });
    for (const bool wrap : {false, true}) {
        const auto extend = [=](u32 a, u32 n, bool sign) {
            if (n >= 32 && !wrap) return a;
            n &= 31;
            u32 r = 0;
            for (u32 k = 0; k < 32; ++k) r |= (k < n ? a >> k & 1 : sign && n > 0 ? a >> (n - 1) & 1 : 0) << k;
            return r;
        };
        const std::string mode = wrap ? "szext.wrap" : "szext.clamp";
        check<u32, u32, u32, u32>(mode + ".u32 %d, %a, %b;", [=](u32 a, u32 b, u32) { return extend(a, b, false); });
        check<u32, u32, u32, u32>(mode + ".s32 %d, %a, %b;", [=](u32 a, u32 b, u32) { return extend(a, b, true); });
    }
    check<u32, u32, u32, s32>("rem.s32 %c, %c, 20; fns.b32 %d, %a, %b, %c;", [](u32 a, u32 b, s32 c) {
        c %= 20;
        if (c == 0) return b < 32 && (a >> b & 1) != 0 ? b : ~0u;
        for (s64 at = b; at >= 0 && at < 32; at += c < 0 ? -1 : 1) {
            if ((a >> at & 1) == 0) continue;
            c += c < 0 ? 1 : -1;
            if (c == 0) return static_cast<u32>(at);
        }
        return ~0u;
    });
    check<u32, u32, u32, u32>(
        "setp.gt.u32 %p2, %a, %c; lop3.or.b32 %t6|%p3, %a, %b, %c, 0x80, %p2; lop3.and.b32 _|%p4, %a, %b, %c, 0x80, "
        "!%p2; selp.u32 %t7, 1, 0, %p3; selp.u32 %t8, 2, %t7, %p4; xor.b32 %d, %t6, %t8;",
        [](u32 a, u32 b, u32 c) {
            const u32 r = a & b & c;
            return r ^ (r != 0 && !(a > c) ? 2u : r != 0 || a > c ? 1u : 0u);
        });
}

/// vadd4 and so on of parts of X, extended as A and B say.
template <class D, class A, class B>
u32 parts(u32 a, u32 b, bool saturate, const std::function<s32(s32, s32)>& op) {
    u32 r = 0;
    for (u32 at = 0; at < 32; at += 8 * sizeof(A)) {
        s32 v = op(static_cast<A>(a >> at), static_cast<B>(b >> at));
        if (saturate) v = std::clamp<s32>(v, std::numeric_limits<D>::min(), std::numeric_limits<D>::max());
        r |= (static_cast<u32>(v) & ((1u << 8 * sizeof(A)) - 1)) << at;
    }
    return r;
}
TEST(PtxOpcodes, Video) {
    using u8 = std::uint8_t;
    const auto difference = [](s32 a, s32 b) { return std::abs(a - b); };
    const auto least = [](s32 a, s32 b) { return std::min(a, b); };
    check3<u32>("vabsdiff4.u32.u32.u32", [&](u32 a, u32 b, u32) { return parts<u8, u8, u8>(a, b, false, difference); });
    check3<u32>("vabsdiff4.s32.s32.s32.sat", [&](u32 a, u32 b, u32) { return parts<s8, s8, s8>(a, b, true, difference); });
    check3<u32>("vabsdiff2.u32.s32.u32", [&](u32 a, u32 b, u32) { return parts<u16, s16, u16>(a, b, false, difference); });
    check3<u32>("vadd4.u32.u32.s32.sat", [](u32 a, u32 b, u32) { return parts<u8, u8, s8>(a, b, true, std::plus<>()); });
    check3<u32>("vsub2.s32.s32.s32", [](u32 a, u32 b, u32) { return parts<s16, s16, s16>(a, b, false, std::minus<>()); });
    check3<u32>("vmin4.s32.s32.s32", [&](u32 a, u32 b, u32) { return parts<s8, s8, s8>(a, b, false, least); });
    check3<u32>("vmax2.u32.u32.u32",
                [](u32 a, u32 b, u32) { return parts<u16, u16, u16>(a, b, false, [](s32 x, s32 y) { return std::max(x, y); }); });
    check3<u32>("vset4.u32.s32.lt", [](u32 a, u32 b, u32) { return parts<u8, u8, s8>(a, b, false, std::less<>()); });
    check3<u32>("vabsdiff4.u32.u32.u32.add", [](u32 a, u32 b, u32 c) {
        for (u32 at = 0; at < 32; at += 8) c += static_cast<u32>(std::abs(s32{static_cast<u8>(a >> at)} - s32{static_cast<u8>(b >> at)}));
        return c;
    });
    check3<u32>("cvt.pack.sat.s8.s32.b32", [](u32 a, u32 b, u32 c) {
        const auto one = [](u32 v) { return static_cast<u32>(std::clamp(static_cast<s32>(v), -128, 127)) & 255; };
        return c << 16 | one(a) << 8 | one(b);
    });
    check2<u32>("cvt.pack.sat.u16.s32", [](u32 a, u32 b) {
        const auto one = [](u32 v) { return static_cast<u32>(std::clamp(static_cast<s32>(v), 0, 65535)); };
        return one(a) << 16 | one(b);
    });
}

template <class T>
T flushed(T v) {
    return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(T{0}, v) : v;
}
/// C++ with the rounding direction set while it computes; operands are volatile so that nothing moves out.
template <class T>
T rounded(int mode, const std::function<T()>& compute) {
    std::fesetround(mode);
    const volatile T r = compute();
    std::fesetround(FE_TONEAREST);
    return r;
}

template <class T>
void floats(const std::string& t) {
    const std::pair<const char*, int> modes[] = {{".rn", FE_TONEAREST}, {".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}};
    for (const auto& [name, mode] : modes) {
        const std::string dot = name + std::string(".") + t;
        check2<T>("add" + dot, [mode = mode](T a, T b) {
            volatile T x = a, y = b;
            return rounded<T>(mode, [&] { return x + y; });
        });
        check2<T>("sub" + dot, [mode = mode](T a, T b) {
            volatile T x = a, y = b;
            return rounded<T>(mode, [&] { return x - y; });
        });
        check2<T>("mul" + dot, [mode = mode](T a, T b) {
            volatile T x = a, y = b;
            return rounded<T>(mode, [&] { return x * y; });
        });
        check2<T>("div" + dot, [mode = mode](T a, T b) {
            volatile T x = a, y = b;
            return rounded<T>(mode, [&] { return x / y; });
        });
        check3<T>("fma" + dot, [mode = mode](T a, T b, T c) {
            volatile T x = a, y = b, z = c;
            return rounded<T>(mode, [&] { return std::fma(T(x), T(y), T(z)); });
        });
        check1<T>("sqrt" + dot, [mode = mode](T a) {
            volatile T x = a;
            return rounded<T>(mode, [&] { return std::sqrt(T(x)); });
        });
        check1<T>("rcp" + dot, [mode = mode](T a) {
            volatile T x = a;
            return rounded<T>(mode, [&] { return T{1} / x; });
        });
    }
    const auto least = [](T a, T b) { return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : std::min(a, b); };
    const auto most = [](T a, T b) { return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : std::max(a, b); };
    check2<T>("min." + t, least);
    check2<T>("max." + t, most);
    check1<T>("neg." + t, [](T a) { return -a; });
    check1<T>("abs." + t, [](T a) { return std::abs(a); });
    check2<T>("copysign." + t, [](T a, T b) { return std::copysign(b, a); });
    const std::pair<const char*, std::function<bool(T, T)>> compares[] = {{"eq", [](T a, T b) { return a == b; }},
                                                                          {"ne", [](T a, T b) { return a < b || a > b; }},
                                                                          {"lt", [](T a, T b) { return a < b; }},
                                                                          {"le", [](T a, T b) { return a <= b; }},
                                                                          {"gt", [](T a, T b) { return a > b; }},
                                                                          {"ge", [](T a, T b) { return a >= b; }},
                                                                          {"equ", [](T a, T b) { return !(a < b || a > b); }},
                                                                          {"neu", [](T a, T b) { return !(a == b); }},
                                                                          {"ltu", [](T a, T b) { return !(a >= b); }},
                                                                          {"leu", [](T a, T b) { return !(a > b); }},
                                                                          {"gtu", [](T a, T b) { return !(a <= b); }},
                                                                          {"geu", [](T a, T b) { return !(a < b); }},
                                                                          {"num", [](T a, T b) { return a == a && b == b; }},
                                                                          {"nan", [](T a, T b) { return a != a || b != b; }}};
    for (const auto& [name, holds] : compares) {
        check<u32, T, T, T>(fmt::format("setp.{}.{} %p2, %a, %b; selp.u32 %d, 7, 9, %p2;", name, t),
                            [&holds = holds](T a, T b, T) { return holds(a, b) ? 7u : 9u; });
    }
    check<u32, T, T, T>(fmt::format("testp.subnormal.{} %p2, %a; selp.u32 %d, 7, 9, %p2;", t),
                        [](T a, T, T) { return std::fpclassify(a) == FP_SUBNORMAL ? 7u : 9u; });
}
TEST(PtxOpcodes, Singles) {
    floats<float>("f32");
    check2<float>("add.ftz.f32", [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
    check2<float>("mul.ftz.f32", [](float a, float b) { return flushed(flushed(a) * flushed(b)); });
    check3<float>("fma.rn.ftz.f32", [](float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), flushed(c))); });
    check3<float>("fma.rn.sat.f32", [](float a, float b, float c) {
        const float r = std::fma(a, b, c);
        return r > 0 ? std::min(r, 1.0f) : 0.0f;
    });
    check<u32, float, float, float>("setp.lt.ftz.f32 %p2, %a, %b; selp.u32 %d, 7, 9, %p2;",
                                    [](float a, float b, float) { return flushed(a) < flushed(b) ? 7u : 9u; });
}
TEST(PtxOpcodes, Doubles) {
    floats<double>("f64");
}

TEST(PtxOpcodes, ConversionsBetweenIntegers) {
    check<u64, u32, u32, u32>("cvt.u64.u32 %d, %a;", [](u32 a, u32, u32) { return u64{a}; });
    check<s64, s32, u32, u32>("cvt.s64.s32 %d, %a;", [](s32 a, u32, u32) { return s64{a}; });
    check<u32, u64, u32, u32>("cvt.u32.u64 %d, %a;", [](u64 a, u32, u32) { return static_cast<u32>(a); });
    check<s32, u16, u32, u32>("cvt.s32.s8 %d, %a;", [](u16 a, u32, u32) { return s32{static_cast<s8>(a)}; });
    check<u32, u16, u32, u32>("cvt.u32.u8 %d, %a;", [](u16 a, u32, u32) { return u32{static_cast<std::uint8_t>(a)}; });
    check<u16, u32, u32, u32>("cvt.u16.u32 %d, %a;", [](u32 a, u32, u32) { return static_cast<u16>(a); });
    check<u16, u32, u32, u32>("cvt.s8.s32 %d, %a;", [](u32 a, u32, u32) { return static_cast<u16>(static_cast<s8>(a)); });
    check<u32, u32, u32, u32>("cvt.u8.u32 %d, %a;", [](u32 a, u32, u32) { return a & 255; });
    check<u32, s32, u32, u32>("cvt.sat.u8.s32 %d, %a;", [](s32 a, u32, u32) { return static_cast<u32>(std::clamp(a, 0, 255)); });
    check<s32, s64, u32, u32>("cvt.sat.s32.s64 %d, %a;",
                              [](s64 a, u32, u32) { return static_cast<s32>(std::clamp<s64>(a, INT32_MIN, INT32_MAX)); });
    check<s32, u64, u32, u32>("cvt.sat.s32.u64 %d, %a;", [](u64 a, u32, u32) { return static_cast<s32>(std::min<u64>(a, INT32_MAX)); });
}

template <class F, class I>
I to_integer(F v, const std::function<F(F)>& round) {
    if (v != v) return sizeof(F) == 8 || sizeof(I) == 8 ? static_cast<I>(u64{1} << (sizeof(I) * 8 - 1)) : I{0};
    const F whole = round(v);
    if (whole <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
    if (whole >= static_cast<F>(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
    return static_cast<I>(whole);
}
template <class F, class I>
void to_and_fro(const std::string& f, const std::string& i) {
    const std::pair<const char*, std::function<F(F)>> rounds[] = {{"rni", [](F v) { return std::nearbyint(v); }},
                                                                  {"rzi", [](F v) { return std::trunc(v); }},
                                                                  {"rmi", [](F v) { return std::floor(v); }},
                                                                  {"rpi", [](F v) { return std::ceil(v); }}};
    for (const auto& [name, round] : rounds) {
        check<I, F, F, F>(fmt::format("cvt.{}.{}.{} %d, %a;", name, i, f),
                          [&round = round](F a, F, F) { return to_integer<F, I>(a, round); });
    }
    const std::pair<const char*, int> modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
    for (const auto& [name, mode] : modes) {
        check<F, I, I, I>(fmt::format("cvt.{}.{}.{} %d, %a;", name, f, i), [mode = mode](I a, I, I) {
            volatile I x = a;
            return a == 0 ? F{0} : rounded<F>(mode, [&] { return static_cast<F>(x); });  // clang's own sequences may make -0 of 0
        });
    }
}
TEST(PtxOpcodes, ConversionsBetweenIntegersAndFloats) {
    to_and_fro<float, s32>("f32", "s32");
    to_and_fro<float, u32>("f32", "u32");
    to_and_fro<float, s64>("f32", "s64");
    to_and_fro<float, u64>("f32", "u64");
    to_and_fro<double, s32>("f64", "s32");
    to_and_fro<double, u32>("f64", "u32");
    to_and_fro<double, s64>("f64", "s64");
    to_and_fro<double, u64>("f64", "u64");
    to_and_fro<float, s16>("f32", "s16");
}
TEST(PtxOpcodes, ConversionsBetweenFloats) {
    check<double, float, float, float>("cvt.f64.f32 %d, %a;", [](float a, float, float) { return double{a}; });
    const std::pair<const char*, int> modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
    for (const auto& [name, mode] : modes) {
        check<float, double, double, double>(fmt::format("cvt.{}.f32.f64 %d, %a;", name), [mode = mode](double a, double, double) {
            volatile double x = a;
            return rounded<float>(mode, [&] { return static_cast<float>(x); });
        });
    }
    check1<float>("cvt.rni.f32.f32", [](float a) { return std::nearbyint(a); });
    check1<float>("cvt.rzi.f32.f32", [](float a) { return std::trunc(a); });
    check1<double>("cvt.rmi.f64.f64", [](double a) { return std::floor(a); });
    check1<double>("cvt.rpi.f64.f64", [](double a) { return std::ceil(a); });
    check1<float>("cvt.sat.f32.f32", [](float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; });
    // Half precision there and back loses nothing that half precision has.
    check<u16, u16, u16, u16>("cvt.f32.f16 %t6, %a; cvt.rn.f16.f32 %d, %t6;",
                              [](u16 a, u16, u16) { return (a & 0x7C00) == 0x7C00 && (a & 0x3FF) != 0 ? u16{0x7FFF} : a; });
}

TEST(PtxOpcodes, MovesAndPacking) {
    check<u64, u32, u32, u32>("mov.b64 %d, {%a, %b};", [](u32 a, u32 b, u32) { return u64{b} << 32 | a; });
    check<u32, u64, u32, u32>("mov.b64 {_, %d}, %a;", [](u64 a, u32, u32) { return static_cast<u32>(a >> 32); });
    check<u32, u16, u16, u32>("mov.b32 %d, {%a, %b};", [](u16 a, u16 b, u32) { return u32{b} << 16 | a; });
    check<u32, u64, u32, u32>("{ .reg .b16 %h<4>; mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b32 %d, {%h3, %h0}; }",
                              [](u64 a, u32, u32) { return static_cast<u32>((a & 0xFFFF) << 16 | a >> 48); });
    check<u64, u64, u64, u64>("{ .reg .b128 %q<2>; mov.b128 %q0, {%a, %b}; mov.b128 %q1, %q0; mov.b128 {_, %d}, %q1; }",
                              [](u64, u64 b, u64) { return b; });
    check<float, u32, u32, u32>("mov.b32 %d, %a;", [](u32 a, u32, u32) { return std::bit_cast<float>(a); });
    check<u32, u32, u32, u32>(
        "setp.gt.u32 %p2, %a, %b; mov.pred %p3, %p2; not.pred %p4, %p3; and.pred %p5, %p2, %p4; or.pred %p6, %p5, %p3; xor.pred %p7, %p6, "
        "%p4; selp.b32 %d, %a, %b, !%p6;",
        [](u32 a, u32 b, u32) { return a > b ? b : a; });
}

}  // namespace
}  // namespace mergelane::ptx
