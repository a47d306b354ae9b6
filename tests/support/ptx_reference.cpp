// SPDX-License-Identifier: MIT
// The table of instructions. Every row computes one lane from the description of the instruction, in the widest integers.
#include "ptx_reference.hpp"

#include <bit>
#include <map>
#include <type_traits>

#include "ptx_soft_float.hpp"

namespace mergelane::ptx::reference {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using In = const u64*;

/// A C++ integer with the PTX type it implements.
template <class T>
struct Integer {
    using Value = T;
    using Wide = std::conditional_t<std::is_signed_v<T>, s128, u128>;
    static constexpr int kBits = sizeof(T) * 8;
    std::string_view name;
    Type type;
    static Wide of(u64 bits) { return static_cast<Wide>(static_cast<T>(bits)); }
};
constexpr Integer<u8> kU8{"u8", Type::u8};
constexpr Integer<s8> kS8{"s8", Type::s8};
constexpr Integer<u16> kU16{"u16", Type::u16};
constexpr Integer<s16> kS16{"s16", Type::s16};
constexpr Integer<u32> kU32{"u32", Type::u32};
constexpr Integer<s32> kS32{"s32", Type::s32};
constexpr Integer<u64> kU64{"u64", Type::u64};
constexpr Integer<s64> kS64{"s64", Type::s64};
constexpr Integer<u16> kB16{"b16", Type::b16};
constexpr Integer<u32> kB32{"b32", Type::b32};
constexpr Integer<u64> kB64{"b64", Type::b64};

template <class F>
void for_words(F f) {
    f(kU32), f(kS32), f(kU64), f(kS64);
}
template <class F>
void for_integers(F f) {
    f(kU16), f(kS16), for_words(f);
}
template <class F>
void for_all_integers(F f) {
    f(kU8), f(kS8), for_integers(f);
}
template <class F>
void for_bits(F f) {
    f(kB16), f(kB32), f(kB64);
}

struct Floating {
    std::string_view name;
    Type type;
    Format format;
};
constexpr Floating kF16{"f16", Type::f16, kHalf};
constexpr Floating kBf16{"bf16", Type::bf16, kBrain};
constexpr Floating kF32{"f32", Type::f32, kSingle};
constexpr Floating kF64{"f64", Type::f64, kDouble};

struct Rounding {
    std::string_view word;
    Direction direction;
};
constexpr Rounding kRoundings[] = {{".rn", Direction::nearest}, {".rz", Direction::zero}, {".rm", Direction::down}, {".rp", Direction::up}};

std::vector<Rule> table;

using Value = std::function<u64(In)>;
Rule& add(std::string opcode, Type result, std::vector<Type> sources, Value value) {
    Rule rule;
    rule.opcode = std::move(opcode);
    rule.results = {result};
    rule.sources = std::move(sources);
    rule.lane = [value = std::move(value)](const Lane& lane) { lane.out[0] = value(lane.in); };
    return table.emplace_back(std::move(rule));
}
std::string word(std::string_view a, std::string_view b, std::string_view c = "") {
    return std::string(a) + "." + std::string(b) + (c.empty() ? "" : "." + std::string(c));
}
u64 low(s128 value) {
    return static_cast<u64>(value);
}
u64 low(u128 value) {
    return static_cast<u64>(value);
}
s128 clamped(s128 value, s128 least, s128 most) {
    return value < least ? least : value > most ? most : value;
}
u64 ones(u64 bits) {
    return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1;
}

void integer_arithmetic() {
    for_integers([]<class I>(I t) {
        constexpr int n = I::kBits;
        add(word("add", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] + in[1]; });
        add(word("sub", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] - in[1]; });
        add(word("mul.lo", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] * in[1]; });
        add(word("mad.lo", t.name), t.type, {t.type, t.type, t.type}, [](In in) { return in[0] * in[1] + in[2]; });
        add(word("mul.hi", t.name), t.type, {t.type, t.type}, [](In in) { return low(I::of(in[0]) * I::of(in[1]) >> n); });
        add(word("mad.hi", t.name), t.type, {t.type, t.type, t.type}, [](In in) { return low(I::of(in[0]) * I::of(in[1]) >> n) + in[2]; });
        add(word("div", t.name), t.type, {t.type, t.type}, [](In in) { return low(I::of(in[0]) / I::of(in[1])); }).divides = true;
        add(word("rem", t.name), t.type, {t.type, t.type}, [](In in) { return low(I::of(in[0]) % I::of(in[1])); }).divides = true;
        add(word("min", t.name), t.type, {t.type, t.type}, [](In in) { return low(std::min(I::of(in[0]), I::of(in[1]))); });
        add(word("max", t.name), t.type, {t.type, t.type}, [](In in) { return low(std::max(I::of(in[0]), I::of(in[1]))); });
        add(word("sad", t.name), t.type, {t.type, t.type, t.type}, [](In in) {
            const auto a = I::of(in[0]), b = I::of(in[1]);
            return low(a < b ? b - a : a - b) + in[2];
        });
        if constexpr (std::is_signed_v<typename I::Value>) {
            add(word("neg", t.name), t.type, {t.type}, [](In in) { return u64{0} - in[0]; });
            add(word("abs", t.name), t.type, {t.type}, [](In in) { return low(I::of(in[0]) < 0 ? -I::of(in[0]) : I::of(in[0])); });
        }
    });
    const auto wide = []<class I>(I from, auto to) {
        add(word("mul.wide", from.name), to.type, {from.type, from.type}, [](In in) { return low(I::of(in[0]) * I::of(in[1])); });
        add(word("mad.wide", from.name), to.type, {from.type, from.type, to.type},
            [](In in) { return low(I::of(in[0]) * I::of(in[1])) + in[2]; });
    };
    wide(kU16, kU32), wide(kS16, kS32), wide(kU32, kU64), wide(kS32, kS64);
    const auto saturating = [](std::string_view name, int sign) {
        add(word(name, "sat.s32"), Type::s32, {Type::s32, Type::s32},
            [sign](In in) { return low(clamped(kS32.of(in[0]) + sign * kS32.of(in[1]), INT32_MIN, INT32_MAX)); });
    };
    saturating("add", 1), saturating("sub", -1);
    const auto narrow = []<class I>(I t) {
        const auto part = [](u64 bits) {
            return static_cast<s128>(std::is_signed_v<typename I::Value> ? s64(bits << 40) >> 40 : s64(bits & 0xFFFFFF));
        };
        add(word("mul24.lo", t.name), t.type, {t.type, t.type}, [part](In in) { return low(part(in[0]) * part(in[1])); });
        add(word("mul24.hi", t.name), t.type, {t.type, t.type}, [part](In in) { return low(part(in[0]) * part(in[1]) >> 16); });
        add(word("mad24.lo", t.name), t.type, {t.type, t.type, t.type}, [part](In in) { return low(part(in[0]) * part(in[1])) + in[2]; });
    };
    narrow(kU32), narrow(kS32);
}

