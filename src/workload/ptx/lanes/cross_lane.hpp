// SPDX-License-Identifier: MIT
// Instructions in which lanes see each other: shuffles, votes, matches, reductions.
#pragma once

#include "workload/ptx/lanes/memory.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// The usual shuffle: of a whole warp that is one segment, by the same distance for all lanes. False if it is another one.
template <Shuffle Mode>
inline bool shuffle_together(Warp& warp, const Inst& inst) {
    const u32* b = in<u32>(warp, inst.b);
    const u32* c = in<u32>(warp, inst.c);
    constexpr u32 kSegment = Mode == Shuffle::up ? 0 : 31;
    u32 wrong = 0;
    for (u32 i = 0; i < 32; ++i) wrong |= (b[i] ^ b[0]) | (c[i] ^ kSegment);
    if (wrong != 0) return false;
    const u32 by = b[0] & 31;
    const u32* a = in<u32>(warp, inst.a);
    u32* d = out<u32>(warp, inst.d);
    u32 valid = kAll;
    if constexpr (Mode == Shuffle::bfly) {
#if defined(MERGELANE_VECTORS)
        exchange_lanes(a, d, by);
#else
        u32 value[32];
        for (u32 i = 0; i < 32; ++i) value[i] = a[i ^ by];
        std::memcpy(d, value, sizeof value);
#endif
    } else if constexpr (Mode == Shuffle::idx) {
        const u32 value = a[by];
        for (u32 i = 0; i < 32; ++i) d[i] = value;
    } else {
        const bool up = Mode == Shuffle::up;
        u32 value[32];
        std::memcpy(value, a, sizeof value);
        std::memcpy(value + (up ? by : 0), a + (up ? 0 : by), (32 - by) * sizeof *a);
        std::memcpy(d, value, sizeof value);
        valid = up ? kAll << by : kAll >> by;
    }
    if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, kAll, valid);
    return true;
}

/// d|p = a of another lane; b: lane or distance, c: clamp and segment mask. A lane whose source is outside its segment keeps its own value.
/// A source lane that does not execute gives 0, as hardware does; PTX leaves it open, as it does for lanes outside of the member mask.
template <Shuffle Mode>
void shuffle(Warp& warp, const Inst& inst, u32 mask) {
    if (mask == kAll && shuffle_together<Mode>(warp, inst)) return;
    u32 a[32];
    std::memcpy(a, in<u32>(warp, inst.a), sizeof a);
    if (mask != kAll) {
        for (u32 i = 0; i < 32; ++i) a[i] = (mask & kBit[i]) != 0 ? a[i] : 0;
    }
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

/// The member mask of each lane is in inst.c. Calls `one(lanes, members)` for each set of lanes that have the same mask: the members are
/// those of the mask that execute. A lane outside of its own mask is undefined in PTX; if no lane of a mask executes, its members are the
/// lanes that named it.
template <class One>
inline void each_group(Warp& warp, const Inst& inst, u32 mask, One one) {
    const u32* named = in<u32>(warp, inst.c);
    for (u32 left = mask; left != 0;) {
        const u32 wanted = named[first_lane(left)];
        u32 lanes = 0;
        for (u32 i = 0; i < 32; ++i) lanes |= named[i] == wanted ? kBit[i] : 0;
        lanes &= left;
        const u32 members = wanted & mask;
        one(lanes, members != 0 ? members : lanes);
        left &= ~lanes;
    }
}

/// Whether a predicate that is true for the members `p` of `members` wins the vote.
template <Op K>
inline bool agreed(u32 p, u32 members) {
    return K == Op::vote_all ? p == members : K == Op::vote_any ? p != 0 : p == members || p == 0;
}
template <Op K>
void vote(Warp& warp, const Inst& inst, u32 mask) {
    const u32 p = (inst.negate ? ~predicate(warp, inst.a) : predicate(warp, inst.a)) & mask;
    if constexpr (K == Op::vote_ballot) {
        map<u32>(warp, inst.d, mask, [=](u32) { return p; });
    } else {
        set_predicate(warp, inst.d, mask, agreed<K>(p, mask) ? kAll : 0);
    }
}
template <Op K>
void vote_in_groups(Warp& warp, const Inst& inst, u32 mask) {
    const u32 p = inst.negate ? ~predicate(warp, inst.a) : predicate(warp, inst.a);
    u32 value[32] = {};
    u32 yes = 0;
    each_group(warp, inst, mask, [&](u32 lanes, u32 members) {
        each_lane(lanes, [&](u32 i) { value[i] = p & members; });
        yes |= agreed<K>(p & members, members) ? lanes : 0;
    });
    if constexpr (K == Op::vote_ballot)
        map_active<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
    else
        set_predicate(warp, inst.d, mask, yes);
}
void active_mask(Warp& warp, const Inst& inst, u32 mask) {
    map<u32>(warp, inst.d, mask, [=](u32) { return mask; });
}
/// value[i], for the lanes: the members that hold the same as lane i. Returns whether all do.
template <class T>
inline bool same_members(const T* a, u32 lanes, u32 members, u32 (&value)[32]) {
    bool all = true;
    each_lane(lanes, [&](u32 i) {
        u32 same = 0;
        for (u32 k = 0; k < 32; ++k) same |= a[k] == a[i] ? kBit[k] : 0;
        value[i] = same & members;
        all &= value[i] == members;
    });
    return all;
}
template <class T, bool All>
void match(Warp& warp, const Inst& inst, u32 mask) {
    u32 value[32] = {};
    const u32 same_for_all = same_members(in<T>(warp, inst.a), mask, mask, value) ? kAll : 0;
    if (All) {
        if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, same_for_all);
        for (u32& v : value) v = same_for_all & mask;
    }
    map_active<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}
