// SPDX-License-Identifier: MIT
// Instructions that compilers seldom write: bit searches, saturating products, video instructions on bytes and halves, packing conversions.
#pragma once

#include "workload/ptx/lanes/cross_lane.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

constexpr auto mad_hi_saturate = [](s32 a, s32 b, s32 c) { return clamped(s64{mul_hi(a, b)} + c); };
constexpr auto mad24_hi = [](auto a, auto b, auto c) { return add(mul24_hi(a, b), c); };
constexpr auto mad24_hi_saturate = [](s32 a, s32 b, s32 c) { return clamped(s64{mul24_hi(a, b)} + c); };

/// The low b bits of a, sign- or zero-extended; inst.sub 1: wrap, 0: clamp
template <bool Signed>
void extend_low_bits(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const bool wrap = inst.sub != 0;
    map_active<u32>(warp, inst.d, mask, [=](u32 i) {
        if (!wrap && b[i] >= 32) return a[i];
        const u32 bits = b[i] & 31;
        if (bits == 0) return 0u;
        const u32 high = a[i] << (32 - bits);
        return Signed ? static_cast<u32>(static_cast<s32>(high) >> (32 - bits)) : high >> (32 - bits);
    });
}
/// fns: the place of the |c|-th set bit of a, from place b on, upwards or, if c is negative, downwards; all ones if there is none.
void find_nth_set(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const s32* c = in<s32>(warp, inst.c);
    map_active<u32>(warp, inst.d, mask, [=](u32 i) {
        const s64 step = c[i] < 0 ? -1 : 1;
        s64 left = c[i] < 0 ? -s64{c[i]} : c[i];
        if (left == 0) return b[i] < 32 && (a[i] >> b[i] & 1) != 0 ? b[i] : kAll;
        for (s64 at = b[i]; at >= 0 && at < 32; at += step) {
            if ((a[i] >> at & 1) != 0 && --left == 0) return static_cast<u32>(at);
        }
        return kAll;
    });
}
/// lop3.and and lop3.or: a predicate that tells whether the result is not 0, combined with another one. a: the result, c: the other
/// predicate; inst.sub: kCombineAnd or kCombineOr
void test_result(Warp& warp, const Inst& inst, u32 mask) {
    const u32* a = in<u32>(warp, inst.a);
    u32 r = 0;
    for (u32 i = 0; i < 32; ++i) r |= a[i] != 0 ? kBit[i] : 0;
    const u32 c = inst.negate ? ~predicate(warp, inst.c) : predicate(warp, inst.c);
    set_predicate(warp, inst.d, mask, inst.sub == kCombineAnd ? r & c : r | c);
}

inline s64 video_result(Video op, Compare compare, s64 a, s64 b) {
    switch (op) {
        case Video::add: return a + b;
        case Video::sub: return a - b;
        case Video::absdiff: return a < b ? b - a : a - b;
        case Video::min: return a < b ? a : b;
        case Video::max: return a < b ? b : a;
        case Video::set: break;
    }
    switch (compare) {
        case Compare::eq: return a == b;
        case Compare::ne: return a != b;
        case Compare::lt: return a < b;
        case Compare::le: return a <= b;
        case Compare::gt: return a > b;
        default: return a >= b;
    }
}
/// X: unsigned type of a part. inst.sub: Video, inst.bytes: Compare, inst.offset: bits kVideo...
template <class X>
void video(Warp& warp, const Inst& inst, u32 mask) {
    using S = std::make_signed_t<X>;
    const u32* a = in<u32>(warp, inst.a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    const s64 flags = inst.offset;
    const auto part = [](u32 v, u32 at, bool is_signed) {
        const X x = static_cast<X>(v >> at);
        return is_signed ? s64{static_cast<S>(x)} : s64{x};
    };
    map_active<u32>(warp, inst.d, mask, [&](u32 i) {
        u32 parts = 0;
        u32 total = c[i];
        for (u32 at = 0; at < 32; at += 8 * sizeof(X)) {
            const s64 x = part(a[i], at, (flags & kVideoSignedA) != 0);
            const s64 y = part(b[i], at, (flags & kVideoSignedB) != 0);
            s64 r = video_result(static_cast<Video>(inst.sub), static_cast<Compare>(inst.bytes), x, y);
            if ((flags & kVideoSaturates) != 0) {
                const bool is_signed = (flags & kVideoSignedResult) != 0;
                const s64 low = is_signed ? Limits<S>::low : 0;
                const s64 high = is_signed ? static_cast<s64>(Limits<S>::high) : static_cast<s64>(Limits<X>::high);
                r = r < low ? low : r > high ? high : r;
            }
            parts |= u32{static_cast<X>(r)} << at;
            total += static_cast<u32>(r);
        }
        return (flags & kVideoAdds) != 0 ? total : parts;
    });
}

/// cvt.pack: a and b, saturated to a type of 8 or 16 bits, side by side; to the left of bytes, the lower half of c.
template <class To>
void pack_saturated(Warp& warp, const Inst& inst, u32 mask) {
    const s32* a = in<s32>(warp, inst.a);
    const s32* b = in<s32>(warp, inst.b);
    const u32* c = sizeof(To) == 1 ? in<u32>(warp, inst.c) : nullptr;
    const auto one = [](s32 v) {
        const s64 high = static_cast<s64>(Limits<To>::high);
        return u32{static_cast<Unsigned<To>>(v < Limits<To>::low ? Limits<To>::low : v > high ? high : v)};
    };
    map_active<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 both = one(a[i]) << 8 * sizeof(To) | one(b[i]);
        return sizeof(To) == 1 ? c[i] << 16 | both : both;
    });
}

Handler select_rare(const Choice& c) {
    const bool is_signed = c.type == Type::s32;
    if (is_signed || c.type == Type::u32) {
        switch (c.op) {
            case Op::mad_hi: return c.saturate && is_signed ? apply<mad_hi_saturate, s32, 3> : nullptr;
            case Op::mad24_hi:
                if (c.saturate) return is_signed ? apply<mad24_hi_saturate, s32, 3> : nullptr;
                return is_signed ? apply<mad24_hi, s32, 3> : apply<mad24_hi, u32, 3>;
            case Op::szext: return is_signed ? extend_low_bits<true> : extend_low_bits<false>;
            default: break;
        }
    }
    switch (c.op) {
        case Op::fns: return find_nth_set;
        case Op::test_result: return test_result;
        case Op::video: return c.src_bytes == 1 ? video<u8> : video<u16>;
        case Op::cvt_pack:
            switch (c.type) {
                case Type::u8: return pack_saturated<u8>;
                case Type::s8: return pack_saturated<s8>;
                case Type::u16: return pack_saturated<u16>;
                case Type::s16: return pack_saturated<s16>;
                default: return nullptr;
            }
        default: return nullptr;
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
