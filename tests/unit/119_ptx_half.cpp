// SPDX-License-Identifier: MIT
// f16, bf16, tf32, e4m3 and e5m2 against exact integer arithmetic that is rounded once: bit for bit, all 65,536 values of unary operations
// and conversions, with the host's best handlers and with the portable ones, under a full and under a partial mask.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "ptx_helpers.hpp"

namespace mergelane::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

// ---- exact numbers ----

/// size * 2^exponent with a sign, or NaN, or infinite.
struct Exact {
    u128 size = 0;
    int exponent = 0;
    bool negative = false;
    bool nan = false;
    bool infinite = false;
    bool zero() const { return size == 0 && !nan && !infinite; }
};
struct Layout {
    int exponent_bits, fraction_bits;
    bool has_infinity = true;
    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    u32 sign() const { return 1u << (exponent_bits + fraction_bits); }
    u32 infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
    u32 largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
    u32 nan() const { return sign() - 1; }
};
constexpr Layout kF16{5, 10}, kBf16{8, 7}, kF32{8, 23}, kTf32{8, 10}, kE4m3{4, 3, false}, kE5m2{5, 2};

Exact value_of(u32 bits, const Layout& f) {
    Exact x;
    x.negative = (bits & f.sign()) != 0;
    const u32 code = bits & (f.sign() - 1);
    const int field = static_cast<int>(code >> f.fraction_bits);
    const u32 fraction = code & ((1u << f.fraction_bits) - 1);
    if (f.has_infinity ? code > f.infinity() : code == f.nan()) return {.nan = true};
    x.infinite = f.has_infinity && code == f.infinity();
    if (x.infinite) return x;
    x.size = field == 0 ? fraction : fraction | 1u << f.fraction_bits;
    x.exponent = std::max(field, 1) - f.bias() - f.fraction_bits;
    return x;
}
Exact value_of(double v) {
    Exact x;
    x.nan = std::isnan(v);
    x.infinite = std::isinf(v);
    x.negative = std::signbit(v);
    if (x.nan || x.infinite || v == 0) return x;
    x.size = static_cast<u128>(std::ldexp(std::frexp(std::abs(v), &x.exponent), 53));
    x.exponent -= 53;
    return x;
}
int digits(u128 v) {
    int n = 0;
    for (; v != 0; v >>= 1) ++n;
    return n;
}

enum class Mode { nearest, away, zero, down, up };
u32 round_to(const Exact& x, const Layout& f, Mode mode = Mode::nearest, bool finite = false) {
    if (x.nan) return f.nan();
    const u32 sign = x.negative ? f.sign() : 0;
    const u32 beyond = finite || !f.has_infinity ? f.largest() : f.infinity();
    if (x.infinite) return sign | beyond;
    if (x.size == 0) return sign;
    const int unit = std::max(x.exponent + digits(x.size) - (f.fraction_bits + 1), 1 - f.bias() - f.fraction_bits);
    u128 whole = x.size;
    int rest = 0;  // 0: none, 1: less than half, 2: half, 3: more
    const int drop = unit - x.exponent;
    if (drop > 0) {
        const int n = std::min(drop, 126);
        const u128 low = x.size & ((u128{1} << n) - 1);
        const u128 half = u128{1} << (n - 1);
        whole = x.size >> n;
        rest = low == 0 ? 0 : drop > 126 || low < half ? 1 : low == half ? 2 : 3;
    } else {
        whole <<= -drop;
    }
    const bool outward = mode == Mode::nearest ? rest == 3 || (rest == 2 && (whole & 1) != 0)
                         : mode == Mode::away  ? rest >= 2
                         : mode == Mode::up    ? rest != 0 && !x.negative
                         : mode == Mode::down  ? rest != 0 && x.negative
                                               : false;
    whole += outward ? 1 : 0;
    const u128 one = u128{1} << f.fraction_bits;
    // Consecutive codes are consecutive numbers, also from one exponent to the next.
    const u128 code = whole < one ? whole : (static_cast<u128>(unit + f.fraction_bits + f.bias()) << f.fraction_bits) + (whole - one);
    if (code <= f.largest()) return sign | static_cast<u32>(code);
    const bool inward = mode == Mode::zero || (mode == Mode::down && !x.negative) || (mode == Mode::up && x.negative);
    return sign | (inward ? f.largest() : beyond);
}

Exact product(const Exact& a, const Exact& b) {
    Exact x;
    x.negative = a.negative != b.negative;
    x.nan = a.nan || b.nan || (a.infinite && b.zero()) || (b.infinite && a.zero());
    x.infinite = !x.nan && (a.infinite || b.infinite);
    x.size = a.size * b.size;
    x.exponent = a.exponent + b.exponent;
    return x;
}
Exact sum(Exact a, Exact b) {
    if (a.nan || b.nan || (a.infinite && b.infinite && a.negative != b.negative)) return {.nan = true};
    if (a.infinite || b.infinite) return a.infinite ? a : b;
    if (a.zero() && b.zero()) return {.negative = a.negative && b.negative};
    if (a.zero() || b.zero()) return a.zero() ? b : a;
    if (a.exponent < b.exponent) std::swap(a, b);
    if (a.exponent - b.exponent > 80) {  // too small to matter, except that it is there
        b.size = 1;
        b.exponent = a.exponent - 80;
    }
    const s128 x = static_cast<s128>(a.size) << (a.exponent - b.exponent);
    const s128 total = (a.negative ? -x : x) + (b.negative ? -static_cast<s128>(b.size) : static_cast<s128>(b.size));
    return {.size = static_cast<u128>(total < 0 ? -total : total), .exponent = b.exponent, .negative = total < 0};
}

// ---- running ----

constexpr u32 kCount = 1 << 17;
struct Inputs {
    std::vector<u64> a, b, c;
};