void dot_products() {
    for (const int signs : {0, 1, 2, 3}) {
        const std::string types = std::string((signs & 1) != 0 ? "s32" : "u32") + ((signs & 2) != 0 ? ".s32" : ".u32");
        const auto part = [](u64 bits, int k, int width, bool sign) {
            const u64 value = bits >> k * width & ones(static_cast<u64>(width));
            return sign ? static_cast<s64>(value << (64 - width)) >> (64 - width) : static_cast<s64>(value);
        };
        const auto dot = [=](std::string_view name, int terms, int width, int first) {
            add(word(name, types), Type::b32, {Type::b32, Type::b32, Type::b32}, [=](In in) {
                s64 total = static_cast<s64>(in[2]);
                for (int k = 0; k < terms; ++k)
                    total += part(in[0], k, width, (signs & 1) != 0) * part(in[1], first + k, 8, (signs & 2) != 0);
                return static_cast<u64>(total);
            });
        };
        dot("dp4a", 4, 8, 0), dot("dp2a.lo", 2, 16, 0), dot("dp2a.hi", 2, 16, 2);
    }
}

void carry_chains() {
    const auto chain = []<class I>(I t, std::string opcode, std::size_t sources, bool takes, bool gives, auto exact) {
        Rule& rule = add(std::move(opcode), t.type, std::vector<Type>(sources, t.type), {});
        rule.lane = [=](const Lane& lane) {
            const s128 value = exact(lane.in, takes && *lane.carry);
            lane.out[0] = low(value);
            if (gives) *lane.carry = (value >> I::kBits & 1) != 0;
        };
    };
    const auto both = [&]<class I>(I t) {
        const auto sum = [](In in, bool carry) { return static_cast<s128>(I::of(in[0]) + I::of(in[1]) + carry); };
        const auto difference = [](In in, bool carry) { return static_cast<s128>(I::of(in[0]) - I::of(in[1]) - carry); };
        for (const std::string& cc : {std::string(".cc"), std::string()}) {
            if (!cc.empty()) chain(t, "add" + cc + "." + std::string(t.name), 2, false, true, sum);
            if (!cc.empty()) chain(t, "sub" + cc + "." + std::string(t.name), 2, false, true, difference);
            chain(t, "addc" + cc + "." + std::string(t.name), 2, true, !cc.empty(), sum);
            chain(t, "subc" + cc + "." + std::string(t.name), 2, true, !cc.empty(), difference);
        }
    };
    both(kU32);
    const auto lower = [](In in, bool carry) { return s128{u32(in[0] * in[1])} + u32(in[2]) + carry; };
    const auto upper = [](In in, bool carry) { return s128{u32(in[0] * in[1] >> 32)} + u32(in[2]) + carry; };
    chain(kU32, "mad.lo.cc.u32", 3, false, true, lower), chain(kU32, "madc.lo.cc.u32", 3, true, true, lower);
    chain(kU32, "mad.hi.cc.u32", 3, false, true, upper), chain(kU32, "madc.hi.u32", 3, true, false, upper);
    // The operands have 64 bits, so the sums fit into 128.
    both(kU64);
}

