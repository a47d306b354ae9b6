// SPDX-License-Identifier: MIT
// Instructions in which lanes see each other: shuffles, votes, matches, reductions.
#pragma once

#include "workload/ptx/lanes/memory.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// d|p = a of another lane; b: lane or distance, c: clamp and segment mask. A lane whose source is outside its segment keeps its own value.
template <Shuffle Mode>
void shuffle(Warp& warp, const Inst& inst, u32 mask) {
    u32 a[32];
    std::memcpy(a, in<u32>(warp, inst.a), sizeof a);
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    u32 value[32];
    u32 valid = 0;
    for (u32 i = 0; i < 32; ++i) {
        const u32 by = b[i] & 31;
        const u32 clamp = c[i] & 31;
        const u32 segment = c[i] >> 8 & 31;
        const u32 highest = (i & segment) | (clamp & ~segment);
        const u32 lowest = i & segment;
        u32 from = lowest | (by & ~segment);
        if (Mode == Shuffle::up) from = i - by;
        if (Mode == Shuffle::down) from = i + by;
        if (Mode == Shuffle::bfly) from = i ^ by;
        const bool inside = Mode == Shuffle::up ? static_cast<s32>(from) >= static_cast<s32>(highest) : from <= highest;
        value[i] = a[inside ? from & 31 : i];
        valid |= inside ? kBit[i] : 0;
    }
    map<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
    if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, valid);
}

template <Op K>
void vote(Warp& warp, const Inst& inst, u32 mask) {
    const u32 p = (inst.negate ? ~predicate(warp, inst.a) : predicate(warp, inst.a)) & mask;
    if constexpr (K == Op::vote_ballot) {
        map<u32>(warp, inst.d, mask, [=](u32) { return p; });
    } else {
        const bool yes = K == Op::vote_all ? p == mask : K == Op::vote_any ? p != 0 : p == mask || p == 0;
        set_predicate(warp, inst.d, mask, yes ? kAll : 0);
    }
}
void active_mask(Warp& warp, const Inst& inst, u32 mask) {
    map<u32>(warp, inst.d, mask, [=](u32) { return mask; });
}
template <class T, bool All>
void match(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    u32 value[32] = {};
    u32 same_for_all = kAll;
    each_lane(mask, [&](u32 i) {
        u32 same = 0;
        for (u32 k = 0; k < 32; ++k) same |= a[k] == a[i] ? kBit[k] : 0;
        value[i] = same & mask;
        if (value[i] != mask) same_for_all = 0;
    });
    if (All) {
        if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, same_for_all);
        for (u32& v : value) v = same_for_all & mask;
    }
    map_active<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}
template <AtomicOp K, class T>
void reduce_lanes(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    T value = a[first_lane(mask)];
    for (u32 left = mask & (mask - 1); left != 0; left &= left - 1) value = combine<K, T>(value, a[__builtin_ctz(left)], T{0});
    map<T>(warp, inst.d, mask, [=](u32) { return value; });
}
void no_operation(Warp&, const Inst&, u32) {}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