/// Runs "code", which computes %hd (16 bits), %rd (32) or %xd (64) from %ha, %ra, %fa, %xa, %wa (16, 32, f32, 64 bits, f64) and the same of
/// b and c; every thread, or every third one.
std::vector<u64> run(const std::string& code, int bits, const Inputs& in, bool portable, u32 every) {
    const char* widen = bits == 16 ? "cvt.u64.u16 %xd, %hd;" : bits == 32 ? "cvt.u64.u32 %xd, %rd;" : "";
    TestDevice device(fmt::format(R"(
.version 8.6
.target sm_90
.address_size 64
.visible .entry op(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)
{{
    .reg .pred %p<9>;
    .reg .b16 %ha, %hb, %hc, %hd, %h<9>;
    .reg .b32 %ra, %rb, %rc, %rd, %r<9>;
    .reg .f32 %fa, %fb, %fc;
    .reg .b64 %xa, %xb, %xc, %xd, %x<9>;
    .reg .f64 %wa;
    ld.param.u64 %x1, [pd]; ld.param.u64 %x2, [pa]; ld.param.u64 %x3, [pb]; ld.param.u64 %x4, [pc];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mad.wide.u32 %x1, %r4, 8, %x1; mad.wide.u32 %x2, %r4, 8, %x2; mad.wide.u32 %x3, %r4, 8, %x3; mad.wide.u32 %x4, %r4, 8, %x4;
    rem.u32 %r5, %r4, {};
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra END;
    ld.global.u64 %xa, [%x2]; ld.global.u64 %xb, [%x3]; ld.global.u64 %xc, [%x4];
    mov.b64 %wa, %xa;
    cvt.u32.u64 %ra, %xa; cvt.u32.u64 %rb, %xb; cvt.u32.u64 %rc, %xc;
    mov.b32 %fa, %ra; mov.b32 %fb, %rb; mov.b32 %fc, %rc;
    cvt.u16.u32 %ha, %ra; cvt.u16.u32 %hb, %rb; cvt.u16.u32 %hc, %rc;
    {}
    {}
    st.global.u64 [%x1], %xd;
END:
    ret;
}}
)",
                                  every, code, widen));
    device.options.portable = portable;
    const Addr a = device.put(in.a), b = device.put(in.b), c = device.put(in.c), d = device.zeros<u64>(in.a.size());
    device.run("op", {static_cast<u32>(in.a.size() / 256)}, {256}, d, a, b, c);
    return device.get<u64>(d, in.a.size());
}
using Want = std::function<u64(u64, u64, u64)>;
void check(const std::string& code, int bits, const Inputs& in, const Want& want) {
    std::vector<u64> wanted(in.a.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = want(in.a[i], in.b[i], in.c[i]);
    for (const bool portable : {false, true}) {
        for (const u32 every : {1u, 3u}) {
            const auto got = run(code, bits, in, portable, every);
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i], i % every == 0 ? wanted[i] : 0)
                    << fmt::format("{} a={:#x} b={:#x} c={:#x}: got {:#x}, want {:#x}{}", code, in.a[i], in.b[i], in.c[i], got[i],
                                   wanted[i], portable ? " (portable)" : "");
            }
        }
    }
}

/// 16-bit numbers: every one as a; b and c special, related to a, or random.
const Inputs& halves() {
    static const Inputs made = [] {
        const u16 special[] = {0,      0x8000, 1,      0x8001, 0x3FF,  0x400,  0x8400, 0x7F,   0x80,   0x3C00, 0xBC00, 0x3F80, 0xBF80,
                               0x3F81, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7F7F, 0x7F80, 0xFF80, 0x7FFF, 0xFE01, 0x7FC0, 0x5640, 0x4000};
        Inputs in;
        Rng rng(1);
        for (u32 i = 0; i < kCount; ++i) {
            u64 a = i & 0xFFFF;
            u64 b = rng.next() & 0xFFFF;
            u64 c = rng.next() & 0xFFFF;
            switch (i >> 16 == 0 ? 9 : rng.below(10)) {
                case 0: b = special[rng.below(std::size(special))]; break;
                case 1: b = a ^ (rng.next() & 0x800F); break;  // nearly a
                case 2: c = special[rng.below(std::size(special))]; break;
                case 3:
                case 4:  // few digits: the exact results are often half way between two numbers
                    a &= 0xFFF0 << rng.below(4), b &= 0xFFC0 << rng.below(4);
                    break;
                case 5:
                    c = round_to(product(value_of(static_cast<u32>(a), kF16), value_of(static_cast<u32>(b), kF16)), kF16) ^ 0x8001;
                    break;
                case 6:
                    c = round_to(product(value_of(static_cast<u32>(a), kBf16), value_of(static_cast<u32>(b), kBf16)), kBf16) ^ 0x8000;
                    break;
                case 7: c &= 0x80FF; break;  // small
                default: break;
            }
            in.a.push_back(a);
            in.b.push_back(b);
            in.c.push_back(c);
        }
        return in;
    }();
    return made;
}
/// The same, in pairs: each with one from elsewhere in its upper half.
const Inputs& pairs() {
    static const Inputs made = [] {
        Inputs in = halves();
        for (u32 i = 0; i < kCount; ++i) {
            const u32 other = (i * 77773u + 5) % kCount;
            in.a[i] |= halves().a[other] << 16;
            in.b[i] |= halves().b[other] << 16;
            in.c[i] |= halves().c[other] << 16;
        }
        return in;
    }();
    return made;
}

/// Each 16-bit number once.
const Inputs& every_half() {
    static const Inputs made = [] {
        Inputs in = halves();
        for (std::vector<u64>* list : {&in.a, &in.b, &in.c}) list->resize(65536);
        return in;
    }();
    return made;
}