void logic() {
    for_bits([]<class I>(I t) {
        constexpr u64 n = I::kBits;
        add(word("and", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] & in[1]; });
        add(word("or", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] | in[1]; });
        add(word("xor", t.name), t.type, {t.type, t.type}, [](In in) { return in[0] ^ in[1]; });
        add(word("not", t.name), t.type, {t.type}, [](In in) { return ~in[0]; });
        add(word("cnot", t.name), t.type, {t.type}, [](In in) { return u64{I::of(in[0]) == 0}; });
        add(word("shl", t.name), t.type, {t.type, Type::u32}, [](In in) { return in[1] >= n ? 0 : in[0] << in[1]; });
        add(word("mov", t.name), t.type, {t.type}, [](In in) { return in[0]; });
        add(word("selp", t.name), t.type, {t.type, t.type, Type::pred}, [](In in) { return in[2] != 0 ? in[0] : in[1]; });
        add(word("slct", t.name, "s32"), t.type, {t.type, t.type, Type::s32}, [](In in) { return kS32.of(in[2]) >= 0 ? in[0] : in[1]; });
        add(word("slct", t.name, "f32"), t.type, {t.type, t.type, Type::f32},
            [](In in) { return std::bit_cast<float>(static_cast<u32>(in[2])) >= 0 ? in[0] : in[1]; });
    });
    for_integers([]<class I>(I t) {
        add(word("shr", t.name), t.type, {t.type, Type::u32}, [](In in) { return low(I::of(in[0]) >> std::min<u64>(in[1], I::kBits)); });
    });
    add("and.pred", Type::pred, {Type::pred, Type::pred}, [](In in) { return in[0] & in[1]; });
    add("or.pred", Type::pred, {Type::pred, Type::pred}, [](In in) { return in[0] | in[1]; });
    add("xor.pred", Type::pred, {Type::pred, Type::pred}, [](In in) { return in[0] ^ in[1]; });
    add("not.pred", Type::pred, {Type::pred}, [](In in) { return in[0] ^ 1; });
    add("mov.pred", Type::pred, {Type::pred}, [](In in) { return in[0]; });
    add("lop3.b32", Type::b32, {Type::b32, Type::b32, Type::b32, Type::u32}, [](In in) {
        u64 result = 0;
        for (int i = 0; i < 32; ++i) result |= (in[3] >> ((in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 | (in[2] >> i & 1)) & 1) << i;
        return result;
    }).byte_source = 3;
}

void bit_fields() {
    for_words([]<class I>(I t) {
        constexpr u64 n = I::kBits;
        constexpr bool kSigned = std::is_signed_v<typename I::Value>;
        add(word("bfe", t.name), t.type, {t.type, Type::u32, Type::u32}, [](In in) {
            const u64 from = in[1] & 255, length = in[2] & 255;
            const bool sign = kSigned && length != 0 && (in[0] >> std::min(from + length - 1, n - 1) & 1) != 0;
            u64 result = 0;
            for (u64 i = 0; i < n; ++i) result |= u64{i < length && from + i < n ? (in[0] >> (from + i) & 1) != 0 : sign} << i;
            return result;
        });
        for (const bool shift : {false, true}) {
            add(word(shift ? "bfind.shiftamt" : "bfind", t.name), Type::u32, {t.type}, [shift](In in) {
                const auto value = I::of(in[0]);
                const int length = bit_length(static_cast<u128>(value < 0 ? -1 - value : value));
                return length == 0 ? 0xFFFFFFFF : static_cast<u64>(shift ? static_cast<int>(n) - length : length - 1);
            });
        }
    });
    const auto plain = []<class I>(I t) {
        constexpr u64 n = I::kBits;
        add(word("bfi", t.name), t.type, {t.type, t.type, Type::u32, Type::u32}, [](In in) {
            const u64 from = in[2] & 255, length = in[3] & 255;
            u64 result = in[1];
            for (u64 i = 0; i < length && from + i < n; ++i) result = (result & ~(u64{1} << (from + i))) | (in[0] >> i & 1) << (from + i);
            return result;
        });
        add(word("brev", t.name), t.type, {t.type}, [](In in) {
            u64 result = 0;
            for (u64 i = 0; i < n; ++i) result |= (in[0] >> i & 1) << (n - 1 - i);
            return result;
        });
        add(word("popc", t.name), Type::u32, {t.type}, [](In in) { return static_cast<u64>(std::popcount(in[0] & ones(n))); });
        add(word("clz", t.name), Type::u32, {t.type}, [](In in) { return n - static_cast<u64>(bit_length(I::of(in[0]))); });
    };
    plain(kB32), plain(kB64);
    for (const bool wrap : {false, true}) {
        const std::string_view mode = wrap ? "wrap.b32" : "clamp.b32";
        const auto amount = [wrap](u64 bits) { return wrap ? bits & 31 : std::min<u64>(bits, 32); };
        add(word("shf.l", mode), Type::b32, {Type::b32, Type::b32, Type::u32},
            [=](In in) { return ((in[1] << 32 | in[0]) << amount(in[2])) >> 32; });
        add(word("shf.r", mode), Type::b32, {Type::b32, Type::b32, Type::u32},
            [=](In in) { return (in[1] << 32 | in[0]) >> amount(in[2]); });
        add(word("bmsk", mode), Type::b32, {Type::u32, Type::u32}, [=](In in) {
            const u64 from = wrap ? in[0] & 31 : in[0], length = wrap ? in[1] & 31 : in[1];
            return ones(std::min<u64>(from + length, 32)) & ~ones(std::min<u64>(from, 32));
        });
    }
}