template <class T, bool All>
void match_in_groups(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    u32 value[32] = {};
    u32 equal = 0;
    each_group(warp, inst, mask, [&](u32 lanes, u32 members) {
        const bool all = same_members(a, lanes, members, value);
        if (All && !all) each_lane(lanes, [&](u32 i) { value[i] = 0; });
        equal |= all ? lanes : 0;
    });
    if (All && inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, equal);
    map_active<u32>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}

template <AtomicOp K, class T>
inline T reduced(const T* a, u32 members) {
    T value = a[first_lane(members)];
    for (u32 left = members & (members - 1); left != 0; left &= left - 1) value = combine<K, T>(value, a[__builtin_ctz(left)], T{0});
    return value;
}
template <AtomicOp K, class T>
void reduce_lanes(Warp& warp, const Inst& inst, u32 mask) {
    const T value = reduced<K>(in<T>(warp, inst.a), mask);
    map<T>(warp, inst.d, mask, [=](u32) { return value; });
}
template <AtomicOp K, class T>
void reduce_in_groups(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    T value[32] = {};
    each_group(warp, inst, mask, [&](u32 lanes, u32 members) {
        const T of_all = reduced<K>(a, members);
        each_lane(lanes, [&](u32 i) { value[i] = of_all; });
    });
    map_active<T>(warp, inst.d, mask, [&](u32 i) { return value[i]; });
}

/// The member mask is a register: `Together` if all lanes name the same one and are all in it, which is the rule.
template <Handler Together, Handler InGroups>
void by_members(Warp& warp, const Inst& inst, u32 mask) {
    const u32* named = in<u32>(warp, inst.c);
    const u32 first = named[first_lane(mask)];
    u32 same = 0;
    for (u32 i = 0; i < 32; ++i) same |= named[i] == first ? kBit[i] : 0;
    (mask & ~(same & first)) == 0 ? Together(warp, inst, mask) : InGroups(warp, inst, mask);
}
void no_operation(Warp&, const Inst&, u32) {}

/// inst.sub: by how many bits the clock is shifted, for its upper half.
template <class T>
void read_clock(Warp& warp, const Inst& inst, u32 mask) {
    const T now = static_cast<T>(warp.launch->read_clock() >> inst.sub);
    map<T>(warp, inst.d, mask, [=](u32) { return now; });
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