using Half = std::function<u32(u32, u32, u32)>;
/// "op" on one and, with x2, on two numbers.
void check_half(const std::string& op, const std::string& type, u32 operands, const Half& want) {
    const char* sources[] = {"", "%{0}a", "%{0}a, %{0}b", "%{0}a, %{0}b, %{0}c"};
    const std::string scalar = fmt::format(fmt::runtime(sources[operands]), "h");
    const std::string packed = fmt::format(fmt::runtime(sources[operands]), "r");
    check(fmt::format("{}.{} %hd, {};", op, type, scalar), 16, halves(),
          [&](u64 a, u64 b, u64 c) { return want(static_cast<u32>(a), static_cast<u32>(b), static_cast<u32>(c)); });
    check(fmt::format("{}.{}x2 %rd, {};", op, type, packed), 32, pairs(), [&](u64 a, u64 b, u64 c) {
        const auto part = [&](int at) {
            return want(static_cast<u32>(a >> at & 0xFFFF), static_cast<u32>(b >> at & 0xFFFF), static_cast<u32>(c >> at & 0xFFFF));
        };
        return part(0) | u64{part(16)} << 16;
    });
}
u32 flushed(u32 h, const Layout& f) {
    return (h & f.infinity()) == 0 ? h & f.sign() : h;
}
bool is_nan(u32 h, const Layout& f) {
    return value_of(h, f).nan;
}
u32 saturated(u32 h, const Layout& f) {
    const u32 one = static_cast<u32>(f.bias()) << f.fraction_bits;
    return is_nan(h, f) || (h & f.sign()) != 0 ? 0 : std::min(h, one);
}
u32 rectified(u32 h, const Layout& f) {
    return is_nan(h, f) ? f.nan() : (h & f.sign()) != 0 ? 0 : h;
}

u32 ref_add(u32 a, u32 b, const Layout& f) {
    return round_to(sum(value_of(a, f), value_of(b, f)), f);
}
u32 ref_mul(u32 a, u32 b, const Layout& f) {
    return round_to(product(value_of(a, f), value_of(b, f)), f);
}
u32 ref_fma(u32 a, u32 b, u32 c, const Layout& f) {
    return round_to(sum(product(value_of(a, f), value_of(b, f)), value_of(c, f)), f);
}
void arithmetic(const std::string& type, const Layout& f) {
    check_half("add", type, 2, [&](u32 a, u32 b, u32) { return ref_add(a, b, f); });
    check_half("sub.rn", type, 2, [&](u32 a, u32 b, u32) { return ref_add(a, b ^ 0x8000, f); });
    check_half("mul.rn", type, 2, [&](u32 a, u32 b, u32) { return ref_mul(a, b, f); });
    check_half("fma.rn", type, 3, [&](u32 a, u32 b, u32 c) { return ref_fma(a, b, c, f); });
    check_half("fma.rn.relu", type, 3, [&](u32 a, u32 b, u32 c) { return rectified(ref_fma(a, b, c, f), f); });
    check_half("neg", type, 1, [&](u32 a, u32, u32) { return a ^ 0x8000; });
    check_half("abs", type, 1, [&](u32 a, u32, u32) { return a & 0x7FFF; });
}
TEST(PtxHalf, ArithmeticOfF16) {
    arithmetic("f16", kF16);
    const auto z = [](u32 h) { return flushed(h, kF16); };
    check_half("add.ftz", "f16", 2, [&](u32 a, u32 b, u32) { return z(ref_add(z(a), z(b), kF16)); });
    check_half("sub.sat", "f16", 2, [&](u32 a, u32 b, u32) { return saturated(ref_add(a, b ^ 0x8000, kF16), kF16); });
    check_half("mul.ftz.sat", "f16", 2, [&](u32 a, u32 b, u32) { return z(saturated(ref_mul(z(a), z(b), kF16), kF16)); });
    check_half("fma.rn.ftz", "f16", 3, [&](u32 a, u32 b, u32 c) { return z(ref_fma(z(a), z(b), z(c), kF16)); });
    check_half("fma.rn.ftz.relu", "f16", 3, [&](u32 a, u32 b, u32 c) { return z(rectified(ref_fma(z(a), z(b), z(c), kF16), kF16)); });
    check_half("fma.rn.sat", "f16", 3, [&](u32 a, u32 b, u32 c) { return saturated(ref_fma(a, b, c, kF16), kF16); });
    check_half("neg.ftz", "f16", 1, [&](u32 a, u32, u32) { return is_nan(a, kF16) ? 0x7FFF : z(a) ^ 0x8000; });
}
TEST(PtxHalf, ArithmeticOfBf16) {
    arithmetic("bf16", kBf16);
}

/// As an integer, in the numbers' order; -0 is less than 0.
s32 order(u32 h) {
    return (h & 0x8000) != 0 ? -1 - static_cast<s32>(h & 0x7FFF) : static_cast<s32>(h);
}
void extremes(const std::string& type, const Layout& f) {
    for (const bool largest : {false, true}) {
        const auto pick = [=](u32 a, u32 b) { return (order(a) < order(b)) == largest ? b : a; };
        const std::string op = largest ? "max" : "min";
        const Half number = [=](u32 a, u32 b, u32) {
            if (is_nan(a, f)) return is_nan(b, f) ? 0x7FFF : b;
            return is_nan(b, f) ? a : pick(a, b);
        };
        const Half nan = [=](u32 a, u32 b, u32) { return is_nan(a, f) || is_nan(b, f) ? 0x7FFF : pick(a, b); };
        const auto of_sizes = [](const Half& base) {
            return [=](u32 a, u32 b, u32) {
                const u32 r = base(a & 0x7FFF, b & 0x7FFF, 0);
                return r == 0x7FFF ? r : r | ((a ^ b) & 0x8000);
            };
        };
        check_half(op, type, 2, number);
        check_half(op + ".NaN", type, 2, nan);
        check_half(op + ".xorsign.abs", type, 2, of_sizes(number));
        check_half(op + ".NaN.xorsign.abs", type, 2, of_sizes(nan));
    }
}
TEST(PtxHalf, Extremes) {
    extremes("f16", kF16);
    extremes("bf16", kBf16);
    check_half("min.ftz", "f16", 2, [](u32 a, u32 b, u32) {
        a = flushed(a, kF16), b = flushed(b, kF16);
        if (is_nan(a, kF16)) return is_nan(b, kF16) ? 0x7FFF : b;
        return is_nan(b, kF16) || order(a) < order(b) ? a : b;
    });
    check("min.xorsign.abs.f32 %fc, %fa, %fb; mov.b32 %rd, %fc;", 32, pairs(), [](u64 a, u64 b, u64) -> u64 {
        const auto x = static_cast<u32>(a) & 0x7FFFFFFF, y = static_cast<u32>(b) & 0x7FFFFFFF;
        const u32 sign = (a ^ b) & 0x80000000u;
        const u32 inf = 0x7F800000;
        if (x > inf && y > inf) return 0x7FFFFFFF;
        return sign | (x > inf ? y : y > inf ? x : std::min(x, y));
    });
}