void permutations() {
    const auto permute = [](std::string_view mode, auto pick) {
        add("prmt.b32" + std::string(mode), Type::b32, {Type::b32, Type::b32, Type::b32}, [pick](In in) {
            const u64 both = in[1] << 32 | in[0];
            u64 result = 0;
            for (u64 k = 0; k < 4; ++k) {
                const u64 which = pick(in[2], k);
                const u64 byte = both >> (which & 7) * 8 & 255;
                result |= ((which & 8) == 0 ? byte : byte >= 128 ? u64{255} : 0) << k * 8;
            }
            return result;
        });
    };
    permute("", [](u64 c, u64 k) { return c >> 4 * k & 15; });
    permute(".f4e", [](u64 c, u64 k) { return ((c & 3) + k) & 7; });
    permute(".b4e", [](u64 c, u64 k) { return ((c & 3) - k) & 7; });
    permute(".rc8", [](u64 c, u64) { return c & 3; });
    permute(".ecl", [](u64 c, u64 k) { return std::max(c & 3, k); });
    permute(".ecr", [](u64 c, u64 k) { return std::min(c & 3, k); });
    permute(".rc16", [](u64 c, u64 k) { return (k & 1) + 2 * (c & 1); });
}

/// Denormal numbers become zeros of the same sign.
u64 flushed(u64 bits, const Format& f) {
    return (bits & f.infinity()) == 0 ? bits & f.sign() : bits;
}
/// To 0..1; a NaN becomes 0.
u64 saturated(u64 bits, const Format& f) {
    const Real value = unpacked(bits, f);
    if (value.nan() || value.negative || value.zero()) return 0;
    const u64 one = packed({Real::Kind::finite, false, 1, 0}, f);
    return std::min(bits, one);
}

/// What modifiers do to the sources and the result of a floating-point operation.
struct Modifiers {
    bool ftz = false, sat = false, relu = false;
    u64 before(u64 bits, const Format& f) const { return ftz ? flushed(bits, f) : bits; }
    u64 after(u64 bits, const Format& f) const {
        if (sat) bits = saturated(bits, f);
        if (ftz) bits = flushed(bits, f);
        if (relu && !unpacked(bits, f).nan() && (bits & f.sign()) != 0) bits = 0;
        return bits;
    }
    std::string text() const { return std::string(ftz ? ".ftz" : "") + (sat ? ".sat" : "") + (relu ? ".relu" : ""); }
};

using Exact = std::function<Real(const Real*, Direction)>;
/// One value, or two in the halves of a register.
void add_float(std::string opcode, const Floating& t, bool two, std::size_t sources, Rounding rounding, Modifiers m, const Exact& exact) {
    const Type type = !two ? t.type : t.type == Type::f16 ? Type::f16x2 : Type::bf16x2;
    opcode += "." + std::string(t.name) + (two ? "x2" : "");
    add(std::move(opcode), type, std::vector<Type>(sources, type), [=](In in) {
        u64 result = 0;
        for (u64 half = 0; half < (two ? 2 : 1); ++half) {
            Real value[3];
            for (std::size_t k = 0; k < sources; ++k) {
                const u64 bits = two ? in[k] >> 16 * half & 0xFFFF : in[k];
                value[k] = unpacked(m.before(bits & ones(static_cast<u64>(t.format.fraction + t.format.exponent + 1)), t.format), t.format);
            }
            result |= m.after(packed(exact(value, rounding.direction), t.format, rounding.direction), t.format) << 16 * half;
        }
        return result;
    });
}

const Exact kSum = [](const Real* v, Direction d) { return sum(v[0], v[1], d); };
const Exact kDifference = [](const Real* v, Direction d) { return v[0].nan() || v[1].nan() ? kNan : sum(v[0], negated(v[1]), d); };
const Exact kProduct = [](const Real* v, Direction) { return product(v[0], v[1]); };
const Exact kFused = [](const Real* v, Direction d) { return sum(product(v[0], v[1]), v[2], d); };
const Exact kQuotient = [](const Real* v, Direction) { return quotient(v[0], v[1]); };
const Exact kReciprocal = [](const Real* v, Direction) { return quotient({Real::Kind::finite, false, 1, 0}, v[0]); };
const Exact kRoot = [](const Real* v, Direction) { return root(v[0]); };

void floating_arithmetic() {
    for (const Floating& t : {kF32, kF64}) {
        const bool single = t.type == Type::f32;
        for (const Rounding& r : kRoundings) {
            for (const int flags : {0, 1, 2, 3}) {
                const Modifiers m{(flags & 1) != 0, (flags & 2) != 0, false};
                if (!single && flags != 0) continue;
                const std::string modifiers = std::string(r.word) + m.text();
                add_float("add" + modifiers, t, false, 2, r, m, kSum);
                add_float("sub" + modifiers, t, false, 2, r, m, kDifference);
                add_float("mul" + modifiers, t, false, 2, r, m, kProduct);
                add_float("fma" + modifiers, t, false, 3, r, m, kFused);
                if (m.sat) continue;
                add_float("div" + modifiers, t, false, 2, r, m, kQuotient);
                add_float("rcp" + modifiers, t, false, 1, r, m, kReciprocal);
                add_float("sqrt" + modifiers, t, false, 1, r, m, kRoot);
            }
        }
    }
}

/// Only to nearest, alone and in pairs.
void half_arithmetic() {
    const Rounding r = kRoundings[0];
    for (const Floating& t : {kF16, kBf16}) {
        for (const bool two : {false, true}) {
            const auto rows = [&](const Modifiers& m) {
                for (const std::string& rounding : {std::string(".rn"), std::string()}) {
                    add_float("add" + rounding + m.text(), t, two, 2, r, m, kSum);
                    add_float("sub" + rounding + m.text(), t, two, 2, r, m, kDifference);
                    add_float("mul" + rounding + m.text(), t, two, 2, r, m, kProduct);
                }
                add_float("fma.rn" + m.text(), t, two, 3, r, m, kFused);
            };
            rows({});
            add_float("fma.rn.relu", t, two, 3, r, {false, false, true}, kFused);
            if (t.type != Type::f16) continue;
            rows({true, false, false}), rows({false, true, false}), rows({true, true, false});
            add_float("fma.rn.ftz.relu", t, two, 3, r, {true, false, true}, kFused);
        }
    }
}

/// -0 is less than +0. A number wins over a NaN unless `keep`.
Real extreme(const Real* v, bool largest, bool keep) {
    if (v[0].nan() || v[1].nan()) return keep || (v[0].nan() && v[1].nan()) ? kNan : v[0].nan() ? v[1] : v[0];
    const auto less = [](const Real& a, const Real& b) {
        if (a.negative != b.negative) return a.negative;
        if (a.infinite() || b.infinite()) return a.negative ? a.infinite() && !b.infinite() : b.infinite() && !a.infinite();
        const Real rest = sum(a, negated(b), Direction::nearest);
        return !rest.zero() && rest.negative;
    };
    return less(v[0], v[1]) == largest ? v[1] : v[0];
}