// ---- comparisons ----

void comparisons(const std::string& type, const Layout& f, const std::string& flush) {
    const bool ftz = !flush.empty();
    const auto read = [=](u64 h) {
        const Exact x = value_of(ftz ? flushed(static_cast<u32>(h & 0xFFFF), f) : static_cast<u32>(h & 0xFFFF), f);
        return x.nan ? std::nan("")
                     : (x.negative ? -1.0 : 1.0) * (x.infinite ? INFINITY : std::ldexp(static_cast<double>(x.size), x.exponent));
    };
    const std::pair<const char*, std::function<bool(double, double)>> compares[] = {
        {"eq", [](double a, double b) { return a == b; }},
        {"ne", [](double a, double b) { return a < b || a > b; }},
        {"lt", [](double a, double b) { return a < b; }},
        {"le", [](double a, double b) { return a <= b; }},
        {"gt", [](double a, double b) { return a > b; }},
        {"ge", [](double a, double b) { return a >= b; }},
        {"equ", [](double a, double b) { return !(a < b || a > b); }},
        {"neu", [](double a, double b) { return !(a == b); }},
        {"ltu", [](double a, double b) { return !(a >= b); }},
        {"leu", [](double a, double b) { return !(a > b); }},
        {"gtu", [](double a, double b) { return !(a <= b); }},
        {"geu", [](double a, double b) { return !(a < b); }},
        {"num", [](double a, double b) { return a == a && b == b; }},
        {"nan", [](double a, double b) { return a != a || b != b; }}};
    const u64 one = static_cast<u64>(f.bias()) << f.fraction_bits;
    for (const auto& [name, holds] : compares) {
        const auto& h = holds;
        check(fmt::format("setp.{}{}.{} %p2|%p3, %ha, %hb; selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 2, 0, %p3; or.b32 %rd, %r6, %r7;", name,
                          flush, type),
              32, halves(), [&](u64 a, u64 b, u64) -> u64 { return h(read(a), read(b)) ? 1 : 2; });
        check(fmt::format("setp.{}{}.{}x2 %p2|%p3, %ra, %rb; selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 2, 0, %p3; or.b32 %rd, %r6, %r7;", name,
                          flush, type),
              32, pairs(),
              [&](u64 a, u64 b, u64) -> u64 { return (h(read(a), read(b)) ? 1 : 0) | (h(read(a >> 16), read(b >> 16)) ? 2 : 0); });
    }
    const auto less = [&](u64 a, u64 b) { return read(a) < read(b); };
    check(fmt::format("setp.gt.u32 %p4, %rc, %rb; setp.lt.and{}.{}x2 %p2|%p3, %ra, %rb, !%p4; selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 2, 0, "
                      "%p3; or.b32 %rd, %r6, %r7;",
                      flush, type),
          32, pairs(), [&](u64 a, u64 b, u64 c) -> u64 { return c > b ? 0 : (less(a, b) ? 1 : 0) | (less(a >> 16, b >> 16) ? 2 : 0); });
    check(fmt::format("set.lt{}.u16.{} %hd, %ha, %hb;", flush, type), 16, halves(),
          [&](u64 a, u64 b, u64) -> u64 { return less(a, b) ? 0xFFFF : 0; });
    check(fmt::format("set.lt{}.s32.{} %rd, %ha, %hb;", flush, type), 32, halves(),
          [&](u64 a, u64 b, u64) -> u64 { return less(a, b) ? 0xFFFFFFFF : 0; });
    check(fmt::format("set.lt{0}.{1}.{1} %hd, %ha, %hb;", flush, type), 16, halves(),
          [&](u64 a, u64 b, u64) { return less(a, b) ? one : 0; });
    check(fmt::format("set.lt{0}.{1}x2.{1}x2 %rd, %ra, %rb;", flush, type), 32, pairs(),
          [&](u64 a, u64 b, u64) { return (less(a, b) ? one : 0) | (less(a >> 16, b >> 16) ? one << 16 : 0); });
    check(fmt::format("set.lt{0}.u32.{1}x2 %rd, %ra, %rb;", flush, type), 32, pairs(),
          [&](u64 a, u64 b, u64) -> u64 { return (less(a, b) ? 0xFFFFu : 0) | (less(a >> 16, b >> 16) ? 0xFFFF0000u : 0); });
}
TEST(PtxHalf, Comparisons) {
    comparisons("f16", kF16, "");
    comparisons("f16", kF16, ".ftz");
    comparisons("bf16", kBf16, "");
    check("set.lt.f16.u32 %hd, %ra, %rb;", 16, pairs(), [](u64 a, u64 b, u64) -> u64 { return a < b ? 0x3C00 : 0; });
}

// ---- functions ----