void signs_and_extremes() {
    const Rounding r = kRoundings[0];
    for (const Floating& t : {kF16, kBf16, kF32, kF64}) {
        for (const bool two : {false, true}) {
            const bool half = t.type == Type::f16 || t.type == Type::bf16;
            if (two && !half) continue;
            for (const bool ftz : {false, true}) {
                if (ftz && t.type != Type::f32 && t.type != Type::f16) continue;
                const Modifiers m{ftz, false, false};
                for (const bool keep : {false, true}) {
                    if (keep && t.type == Type::f64) continue;
                    const std::string modifiers = m.text() + (keep ? ".NaN" : "");
                    add_float("min" + modifiers, t, two, 2, r, m, [keep](const Real* v, Direction) { return extreme(v, false, keep); });
                    add_float("max" + modifiers, t, two, 2, r, m, [keep](const Real* v, Direction) { return extreme(v, true, keep); });
                }
                if (half && ftz) continue;  // rarely used, and NaNs differ
                const Type type = !two ? t.type : t.type == Type::f16 ? Type::f16x2 : Type::bf16x2;
                const u64 sign = two ? t.format.sign() << 16 | t.format.sign() : t.format.sign();
                const std::string end = m.text() + "." + std::string(t.name) + (two ? "x2" : "");
                const auto finish = [=](u64 bits) {
                    return ftz ? (unpacked(bits, t.format).nan() ? t.format.nan : flushed(bits, t.format)) : bits;
                };
                add("neg" + end, type, {type}, [=](In in) { return finish(in[0] ^ sign); });
                add("abs" + end, type, {type}, [=](In in) { return finish(in[0] & ~sign); });
            }
        }
    }
    for (const Floating& t : {kF32, kF64}) {
        const u64 sign = t.format.sign();
        add(word("copysign", t.name), t.type, {t.type, t.type}, [sign](In in) { return (in[0] & sign) | (in[1] & ~sign); });
        constexpr std::string_view kProperties[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
        for (const std::string_view property : kProperties) {
            add(word("testp", property, t.name), Type::pred, {t.type}, [=](In in) -> u64 {
                const Real value = unpacked(in[0], t.format);
                const bool finite = value.kind == Real::Kind::finite;
                const bool small = (in[0] & t.format.infinity()) == 0;
                if (property == "finite") return finite;
                if (property == "infinite") return value.infinite();
                if (property == "number") return !value.nan();
                if (property == "notanumber") return value.nan();
                return property == "normal" ? finite && !small : small && !value.zero();
            });
        }
    }
}

/// -1, 0, 1; 2: unordered
int order(u64 a, u64 b, const Floating& t) {
    const Real values[] = {unpacked(a, t.format), unpacked(b, t.format)};
    if (values[0].nan() || values[1].nan()) return 2;
    const double x = std::bit_cast<double>(packed(values[0], kDouble)), y = std::bit_cast<double>(packed(values[1], kDouble));
    return x < y ? -1 : x > y ? 1 : 0;
}
bool holds(std::string_view how, int order) {
    const bool unordered = order == 2;
    if (how == "num") return !unordered;
    if (how == "nan") return unordered;
    if (how.size() == 3) return unordered || holds(how.substr(0, 2), order);
    if (unordered) return false;
    return how == "eq"                  ? order == 0
           : how == "ne"                ? order != 0
           : how == "lt" || how == "lo" ? order < 0
           : how == "le" || how == "ls" ? order <= 0
           : how == "gt" || how == "hi" ? order > 0
                                        : order >= 0;
}

using Order = std::function<int(In)>;
void compare(std::string_view how, std::string_view ftz, std::string_view name, Type type, const Order& order_of) {
    const std::string end = std::string(ftz) + "." + std::string(name);
    const std::string head = "setp." + std::string(how);
    const auto test = [=](In in) -> u64 { return holds(how, order_of(in)); };
    add(head + end, Type::pred, {type, type}, test);
    for (const std::string_view bool_op : {"and", "or", "xor"}) {
        const auto combine = [=](u64 a, u64 c) { return bool_op == "and" ? a & c : bool_op == "or" ? a | c : a ^ c; };
        Rule& rule = add(head + "." + std::string(bool_op) + end, Type::pred, {type, type, Type::pred}, {});
        rule.results = {Type::pred, Type::pred};
        rule.form = Rule::Form::pair;
        rule.lane = [=](const Lane& lane) {
            lane.out[0] = combine(test(lane.in), lane.in[2]);
            lane.out[1] = combine(test(lane.in) ^ 1, lane.in[2]);
        };
    }
    const std::string set = "set." + std::string(how) + std::string(ftz);
    add(set + ".u32." + std::string(name), Type::u32, {type, type}, [=](In in) { return test(in) != 0 ? 0xFFFFFFFF : u64{0}; });
    add(set + ".f32." + std::string(name), Type::f32, {type, type}, [=](In in) { return test(in) != 0 ? 0x3F800000 : u64{0}; });
}

void comparisons() {
    const auto integer = []<class I>(I t, std::string_view how) {
        compare(how, "", t.name, t.type, [](In in) { return I::of(in[0]) < I::of(in[1]) ? -1 : I::of(in[0]) > I::of(in[1]) ? 1 : 0; });
    };
    for_integers([&](auto t) {
        for (const std::string_view how : {"eq", "ne", "lt", "le", "gt", "ge"}) integer(t, how);
    });
    for (const std::string_view how : {"lo", "ls", "hi", "hs"}) integer(kU32, how), integer(kU64, how);
    for_bits([&](auto t) { integer(t, "eq"), integer(t, "ne"); });
    for (const Floating& t : {kF16, kBf16, kF32, kF64}) {
        for (const std::string_view how : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
            compare(how, "", t.name, t.type, [t](In in) { return order(in[0], in[1], t); });
            if (t.type == Type::f32)
                compare(how, ".ftz", t.name, t.type, [t](In in) { return order(flushed(in[0], t.format), flushed(in[1], t.format), t); });
        }
    }
}

Real whole(s128 value) {
    Real real;
    real.negative = value < 0;
    real.magnitude = static_cast<u128>(value < 0 ? -value : value);
    return real;
}

/// A NaN becomes 0 or, if one of the types has 64 bits, only the top bit.
template <class I>
u64 to_integer(const Real& value, Direction direction, bool wide) {
    using T = typename I::Value;
    constexpr s128 kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    if (value.nan()) return wide ? u64{1} << (I::kBits - 1) : 0;
    const Real rounded = integral(value, direction);
    const bool huge = value.infinite() || (!rounded.zero() && bit_length(rounded.magnitude) + rounded.exponent > 70);
    if (huge) return low(value.negative ? kLeast : kMost);
    const s128 size = rounded.exponent >= 0 ? static_cast<s128>(rounded.magnitude << rounded.exponent) : s128{0};
    return low(clamped(value.negative ? -size : size, kLeast, kMost));
}

void conversions_of_integers() {
    for_all_integers([]<class To>(To to) {
        for_all_integers([to]<class From>(From from) {
            using T = typename To::Value;
            add(word("cvt", to.name, from.name), to.type, {from.type}, [](In in) { return low(To::of(low(From::of(in[0])))); });
            add(word("cvt.sat", to.name, from.name), to.type, {from.type}, [](In in) {
                return low(clamped(static_cast<s128>(From::of(in[0])), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
            });
        });
        for (const Floating& t : {kF16, kBf16, kF32, kF64}) {
            for (const Rounding& r : kRoundings) {
                add(word("cvt" + std::string(r.word), t.name, to.name), t.type, {to.type},
                    [t, r](In in) { return packed(whole(static_cast<s128>(To::of(in[0]))), t.format, r.direction); });
                for (const bool ftz : {false, true}) {
                    if (ftz && t.type != Type::f32) continue;
                    add(word("cvt" + std::string(r.word) + "i" + (ftz ? ".ftz" : ""), to.name, t.name), to.type, {t.type},
                        [t, r, ftz](In in) {
                            const u64 bits = ftz ? flushed(in[0], t.format) : in[0];
                            const u64 value = to_integer<To>(unpacked(bits, t.format), r.direction, t.type == Type::f64 || To::kBits == 64);
                            return low(To::of(value));
                        });
                }
            }
        }
    });
}

void conversions_of_floats() {
    const auto convert = [](std::string opcode, const Floating& to, const Floating& from, Direction direction, Modifiers m) {
        add(std::move(opcode) + "." + std::string(to.name) + "." + std::string(from.name), to.type, {from.type}, [=](In in) {
            const u64 bits = m.ftz && from.type == Type::f32 ? flushed(in[0], kSingle) : in[0];
            u64 result = packed(unpacked(bits, from.format), to.format, direction);
            if (m.sat) result = saturated(result, to.format);
            if (m.relu && (result & to.format.sign()) != 0 && !unpacked(result, to.format).nan()) result = 0;
            return m.ftz && to.type == Type::f32 ? flushed(result, kSingle) : result;
        });
    };
    for (const bool ftz : {false, true}) {
        for (const bool sat : {false, true}) {
            const Modifiers m{ftz, sat, false};
            for (const Rounding& r : kRoundings) convert("cvt" + std::string(r.word) + m.text(), kF32, kF64, r.direction, m);
            convert("cvt" + m.text(), kF64, kF32, Direction::nearest, m);
        }
    }
    const Direction nearest = Direction::nearest;
    convert("cvt", kF32, kF16, nearest, {}), convert("cvt", kF64, kF16, nearest, {}), convert("cvt", kF32, kBf16, nearest, {});
    for (const Rounding& r : {kRoundings[0], kRoundings[1]}) {
        const std::string head = "cvt" + std::string(r.word);
        convert(head, kF16, kF32, r.direction, {}), convert(head, kBf16, kF32, r.direction, {}), convert(head, kF16, kF64, r.direction, {});
        convert(head + ".relu", kF16, kF32, r.direction, {false, false, true}),
            convert(head + ".relu", kBf16, kF32, r.direction, {false, false, true});
        for (const Floating& t : {kF16, kBf16}) {  // the first source goes to the upper half
            const Type both = t.type == Type::f16 ? Type::f16x2 : Type::bf16x2;
            for (const bool relu : {false, true}) {
                add(head + (relu ? ".relu." : ".") + std::string(t.name) + "x2.f32", both, {Type::f32, Type::f32}, [=](In in) {
                    const auto one = [&](u64 bits) {
                        const u64 value = packed(unpacked(bits, kSingle), t.format, r.direction);
                        return relu && (value & t.format.sign()) != 0 ? u64{0} : value;
                    };
                    return one(in[0]) << 16 | one(in[1]);
                });
            }
        }
    }
    for (const Floating& t : {kF32, kF64}) {
        for (const Rounding& r : kRoundings) {
            add("cvt" + std::string(r.word) + "i." + std::string(t.name) + "." + std::string(t.name), t.type, {t.type},
                [=](In in) { return packed(integral(unpacked(in[0], t.format), r.direction), t.format); });
        }
    }
}

void packing() {
    const auto both = [](std::string_view opcode, Type whole, Type part, std::size_t count) {
        const u64 width = type_bytes(part) * 8;
        Rule pack;
        pack.opcode = opcode;
        pack.results = {whole};
        pack.sources.assign(count, part);
        pack.form = Rule::Form::vector_source;
        pack.lane = [=](const Lane& lane) {
            lane.out[0] = 0;
            for (std::size_t k = 0; k < count; ++k) lane.out[0] |= (lane.in[k] & ones(width)) << width * k;
        };
        Rule unpack;
        unpack.opcode = opcode;
        unpack.results.assign(count, part);
        unpack.sources = {whole};
        unpack.form = Rule::Form::vector_result;
        unpack.lane = [=](const Lane& lane) {
            for (std::size_t k = 0; k < count; ++k) lane.out[k] = lane.in[0] >> width * k;
        };
        table.push_back(std::move(pack));
        table.push_back(std::move(unpack));
    };
    both("mov.b32", Type::b32, Type::b16, 2), both("mov.b64", Type::b64, Type::b32, 2), both("mov.b64", Type::b64, Type::b16, 4);
}

Rule& across(std::string opcode, std::vector<Type> results, std::vector<Type> sources, std::function<void(const Lanes&)> lanes) {
    Rule rule;
    rule.opcode = std::move(opcode);
    rule.form = results.size() > 1 ? Rule::Form::pair : Rule::Form::plain;
    rule.results = std::move(results);
    rule.sources = std::move(sources);
    rule.lanes = std::move(lanes);
    rule.member_mask = true;
    return table.emplace_back(std::move(rule));
}
template <class F>
void each(u32 mask, F f) {
    for (u32 i = 0; i < 32; ++i) {
        if ((mask >> i & 1) != 0) f(i);
    }
}

void shuffles() {
    for (const std::string_view mode : {"up", "down", "bfly", "idx"}) {
        across(word("shfl.sync", mode, "b32"), {Type::b32, Type::pred}, {Type::b32, Type::b32, Type::b32}, [mode](const Lanes& all) {
            each(all.active, [&](u32 i) {
                const s32 lane = static_cast<s32>(i), b = static_cast<s32>(all.in[i][1] & 31);
                const s32 clamp = static_cast<s32>(all.in[i][2] & 31), segment = static_cast<s32>(all.in[i][2] >> 8 & 31);
                const s32 last = (lane & segment) | (clamp & ~segment), first = lane & segment;
                s32 from = mode == "up" ? lane - b : mode == "down" ? lane + b : mode == "bfly" ? lane ^ b : first | (b & ~segment);
                const bool inside = mode == "up" ? from >= last : from <= last;
                if (!inside) from = lane;
                all.out[i][0] = all.in[from & 31][0];
                all.out[i][1] = inside;
            });
        }).needs_all_lanes = true;
    }
}

void votes() {
    const auto vote = [](std::string_view opcode, Type result, auto value) {
        across(std::string(opcode), {result}, {Type::pred}, [value](const Lanes& all) {
            u32 set = 0;
            each(all.active, [&](u32 i) { set |= static_cast<u32>(all.in[i][0]) << i; });
            each(all.active, [&](u32 i) { all.out[i][0] = value(set, all.active); });
        });
    };
    vote("vote.sync.all.pred", Type::pred, [](u32 set, u32 active) { return u64{set == active}; });
    vote("vote.sync.any.pred", Type::pred, [](u32 set, u32) { return u64{set != 0}; });
    vote("vote.sync.uni.pred", Type::pred, [](u32 set, u32 active) { return u64{set == 0 || set == active}; });
    vote("vote.sync.ballot.b32", Type::b32, [](u32 set, u32) { return u64{set}; });
    across("activemask.b32", {Type::b32}, {}, [](const Lanes& all) {
        each(all.active, [&](u32 i) { all.out[i][0] = all.active; });
    }).member_mask = false;
    for (const auto& [name, type] : {std::pair("b32", Type::b32), std::pair("b64", Type::b64)}) {
        const auto same = [](const Lanes& all, u32 i) {
            u32 mask = 0;
            each(all.active, [&](u32 k) { mask |= u32{all.in[k][0] == all.in[i][0]} << k; });
            return mask;
        };
        across(word("match.any.sync", name), {Type::b32}, {type},
               [same](const Lanes& all) { each(all.active, [&](u32 i) { all.out[i][0] = same(all, i); }); });
        across(word("match.all.sync", name), {Type::b32, Type::pred}, {type}, [same](const Lanes& all) {
            each(all.active, [&](u32 i) {
                all.out[i][1] = same(all, i) == all.active;
                all.out[i][0] = all.out[i][1] != 0 ? all.active : 0;
            });
        });
    }
    const auto reduce = []<class I>(std::string_view name, I t, auto combine) {
        across(word("redux.sync", name, t.name), {t.type}, {t.type}, [combine](const Lanes& all) {
            bool first = true;
            typename I::Wide value = 0;
            each(all.active, [&](u32 i) {
                value = first ? I::of(all.in[i][0]) : combine(value, I::of(all.in[i][0]));
                first = false;
            });
            each(all.active, [&](u32 i) { all.out[i][0] = low(value); });
        });
    };
    const auto arithmetic = [&](auto t) {
        reduce("add", t, [](auto a, auto b) { return a + b; });
        reduce("min", t, [](auto a, auto b) { return a < b ? a : b; });
        reduce("max", t, [](auto a, auto b) { return a > b ? a : b; });
    };
    arithmetic(kU32), arithmetic(kS32);
    reduce("and", kB32, [](auto a, auto b) { return a & b; });
    reduce("or", kB32, [](auto a, auto b) { return a | b; });
    reduce("xor", kB32, [](auto a, auto b) { return a ^ b; });
}

}  // namespace

const std::vector<Rule>& rules() {
    static const std::vector<Rule> all = [] {
        integer_arithmetic();
        dot_products();
        carry_chains();
        logic();
        bit_fields();
        permutations();
        floating_arithmetic();
        half_arithmetic();
        signs_and_extremes();
        comparisons();
        conversions_of_integers();
        conversions_of_floats();
        packing();
        shuffles();
        votes();
        return std::move(table);
    }();
    return all;
}

}  // namespace mergelane::ptx::reference