void function(const std::string& op, const std::string& type, const Layout& f, bool ftz,
              const std::function<long double(long double)>& exact) {
    const auto got = run(fmt::format("{}.{} %hd, %ha;", op, type), 16, halves(), false, 1);
    for (u32 h = 0; h < 65536; ++h) {
        const Exact x = value_of(ftz ? flushed(h, f) : h, f);
        if (x.nan) {
            ASSERT_EQ(got[h], 0x7FFFu);
            continue;
        }
        const long double v =
            (x.negative ? -1.0L : 1.0L) * (x.infinite ? INFINITY : std::ldexp(static_cast<long double>(x.size), x.exponent));
        const u32 wanted = round_to(value_of(static_cast<double>(exact(v))), f);
        const u32 result = static_cast<u32>(got[h]);
        ASSERT_TRUE(std::abs(order(result) - order(ftz ? flushed(wanted, f) : wanted)) <= 1)
            << op << type << h << " " << result << " " << wanted;
    }
    // The same bits in pairs and on any host.
    check_half(op, type, 1, [&](u32 a, u32, u32) { return static_cast<u32>(got[a]); });
}
TEST(PtxHalf, Functions) {
    function("ex2.approx", "f16", kF16, false, [](long double v) { return std::exp2(v); });
    function("ex2.approx.ftz", "bf16", kBf16, true, [](long double v) { return std::exp2(v); });
    function("tanh.approx", "f16", kF16, false, [](long double v) { return std::tanh(v); });
    function("tanh.approx", "bf16", kBf16, false, [](long double v) { return std::tanh(v); });
}

// ---- conversions ----

struct Named {
    const char* name;
    Mode mode;
};
constexpr Named kModes[] = {{"rn", Mode::nearest}, {"rz", Mode::zero}, {"rm", Mode::down}, {"rp", Mode::up}};

/// f32 numbers near those of the 16-bit formats, and random ones.
const Inputs& singles() {
    static const Inputs made = [] {
        Inputs in;
        Rng rng(2);
        for (u32 i = 0; i < 65536; ++i) {
            const u32 near[] = {round_to(value_of(i & 0xFFFF, kF16), kF32), (i & 0xFFFF) << 16, static_cast<u32>(rng.next())};
            const u32 delta[] = {0, 0x1000, 0x8000, 0x80000, 1, static_cast<u32>(-1), 0xFFF, 0x1001, 0x7FFF, 0x8001};
            const u32 a = near[rng.below(3)] + delta[rng.below(std::size(delta))];
            const u32 b = near[rng.below(3)] + delta[rng.below(std::size(delta))];
            in.a.push_back(a | rng.next() << 32);
            in.b.push_back(b);
            in.c.push_back(rng.next() >> rng.below(64));
        }
        return in;
    }();
    return made;
}
struct Flags {
    const char* words;
    bool ftz, sat, relu, finite;
};
u32 narrowed(Exact x, const Layout& f, Mode mode, const Flags& flags) {
    if (flags.sat && x.nan) return 0;
    if (flags.relu && !x.nan && x.negative) x = {};
    const u32 r = round_to(x, f, mode, flags.finite);
    return flags.sat ? saturated(r, f) : r;
}
u32 single_to(u64 bits, const Layout& f, Mode mode, const Flags& flags) {
    auto v = static_cast<u32>(bits);
    if (flags.ftz) v = flushed(v, kF32);
    return narrowed(value_of(v, kF32), f, mode, flags);
}
TEST(PtxHalf, FromSingles) {
    const Flags all[] = {{"", false, false, false, false},          {".ftz", true, false, false, false},
                         {".sat", false, true, false, false},       {".relu", false, false, true, false},
                         {".satfinite", false, false, false, true}, {".relu.satfinite", false, false, true, true}};
    for (const auto& one : {std::pair("f16", kF16), std::pair("bf16", kBf16)}) {
        const auto& type = one.first;
        const Layout& f = one.second;
        for (const Named& m : kModes) {
            for (const Flags& flags : all) {
                const bool newer = flags.relu || flags.finite;
                if ((newer && m.mode != Mode::nearest && m.mode != Mode::zero) || (flags.sat && f.exponent_bits == 8)) continue;
                check(fmt::format("cvt.{}{}.{}.f32 %hd, %fa;", m.name, flags.words, type), 16, singles(),
                      [&](u64 a, u64, u64) -> u64 { return single_to(a, f, m.mode, flags); });
                if (flags.ftz || flags.sat || m.mode == Mode::down || m.mode == Mode::up) continue;
                check(fmt::format("cvt.{}{}.{}x2.f32 %rd, %fa, %fb;", m.name, flags.words, type), 32, singles(),
                      [&](u64 a, u64 b, u64) { return u64{single_to(a, f, m.mode, flags)} << 16 | single_to(b, f, m.mode, flags); });
            }
        }
    }
    const Flags none = all[0];
    const auto tf32 = [&](u64 a, Mode mode, const Flags& flags) -> u64 {
        const u32 r = single_to(a, kTf32, mode, flags);
        return is_nan(r, kTf32) ? 0x7FFFFFFF : r << 13;
    };
    check("cvt.rna.tf32.f32 %rd, %fa;", 32, singles(), [&](u64 a, u64, u64) { return tf32(a, Mode::away, none); });
    check("cvt.rna.satfinite.tf32.f32 %rd, %fa;", 32, singles(), [&](u64 a, u64, u64) { return tf32(a, Mode::away, all[4]); });
    check("cvt.rn.tf32.f32 %rd, %fa;", 32, singles(), [&](u64 a, u64, u64) { return tf32(a, Mode::nearest, none); });
    check("cvt.rz.relu.tf32.f32 %rd, %fa;", 32, singles(), [&](u64 a, u64, u64) { return tf32(a, Mode::zero, all[3]); });
}
TEST(PtxHalf, Bytes) {
    const Flags finite{"", false, false, false, true}, relu{"", false, false, true, true};
    for (const auto& format : {std::pair("e4m3x2", kE4m3), std::pair("e5m2x2", kE5m2)}) {
        const auto& type = format.first;
        const Layout& f = format.second;
        for (const Flags& flags : {finite, relu}) {
            const char* words = flags.relu ? "satfinite.relu" : "satfinite";
            check(fmt::format("cvt.rn.{}.{}.f32 %hd, %fa, %fb;", words, type), 16, singles(), [&](u64 a, u64 b, u64) {
                return u64{single_to(a, f, Mode::nearest, flags)} << 8 | single_to(b, f, Mode::nearest, flags);
            });
            check(fmt::format("cvt.rn.{}.{}.f16x2 %hd, %ra;", words, type), 16, pairs(), [&](u64 a, u64, u64) {
                const auto one = [&](u64 h) { return narrowed(value_of(static_cast<u32>(h & 0xFFFF), kF16), f, Mode::nearest, flags); };
                return u64{one(a >> 16)} << 8 | one(a);
            });
            check(fmt::format("cvt.rn{}.f16x2.{} %rd, %ha;", flags.relu ? ".relu" : "", type), 32, every_half(), [&](u64 a, u64, u64) {
                const auto one = [&](u64 byte) {
                    const u32 h = round_to(value_of(static_cast<u32>(byte & 0xFF), f), kF16);
                    return flags.relu ? rectified(h, kF16) : h;
                };
                return u64{one(a >> 8)} << 16 | one(a);
            });
        }
    }
}
TEST(PtxHalf, ToAndFromOthers) {
    const Flags none{"", false, false, false, false}, sat{"", false, true, false, false};
    for (const auto& format : {std::pair("f16", kF16), std::pair("bf16", kBf16)}) {
        const auto& type = format.first;
        const Layout& f = format.second;
        const auto read = [&](u64 h) { return value_of(static_cast<u32>(h & 0xFFFF), f); };
        check(fmt::format("cvt.f32.{} %fa, %ha; mov.b32 %rd, %fa;", type), 32, every_half(),
              [&](u64 a, u64, u64) { return round_to(read(a), kF32); });
        check(fmt::format("cvt.f64.{} %wa, %ha; cvt.rn.f32.f64 %fa, %wa; mov.b32 %rd, %fa;", type), 32, every_half(),
              [&](u64 a, u64, u64) { return round_to(read(a), kF32); });
        for (const Named& m : kModes) {
            check(fmt::format("cvt.{}.{}.f64 %hd, %wa;", m.name, type), 16, singles(),
                  [&](u64 a, u64, u64) { return narrowed(value_of(std::bit_cast<double>(a)), f, m.mode, none); });
            const std::pair<const char*, std::function<s128(u64)>> integers[] = {
                {"u8 %hd, %rc", [](u64 v) { return s128{static_cast<u8>(v)}; }},
                {"s8 %hd, %rc", [](u64 v) { return s128{static_cast<s8>(v)}; }},
                {"u16 %hd, %hc", [](u64 v) { return s128{static_cast<u16>(v)}; }},
                {"s16 %hd, %hc", [](u64 v) { return s128{static_cast<s16>(v)}; }},
                {"u32 %hd, %rc", [](u64 v) { return s128{static_cast<u32>(v)}; }},
                {"s32 %hd, %rc", [](u64 v) { return s128{static_cast<s32>(v)}; }},
                {"u64 %hd, %xc", [](u64 v) { return s128{v}; }},
                {"s64 %hd, %xc", [](u64 v) { return s128{static_cast<s64>(v)}; }}};
            for (const auto& [operands, value] : integers) {
                const auto& of = value;
                check(fmt::format("cvt.{}.{}.{};", m.name, type, operands), 16, singles(), [&](u64, u64, u64 c) {
                    const s128 v = of(c);
                    return round_to({.size = static_cast<u128>(v < 0 ? -v : v), .negative = v < 0}, f, m.mode);
                });
            }
        }
        const std::pair<const char*, double (*)(double)> wholes[] = {
            {"rni", std::nearbyint}, {"rzi", std::trunc}, {"rmi", std::floor}, {"rpi", std::ceil}};
        for (const auto& [name, whole] : wholes) {
            const auto exact = [&, w = whole](u64 h) {
                const Exact x = read(h);
                const double v = x.nan ? std::nan("") : x.infinite ? INFINITY : std::ldexp(static_cast<double>(x.size), x.exponent);
                return w(x.negative ? -v : v);
            };
            check(fmt::format("cvt.{0}.{1}.{1} %hd, %ha;", name, type), 16, every_half(),
                  [&](u64 a, u64, u64) { return round_to(value_of(exact(a)), f); });
            const auto clamp = [&](u64 h, double low, double high) {
                const double v = exact(h);
                return std::isnan(v) ? 0.0 : std::clamp(v, low, high);
            };
            check(fmt::format("cvt.{}.s32.{} %rd, %ha;", name, type), 32, every_half(),
                  [&](u64 a, u64, u64) -> u64 { return static_cast<u32>(static_cast<s32>(clamp(a, INT32_MIN, INT32_MAX))); });
            check(fmt::format("cvt.{}.u16.{} %hd, %ha;", name, type), 16, every_half(),
                  [&](u64 a, u64, u64) -> u64 { return static_cast<u16>(clamp(a, 0, 65535)); });
            check(fmt::format("cvt.{}.s8.{} %rd, %ha;", name, type), 32, every_half(),
                  [&](u64 a, u64, u64) -> u64 { return static_cast<u32>(static_cast<s32>(clamp(a, -128, 127))); });
            check(fmt::format("cvt.{}.u64.{} %xd, %ha;", name, type), 64, every_half(), [&](u64 a, u64, u64) -> u64 {
                const double v = exact(a);
                return std::isnan(v) ? u64{1} << 63 : v >= 0x1p64 ? ~u64{0} : v <= 0 ? 0 : static_cast<u64>(v);
            });
        }
    }
    check("cvt.sat.f16.f16 %hd, %ha;", 16, every_half(),
          [&](u64 a, u64, u64) { return narrowed(value_of(static_cast<u32>(a), kF16), kF16, Mode::nearest, sat); });
    check("cvt.sat.f32.f16 %fa, %ha; mov.b32 %rd, %fa;", 32, every_half(),
          [&](u64 a, u64, u64) { return narrowed(value_of(static_cast<u32>(a), kF16), kF32, Mode::nearest, sat); });
    check("cvt.ftz.f32.bf16 %fa, %ha; mov.b32 %rd, %fa;", 32, every_half(),
          [&](u64 a, u64, u64) { return flushed(round_to(value_of(static_cast<u32>(a), kBf16), kF32), kF32); });
    for (const Named& m : kModes) {
        check(fmt::format("cvt.{}.bf16.f16 %hd, %ha;", m.name), 16, every_half(),
              [&](u64 a, u64, u64) { return round_to(value_of(static_cast<u32>(a), kF16), kBf16, m.mode); });
        check(fmt::format("cvt.{}.f16.bf16 %hd, %ha;", m.name), 16, every_half(),
              [&](u64 a, u64, u64) { return round_to(value_of(static_cast<u32>(a), kBf16), kF16, m.mode); });
    }
}

// ---- pairs of integers ----

TEST(PtxHalf, PairsOfIntegers) {
    const auto both = [](auto of) {
        return [of](u64 a, u64 b, u64) -> u64 { return of(a & 0xFFFF, b & 0xFFFF) | of(a >> 16 & 0xFFFF, b >> 16 & 0xFFFF) << 16; };
    };
    check("add.s16x2 %rd, %ra, %rb;", 32, pairs(), both([](u64 a, u64 b) { return (a + b) & 0xFFFF; }));
    check("add.u16x2 %rd, %ra, %rb;", 32, pairs(), both([](u64 a, u64 b) { return (a + b) & 0xFFFF; }));
    check("min.u16x2 %rd, %ra, %rb;", 32, pairs(), both([](u64 a, u64 b) { return std::min(a, b); }));
    check("max.s16x2 %rd, %ra, %rb;", 32, pairs(), both([](u64 a, u64 b) { return static_cast<s16>(a) < static_cast<s16>(b) ? b : a; }));
    check("min.relu.s16x2 %rd, %ra, %rb;", 32, pairs(),
          both([](u64 a, u64 b) { return static_cast<u64>(std::max<s16>(std::min(static_cast<s16>(a), static_cast<s16>(b)), 0)); }));
    check("max.relu.s32 %rd, %ra, %rb;", 32, pairs(), [](u64 a, u64 b, u64) -> u64 {
        return static_cast<u32>(std::max({static_cast<s32>(a), static_cast<s32>(b), 0}));
    });
}

// ---- atomics ----

/// Thread i adds to, or compares with, place i / 4; the order is that of the lanes.
void atomics(const std::string& op, const std::string& type, int registers, bool pair, const Half& combine) {
    constexpr u32 kThreads = 512;
    const int halves_per_thread = registers * (pair ? 2 : 1);
    const std::string vector = registers == 1 ? "" : fmt::format(".v{}", registers);
    const char prefix = pair ? 'r' : 'h';
    std::string list, results, loads, stores;
    for (int k = 0; k < registers; ++k) {
        const char* comma = k == 0 ? "" : ", ";
        list += fmt::format("{}%{}{}", comma, prefix, k);
        results += fmt::format("{}%{}{}", comma, prefix, k + 10);
        loads += fmt::format("ld.global.b{0} %{1}{2}, [%x2+{3}]; ", pair ? 32 : 16, prefix, k, k * (pair ? 4 : 2));
        stores += fmt::format("st.global.b{0} [%x4+{3}], %{1}{2}; ", pair ? 32 : 16, prefix, k + 10, k * (pair ? 4 : 2));
    }
    if (registers > 1) list = "{" + list + "}", results = "{" + results + "}";
    for (const bool portable : {false, true}) {
        TestDevice device(fmt::format(
            ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 pm, .param .u64 pv, .param .u64 po) {{ .reg .b16 %h<20>; "
            ".reg .b32 "
            "%r<20>, %t<9>; .reg .b64 %x<9>; ld.param.u64 %x1, [pm]; ld.param.u64 %x2, [pv]; ld.param.u64 %x4, [po]; mov.u32 %t1, %tid.x; "
            "mad.wide.u32 %x2, %t1, {0}, %x2; mad.wide.u32 %x4, %t1, {0}, %x4; shr.u32 %t2, %t1, 2; mad.wide.u32 %x1, %t2, {0}, %x1; {1} "
            "atom.global.{2}.noftz{3}.{4} {5}, [%x1], {6}; {7} red.global.{2}.noftz{3}.{4} [%x1], {6}; ret; }}",
            halves_per_thread * 2, loads, op, vector, type, results, list, stores));
        device.options.portable = portable;
        Rng rng(3);
        std::vector<u16> memory(kThreads / 4 * static_cast<u32>(halves_per_thread)), values(kThreads * static_cast<u32>(halves_per_thread));
        for (u16& v : memory) v = static_cast<u16>(rng.next());
        for (u16& v : values) v = static_cast<u16>(rng.next());
        std::vector<u16> wanted(values.size()), then = memory;
        const auto step = [&](u32 thread, bool keep) {
            for (u32 k = 0; k < static_cast<u32>(halves_per_thread); ++k) {
                u16& place = then[thread / 4 * static_cast<u32>(halves_per_thread) + k];
                const u32 at = thread * static_cast<u32>(halves_per_thread) + k;
                if (keep) wanted[at] = place;
                place = static_cast<u16>(combine(place, values[at], 0));
            }
        };
        for (u32 warp = 0; warp < kThreads / 32; ++warp) {
            for (u32 lane = 0; lane < 32; ++lane) step(warp * 32 + lane, true);
            for (u32 lane = 0; lane < 32; ++lane) step(warp * 32 + lane, false);
        }
        const Addr m = device.put(memory), v = device.put(values), o = device.zeros<u16>(values.size());
        device.run("k", {1}, {kThreads}, m, v, o);
        EXPECT_EQ(device.get<u16>(m, memory.size()), then) << op << type << registers;
        EXPECT_EQ(device.get<u16>(o, values.size()), wanted) << op << type << registers;
    }
}
TEST(PtxHalf, Atomics) {
    const Half add16 = [](u32 a, u32 b, u32) { return ref_add(a, b, kF16); };
    const Half add_bf16 = [](u32 a, u32 b, u32) { return ref_add(a, b, kBf16); };
    atomics("add", "f16", 1, false, add16);
    atomics("add", "f16x2", 1, true, add16);
    atomics("add", "bf16", 1, false, add_bf16);
    atomics("add", "bf16x2", 1, true, add_bf16);
    atomics("add", "f16", 8, false, add16);
    atomics("add", "bf16", 4, false, add_bf16);
    atomics("add", "bf16x2", 4, true, add_bf16);
    atomics("max", "f16x2", 2, true, [](u32 a, u32 b, u32) {
        if (is_nan(a, kF16)) return is_nan(b, kF16) ? 0x7FFFu : b;
        return is_nan(b, kF16) || order(a) > order(b) ? a : b;
    });
}
TEST(PtxHalf, AtomicVectorsOfSingles) {
    TestDevice device(
        ".version 8.6\n.target sm_90\n.address_size 64\n.entry k(.param .u64 pm, .param .u64 po) { .reg .f32 %f<20>; .reg .b32 %r<9>; .reg "
        ".b64 %x<9>; ld.param.u64 %x1, [pm]; ld.param.u64 %x2, [po]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; add.f32 %f2, %f1, %f1; "
        "mad.wide.u32 %x2, %r1, 8, %x2; atom.global.add.v2.f32 {%f3, _}, [%x1], {%f1, %f2}; st.global.f32 [%x2], %f3; "
        "red.global.add.v4.f32 [%x1+16], {%f1, %f1, %f2, %f2}; ret; }");
    const Addr m = device.zeros<float>(8), o = device.zeros<u64>(32);
    device.run("k", {1}, {32}, m, o);
    EXPECT_EQ(device.get<float>(m, 8), (std::vector<float>{496, 992, 0, 0, 496, 496, 992, 992}));
    EXPECT_EQ(device.get<float>(o, 64)[62], 465.0f);
}

// ---- what does not exist ----

TEST(PtxHalf, OtherFormsAreRefused) {
    for (const char* code : {"add.ftz.bf16 %hd, %ha, %hb;",
                             "add.sat.bf16 %hd, %ha, %hb;",
                             "fma.rz.f16 %hd, %ha, %hb, %hc;",
                             "fma.rn.sat.relu.f16 %hd, %ha, %hb, %hc;",
                             "ex2.approx.ftz.f16 %hd, %ha;",
                             "ex2.approx.bf16 %hd, %ha;",
                             "tanh.approx.ftz.bf16 %hd, %ha;",
                             "neg.ftz.bf16 %hd, %ha;",
                             "min.ftz.bf16 %hd, %ha, %hb;",
                             "min.xorsign.f16 %hd, %ha, %hb;",
                             "sub.f32.f16 %fa, %ha, %fb;",
                             "fma.rn.f32.bf16 %fa, %ha, %hb, %fb;",
                             "fma.rn.relu.f32 %fa, %fa, %fb, %fc;",
                             "fma.rn.oob.f16 %hd, %ha, %hb, %hc;",
                             "div.rn.f16 %hd, %ha, %hb;",
                             "rcp.approx.f16 %hd, %ha;",
                             "sub.s16x2 %rd, %ra, %rb;",
                             "min.relu.u16x2 %rd, %ra, %rb;",
                             "min.relu.u32 %rd, %ra, %rb;",
                             "set.lt.f32.f16x2 %fa, %ra, %rb;",
                             "cvt.f16.f32 %hd, %fa;",
                             "cvt.rna.f16.f32 %hd, %fa;",
                             "cvt.rn.sat.bf16.f32 %hd, %fa;",
                             "cvt.rn.sat.relu.f16.f32 %hd, %fa;",
                             "cvt.rm.relu.f16.f32 %hd, %fa;",
                             "cvt.rn.f32.f16 %fa, %ha;",
                             "cvt.s32.f16 %rd, %ha;",
                             "cvt.rn.e4m3x2.f32 %hd, %fa, %fb;",
                             "cvt.rn.relu.f32.f32 %fa, %fb;",
                             "cvt.rna.tf32.f16 %rd, %ha;",
                             "cvt.rn.f16x2.f32 %rd, %fa;",
                             "cvt.rn.ftz.f16x2.f32 %rd, %fa, %fb;",
                             "cvt.rna.f32.f64 %fa, %wa;",
                             "atom.global.exch.f16 %hd, [%x1], %ha;",
                             "atom.global.add.noftz.v2.f16 %hd, [%x1], %ha;",
                             "red.global.add.v8.f32 [%x1], {%fa, %fa, %fa, %fa, %fa, %fa, %fa, %fa};",
                             "red.global.min.v2.f32 [%x1], {%fa, %fb};",
                             "red.global.add.v2.u32 [%x1], {%ra, %rb};"}) {
        Inputs in{std::vector<u64>(256), std::vector<u64>(256), std::vector<u64>(256)};
        EXPECT_THROW(run(code, 16, in, false, 1), InputError) << code;
    }
}

}  // namespace
}  // namespace mergelane::ptx
