// SPDX-License-Identifier: MIT
// Loads, stores and atomics: addresses of 32 lanes are checked, recorded, and turned into places on the host.
#pragma once

#include "workload/ptx/lanes/convert.hpp"
#include "workload/ptx/lanes/vectors.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

constexpr u32 kMostBytes = 32;  // one lane's access: four elements of eight bytes, or eight of four

/// Where the lanes' data is on the host: base + lane * stride, or a list.
struct Access {
    bool affine = true;
    std::uintptr_t base = 0;  ///< of lane 0; an integer, for lane 0 need not be active, nor inside
    s64 stride = 0;
    bool readable = false;  ///< a list whose lanes that are not active may be read, too
    std::uintptr_t lane[32];
    std::byte* of(u32 i) const { return reinterpret_cast<std::byte*>(affine ? base + static_cast<std::uintptr_t>(stride) * i : lane[i]); }
};

/// What lanes that left their memory read, and write to.
alignas(64) thread_local std::byte nowhere[kMostBytes];

inline std::byte* lost(Warp& warp, const Inst& inst, StateSpace space, Addr address, u32 lane, u32 bytes) {
    warp.launch->warn(warp, inst, {space, address, lane, bytes});
    std::memset(nowhere, 0, sizeof nowhere);
    return nowhere;
}

/// Whether every lane's address is the one before plus `step`; without products of 64 bits, for which AVX2 has no instruction.
template <class A>
[[gnu::always_inline]] inline bool evenly_spaced(const A* address, A step) {
    constexpr u32 kPiece = 4;
    A wrong = 0;
    for (u32 i = 1; i < kPiece; ++i) wrong |= static_cast<A>(address[i] - address[i - 1]) ^ step;
    const A far = step * kPiece;
    for (u32 i = 0; i < 32 - kPiece; ++i) wrong |= static_cast<A>(address[i + kPiece] - address[i]) ^ far;
    return wrong == 0;
}

inline bool affine_lanes(const Addr* address, u32 mask, Addr& base, s64& stride) {
    if (mask != kAll) return record::find_affine(address, mask, base, stride);
    base = address[0];
    const Addr step = address[1] - base;
    stride = static_cast<s64>(step);
    return evenly_spaced(address, step);
}

inline u32 first_lane(u32 mask) {
    return static_cast<u32>(__builtin_ctz(mask));
}
inline u32 last_lane(u32 mask) {
    return 31u - static_cast<u32>(__builtin_clz(mask));
}

/// The memory a generic address points into, and where that begins among generic addresses.
struct Pointed {
    StateSpace space;
    Addr window;
};
inline Pointed pointed_to(Addr address) {
    if (address - kSharedWindow < kWindowBytes) return {StateSpace::shared, kSharedWindow};
    if (address - kLocalWindow < kWindowBytes) return {StateSpace::local, kLocalWindow};
    return {StateSpace::global, 0};
}

/// The piece of global memory that holds accesses at both addresses; null if there is none.
[[gnu::always_inline]] inline const DeviceMemory::Range* holding(Launch& launch, const Inst& inst, Addr low, Addr high, u32 bytes) {
    DeviceMemory::Range& range = launch.ranges[inst.memory];
    if (!range.holds(low, bytes) || !range.holds(high, bytes)) {
        const DeviceMemory::Range found = launch.memory.find(low);
        if (!found.holds(low, bytes)) return nullptr;
        range = found;
        if (!range.holds(high, bytes)) return nullptr;
    }
    return &range;
}

/// Shared memory of the CTA or of one of its cluster; nullptr: outside.
inline std::byte* shared_bytes(const Warp& warp, Addr address, u64 bytes) {
    if (address + bytes <= warp.shared_bytes && address + bytes >= address) return warp.shared + address;
    const Addr rank = (address >> kRankShift) - 1;
    const Addr offset = address & kRankMask;
    if (rank >= warp.cluster_size || offset + bytes > warp.shared_bytes || offset + bytes < offset) return nullptr;
    return warp.cluster[rank] + offset;
}
/// Parameters of the kernel by their generic address; nullptr: outside.
inline const std::byte* param_bytes(const Warp& warp, Addr address, u64 bytes) {
    const Addr offset = address - kParamWindow;
    return offset <= warp.launch->param_bytes && warp.launch->param_bytes - offset >= bytes ? warp.launch->params + offset : nullptr;
}

/// One lane of a generic or mixed access.
inline std::byte* place(Warp& warp, const Inst& inst, StateSpace space, Addr address, u32 lane, u32 bytes) {
    if (space == StateSpace::generic) {
        const Pointed pointed = pointed_to(address);
        space = pointed.space;
        address -= pointed.window;
    }
    if (space == StateSpace::shared) {
        std::byte* const at = shared_bytes(warp, address, bytes);
        return at != nullptr ? at : lost(warp, inst, space, address, lane, bytes);
    }
    if (space == StateSpace::local) {
        const u32 size = warp.launch->program.local_bytes;
        if (address + bytes > size || address + bytes < address) return lost(warp, inst, space, address, lane, bytes);
        return warp.local + std::size_t{lane} * size + address;
    }
    const DeviceMemory::Range* const range = holding(*warp.launch, inst, address, address, bytes);
    if (range != nullptr) return range->host + (address - range->base);
    const std::byte* const param = inst.store ? nullptr : param_bytes(warp, address, bytes);
    if (param == nullptr) return lost(warp, inst, space, address, lane, bytes);
    std::memcpy(nowhere, param, bytes);  // which nobody may write
    return nowhere;
}

/// The address of a thread's local byte as the timing model sees it: the same place of 32 threads lies side by side.
inline Addr local_place(const Warp& warp, Addr address, u32 lane, u32 bytes) {
    const u32 piece = bytes < 4 ? 4 : bytes;
    return warp.local_address + (address / piece * 32 + lane) * piece + address % piece;
}

/// What 32 lanes ask for; those that are not active have addresses, too.
struct Lanes {
    alignas(64) Addr address[32];
    Addr base;
    s64 stride;
    bool affine;  ///< base + lane * stride
    u32 first;    ///< active lane
    u32 last;
};

[[gnu::always_inline]] inline void find_addresses(const Warp& warp, const Inst& inst, Addr* address) {
    if (inst.address_32) {
        const u32* a = in<u32>(warp, inst.a);
        const u32 offset = static_cast<u32>(inst.offset);
        for (u32 i = 0; i < 32; ++i) address[i] = a[i] + offset;
    } else {
        const u64* a = in<u64>(warp, inst.a);
        const u64 offset = static_cast<u64>(inst.offset);
        for (u32 i = 0; i < 32; ++i) address[i] = a[i] + offset;
    }
}
[[gnu::always_inline]] inline void find_lanes(Warp& warp, const Inst& inst, u32 mask, Lanes& lanes) {
    find_addresses(warp, inst, lanes.address);
    lanes.affine = affine_lanes(lanes.address, mask, lanes.base, lanes.stride);
    lanes.first = first_lane(mask);
    lanes.last = last_lane(mask);
}

inline void record_addresses(Warp& warp, const Inst& inst, u32 mask, const Addr* seen) {
    Addr base;
    s64 stride;
    if (record::find_affine(seen, mask, base, stride))
        warp.recorder->affine(inst.memory, base, stride);
    else
        warp.recorder->lanes(inst.memory, mask, seen);
}

/// Host memory that the program registered is recorded at addresses that do not depend on the host.
[[gnu::noinline]] void record_moved(Warp& warp, const Inst& inst, u32 mask, const Lanes& lanes) {
    Addr seen[32] = {};
    each_lane(mask, [&](u32 i) { seen[i] = warp.launch->memory.timed(lanes.address[i]); });
    record_addresses(warp, inst, mask, seen);
}

/// Records what the timing model will see.
[[gnu::always_inline]] inline void record_lanes(Warp& warp, const Inst& inst, u32 mask, u32 bytes, const Lanes& lanes, Pointed to) {
    if (to.space == StateSpace::local) {
        if (lanes.affine && lanes.stride == 0) {
            warp.recorder->affine(inst.memory, local_place(warp, lanes.base - to.window, 0, bytes), bytes < 4 ? 4 : bytes);
            return;
        }
        Addr seen[32];
        for (u32 i = 0; i < 32; ++i) seen[i] = local_place(warp, lanes.address[i] - to.window, i, bytes);
        record_addresses(warp, inst, mask, seen);
    } else if (to.window == 0 && to.space == StateSpace::global && warp.launch->moved) {
        record_moved(warp, inst, mask, lanes);
    } else if (lanes.affine) {
        warp.recorder->affine(inst.memory, lanes.base - to.window, lanes.stride);
    } else if (to.window == 0) {
        warp.recorder->lanes(inst.memory, mask, lanes.address);
    } else {
        Addr seen[32];
        for (u32 i = 0; i < 32; ++i) seen[i] = lanes.address[i] - to.window;
        warp.recorder->lanes(inst.memory, mask, seen);
    }
}

/// With longer strides addresses wrap, so that lanes between two that are inside may be outside.
constexpr s64 kLongestStride = s64{1} << 40;

/// The place of lane `first`, at address `a` of the memory, if it and the last lane, at `b`, are inside; nullptr: they are not.
[[gnu::always_inline]] inline std::byte* place_ends(Warp& warp, const Inst& inst, u32 bytes, StateSpace space, Addr a, Addr b, u32 first) {
    const Addr low = a < b ? a : b;
    const Addr high = a < b ? b : a;
    if (space == StateSpace::global) {
        const DeviceMemory::Range* const range = holding(*warp.launch, inst, low, high, bytes);
        return range == nullptr ? nullptr : range->host + (a - range->base);
    }
    if (space == StateSpace::shared) return high + bytes <= warp.shared_bytes && high + bytes >= high ? warp.shared + a : nullptr;
    const u32 size = space == StateSpace::local ? warp.launch->program.local_bytes : 0;
    return high + bytes <= size && high + bytes >= high ? warp.local + std::size_t{first} * size + a : nullptr;
}

/// Places of affine lanes: when the outermost are inside, so are the others. False if they are not.
[[gnu::always_inline]] inline bool place_affine(Warp& warp, const Inst& inst, u32 bytes, const Lanes& lanes, Pointed to, Access& access) {
    if (lanes.stride > kLongestStride || lanes.stride < -kLongestStride) return false;
    const Addr a = lanes.address[lanes.first] - to.window;
    const Addr b = lanes.address[lanes.last] - to.window;
    const std::byte* const host = place_ends(warp, inst, bytes, to.space, a, b, lanes.first);
    if (host == nullptr) return false;
    const s64 stride = lanes.stride + (to.space == StateSpace::local ? s64{warp.launch->program.local_bytes} : 0);
    access.affine = true;
    access.base = reinterpret_cast<std::uintptr_t>(host) - static_cast<std::uintptr_t>(stride) * lanes.first;
    access.stride = stride;
    return true;
}

/// The usual access: all lanes are active, evenly spaced and inside. No base: it is another one.
struct Steady {
    std::uintptr_t base = 0;
    s64 stride = 0;
};
template <class A>
[[gnu::always_inline]] inline void find_spacing(Warp& warp, const Inst& inst) {
    const A* a = in<A>(warp, inst.a);
    const A step = a[1] - a[0];
    warp.spacings[inst.spacing_at] = {a[0], static_cast<std::make_signed_t<A>>(step), evenly_spaced(a, step)};
}
/// As record_lanes for evenly spaced lanes; false if it has to do it.
[[gnu::always_inline]] inline bool record_steady(Warp& warp, const Inst& inst, Pointed to, Addr first, s64 stride) {
    if (inst.space == StateSpace::constant) return true;
    if (to.space == StateSpace::local || (to.space == StateSpace::global && warp.launch->moved)) return false;
    if (inst.space == StateSpace::generic) warp.recorder->run(inst.generic_run + (to.space == StateSpace::global ? 0 : 1), kAll);
    warp.recorder->affine(inst.memory, first - to.window, stride);
    return true;
}
[[gnu::noinline]] Steady find_steady(Warp& warp, const Inst& inst, u32 bytes) {
    if (inst.spacing == Spacing::find) inst.address_32 ? find_spacing<u32>(warp, inst) : find_spacing<u64>(warp, inst);
    const LaneSpacing& spacing = warp.spacings[inst.spacing_at];
    if (!spacing.even) return {};
    s64 stride = spacing.stride;
    Addr first = spacing.first + static_cast<Addr>(inst.offset);
    if (inst.address_32) first = static_cast<u32>(first);
    const Addr last = first + static_cast<Addr>(stride) * 31;
    if (inst.address_32 ? last > kAll : stride > kLongestStride || stride < -kLongestStride) return {};
    Pointed to{inst.space == StateSpace::constant ? StateSpace::global : inst.space, 0};
    if (to.space == StateSpace::generic) to = pointed_to(first);
    const std::byte* const host = place_ends(warp, inst, bytes, to.space, first - to.window, last - to.window, 0);
    if (warp.recorder != nullptr && (host == nullptr || !record_steady(warp, inst, to, first, stride))) return {};
    if (to.space == StateSpace::local) stride += warp.launch->program.local_bytes;
    return {reinterpret_cast<std::uintptr_t>(host), stride};
}

/// Places in the CTA's own shared memory by addresses of 32 bits, not recorded. False if they are not all inside.
[[gnu::always_inline]] inline bool place_shared(const Warp& warp, const Inst& inst, u32 mask, u32 bytes, Access& access) {
    const u32* a = in<u32>(warp, inst.a);
    const u32 offset = static_cast<u32>(inst.offset);
    const auto host = reinterpret_cast<std::uintptr_t>(warp.shared);
    u32 high = 0;
    for (u32 i = 0; i < 32; ++i) {
        const u32 at = (mask & kBit[i]) != 0 ? a[i] + offset : 0;
        high = at > high ? at : high;
        access.lane[i] = host + at;
    }
    access.affine = false;
    access.readable = true;
    return u64{high} + bytes <= warp.shared_bytes;
}

/// Places of scattered lanes in one piece of shared or global memory. False if they are not all inside.
[[gnu::always_inline]] inline bool place_scattered(Warp& warp, const Inst& inst, u32 mask, u32 bytes, const Lanes& lanes, StateSpace space,
                                                   Access& access) {
    // Lanes that are not active borrow the address of one that is.
    const Addr borrowed = lanes.address[lanes.first];
    Addr low = ~Addr{0};
    Addr high = 0;
    for (u32 i = 0; i < 32; ++i) {
        const Addr a = (mask & kBit[i]) != 0 ? lanes.address[i] : borrowed;
        access.lane[i] = a;
        low = a < low ? a : low;
        high = a > high ? a : high;
    }
    std::uintptr_t host = 0;  // where address 0 would be
    if (space == StateSpace::shared) {
        if (high + bytes > warp.shared_bytes || high + bytes < high) return false;
        host = reinterpret_cast<std::uintptr_t>(warp.shared);
    } else {
        const DeviceMemory::Range* const range = holding(*warp.launch, inst, low, high, bytes);
        if (range == nullptr) return false;
        host = reinterpret_cast<std::uintptr_t>(range->host) - range->base;
    }
    for (u32 i = 0; i < 32; ++i) access.lane[i] += host;
    access.readable = true;
    return true;
}

[[gnu::noinline]] void resolve(Warp& warp, const Inst& inst, u32 mask, u32 bytes, Access& access) {
    // 1. Addresses of the lanes.
    if (inst.address_32 && inst.space == StateSpace::shared && warp.recorder == nullptr && place_shared(warp, inst, mask, bytes, access))
        return;
    access.readable = false;
    Lanes lanes;
    find_lanes(warp, inst, mask, lanes);

    // 2. Which memory. A generic access goes where its first lane points.
    Pointed to{inst.space == StateSpace::constant ? StateSpace::global : inst.space, 0};
    bool mixed = false;
    if (to.space == StateSpace::generic) {
        to = pointed_to(lanes.address[lanes.first]);
        if (warp.recorder != nullptr)
            warp.recorder->run(inst.generic_run + (to.space == StateSpace::global ? 0 : to.space == StateSpace::shared ? 1 : 2), mask);
        mixed = !lanes.affine;  // lanes may point into different memories
    }

    // 3. Record what the timing model will see.
    if (warp.recorder != nullptr && inst.space != StateSpace::constant) record_lanes(warp, inst, mask, bytes, lanes, to);

    // 4. Places on the host: all at once where possible, else lane by lane.
    if (lanes.affine && !mixed && place_affine(warp, inst, bytes, lanes, to, access)) return;
    access.affine = false;
    if (!mixed && to.space != StateSpace::local && place_scattered(warp, inst, mask, bytes, lanes, to.space, access)) return;
    const StateSpace space = inst.space == StateSpace::generic ? StateSpace::generic : to.space;
    each_lane(mask,
              [&](u32 i) { access.lane[i] = reinterpret_cast<std::uintptr_t>(place(warp, inst, space, lanes.address[i], i, bytes)); });
}

template <class M>
inline M fetch(const std::byte* from) {
    M value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class M>
inline void keep(std::byte* to, M value) {
    std::memcpy(to, &value, sizeof value);
}

template <class M, class R>
[[gnu::always_inline]] inline void load_lanes(R* d, const std::byte* from, s64 stride) {
    if (stride == static_cast<s64>(sizeof(M))) {
        MERGELANE_LANES_LOOP
        for (u32 i = 0; i < 32; ++i) d[i] = static_cast<R>(fetch<M>(from + i * sizeof(M)));
    } else if (stride == 2 * static_cast<s64>(sizeof(M))) {
        MERGELANE_LANES_LOOP
        for (u32 i = 0; i < 32; ++i) d[i] = static_cast<R>(fetch<M>(from + i * 2 * sizeof(M)));
    } else if (stride == 0) {
        const R value = static_cast<R>(fetch<M>(from));
        for (u32 i = 0; i < 32; ++i) d[i] = value;
    } else {
        for (u32 i = 0; i < 32; ++i, from += stride) d[i] = static_cast<R>(fetch<M>(from));
    }
}
/// One element of each lane; `from`: its offset in the lane's access.
template <class M, class R>
[[gnu::always_inline]] inline void load_element(Warp& warp, Slot to, u32 mask, const Access& access, u32 from) {
    const auto value = [&](u32 i) { return static_cast<R>(fetch<M>(access.of(i) + from)); };
    if (access.affine && mask == kAll)
        load_lanes<M>(out<R>(warp, to), access.of(0) + from, access.stride);
    else if (access.readable)
        map<R>(warp, to, mask, [&](u32 i) { return static_cast<R>(fetch<M>(reinterpret_cast<const std::byte*>(access.lane[i]) + from)); });
    else
        map_active<R>(warp, to, mask, value);
}
#if defined(MERGELANE_VECTORS)
/// Four words of each lane, 16 bytes at `at(lane)`, which must be readable for all lanes.
template <class At>
[[gnu::always_inline]] inline void load_quads(Warp& warp, const Inst& inst, u32 mask, At at) {
    alignas(64) u32 value[4][32];
    u32* to[4];
    const Slot* const slots = warp.launch->program.lists.data() + inst.list;
    for (u32 w = 0; w < 4; ++w) to[w] = mask == kAll && slots[w] != kAbsent ? out<u32>(warp, slots[w]) : value[w];
    for (u32 i = 0; i < 32; i += 8) split_quads(i, at, [&](u32 w) { return to[w]; });
    if (mask == kAll) return;
    for (u32 w = 0; w < 4; ++w) {
        const u32* const from = value[w];
        if (slots[w] != kAbsent) map<u32>(warp, slots[w], mask, [=](u32 i) { return from[i]; });
    }
}
#endif
/// Whether a lane's access is four words.
template <class M, class R>
inline bool is_quad(const Inst& inst) {
    return sizeof(M) == sizeof(u32) && sizeof(R) == sizeof(u32) && inst.count == 4;
}

template <class M, class R>
[[gnu::noinline]] void load_any(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(M)) * inst.count, access);
#if defined(MERGELANE_VECTORS)
    if (is_quad<M, R>(inst) && (access.readable || (access.affine && mask == kAll)))
        return load_quads(warp, inst, mask, [&](u32 i) { return access.of(i); });
#endif
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = inst.count == 1 ? inst.d : warp.launch->program.lists[inst.list + e];
        if (to != kAbsent) load_element<M, R>(warp, to, mask, access, e * static_cast<u32>(sizeof(M)));
    }
}
/// Elements of type M in memory, registers that hold R; M is extended as its sign says. A destination may be the address: that has been
/// read before any register is written.
template <class M, class R>
void load(Warp& warp, const Inst& inst, u32 mask) {
    const Steady at = mask == kAll ? find_steady(warp, inst, static_cast<u32>(sizeof(M)) * inst.count) : Steady{};
    if (at.base == 0) return load_any<M, R>(warp, inst, mask);
    const auto* const from = reinterpret_cast<const std::byte*>(at.base);
#if defined(MERGELANE_VECTORS)
    if (is_quad<M, R>(inst) && at.stride != 0)
        return load_quads(warp, inst, kAll, [=](u32 i) { return from + at.stride * static_cast<s64>(i); });
#endif
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = inst.count == 1 ? inst.d : warp.launch->program.lists[inst.list + e];
        if (to != kAbsent) load_lanes<M>(out<R>(warp, to), from + e * sizeof(M), at.stride);
    }
}

template <class M, class R>
[[gnu::always_inline]] inline void store_lanes(const R* v, std::byte* to, s64 stride) {
    if (sizeof(M) == sizeof(R) && stride == static_cast<s64>(sizeof(M))) {
        std::memcpy(to, v, sizeof(M) * 32);
    } else {
        for (u32 i = 0; i < 32; ++i, to += stride) keep(to, static_cast<M>(v[i]));
    }
}
template <class M, class R>
[[gnu::noinline]] void store_any(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(M)) * inst.count, access);
    for (u32 e = 0; e < inst.count; ++e) {
        const R* v = in<R>(warp, inst.count == 1 ? inst.b : warp.launch->program.lists[inst.list + e]);
        each_lane(mask, [&](u32 i) { keep(access.of(i) + e * sizeof(M), static_cast<M>(v[i])); });
    }
}
template <class M, class R>
void store(Warp& warp, const Inst& inst, u32 mask) {
    ++warp.launch->changes;
    const Steady at = mask == kAll ? find_steady(warp, inst, static_cast<u32>(sizeof(M)) * inst.count) : Steady{};
    if (at.base == 0) return store_any<M, R>(warp, inst, mask);
    auto* const to = reinterpret_cast<std::byte*>(at.base);
#if defined(MERGELANE_VECTORS)
    if (is_quad<M, R>(inst) && (at.stride >= 16 || at.stride <= -16)) {  // otherwise lanes overwrite each other, in an order
        const Slot* const slots = warp.launch->program.lists.data() + inst.list;
        for (u32 i = 0; i < 32; i += 8) {
            join_quads(
                i, [&](u32 w) { return in<u32>(warp, slots[w]); }, [=](u32 lane) { return to + at.stride * static_cast<s64>(lane); });
        }
        return;
    }
#endif
    for (u32 e = 0; e < inst.count; ++e) {
        const R* v = in<R>(warp, inst.count == 1 ? inst.b : warp.launch->program.lists[inst.list + e]);
        store_lanes<M>(v, to + e * sizeof(M), at.stride);
    }
}

/// Parameters of the kernel are the same for all lanes, unless the address is computed.
template <class M, class R>
void load_kernel_param(Warp& warp, const Inst& inst, u32 mask) {
    const Launch& launch = *warp.launch;
    const u64* a = inst.a == kAbsent ? nullptr : in<u64>(warp, inst.a);
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = inst.count == 1 ? inst.d : launch.program.lists[inst.list + e];
        if (to == kAbsent) continue;
        const u64 offset = static_cast<u64>(inst.offset) + e * sizeof(M);
        const auto at = [&](u64 place) {
            return place + sizeof(M) <= launch.param_bytes && place + sizeof(M) > place ? static_cast<R>(fetch<M>(launch.params + place))
                                                                                        : R{0};
        };
        if (a == nullptr) {
            const R value = at(offset);
            map<R>(warp, to, mask, [=](u32) { return value; });
        } else {
            R value[32];
            for (u32 i = 0; i < 32; ++i) value[i] = at(a[i] + offset);
            map<R>(warp, to, mask, [&](u32 i) { return value[i]; });
        }
    }
}
template <class M, class R>
void load_call_param(Warp& warp, const Inst& inst, u32 mask) {
    const Launch& launch = *warp.launch;
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = inst.count == 1 ? inst.d : launch.program.lists[inst.list + e];
        if (to == kAbsent) continue;
        const std::byte* from = warp.call_params + inst.offset + e * sizeof(M);
        map_active<R>(warp, to, mask,
                      [=, &launch](u32 i) { return static_cast<R>(fetch<M>(from + std::size_t{i} * launch.program.parameter_bytes)); });
    }
}
template <class M, class R>
void store_call_param(Warp& warp, const Inst& inst, u32 mask) {
    const Launch& launch = *warp.launch;
    for (u32 e = 0; e < inst.count; ++e) {
        const R* v = in<R>(warp, inst.count == 1 ? inst.b : launch.program.lists[inst.list + e]);
        std::byte* to = warp.call_params + inst.offset + e * sizeof(M);
        each_lane(mask, [&](u32 i) { keep(to + std::size_t{i} * launch.program.parameter_bytes, static_cast<M>(v[i])); });
    }
}

template <AtomicOp K, class T>
inline T combine(T old, T b, T c) {
    if constexpr (K == AtomicOp::add) {
        if constexpr (std::is_floating_point<T>::value)
            return canonical(old + b);
        else
            return add(old, b);
    } else if constexpr (K == AtomicOp::min) {
        return b < old ? b : old;
    } else if constexpr (K == AtomicOp::max) {
        return old < b ? b : old;
    } else if constexpr (K == AtomicOp::exch) {
        return b;
    } else if constexpr (K == AtomicOp::cas) {
        return old == b ? c : old;
    } else if constexpr (K == AtomicOp::inc) {
        return old >= b ? T{0} : static_cast<T>(old + 1);
    } else if constexpr (K == AtomicOp::dec) {
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
    } else if constexpr (K == AtomicOp::and_) {
        return and_(old, b);
    } else if constexpr (K == AtomicOp::or_) {
        return or_(old, b);
    } else {
        return xor_(old, b);
    }
}
/// Lane after lane, in order; the result, if wanted, is the old value.
template <AtomicOp K, class T>
void atomic(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(T)), access);
    const T* b = in<T>(warp, inst.b);
    const T* c = inst.c == kAbsent ? b : in<T>(warp, inst.c);
    T before[32];
    each_lane(mask, [&](u32 i) {
        std::byte* at = access.of(i);
        const T old = fetch<T>(at);
        const T fresh = combine<K, T>(old, b[i], c[i]);
        keep(at, fresh);
        before[i] = old;
        if (std::memcmp(&old, &fresh, sizeof old) != 0) ++warp.launch->changes;
    });
    if (inst.d != kAbsent) map_active<T>(warp, inst.d, mask, [&](u32 i) { return before[i]; });
}

/// inst.sub: the StateSpace asked for; inst.count: if it is shared memory, that of the CTA itself
void is_space(Warp& warp, const Inst& inst, u32 mask) {
    const u64* a = in<u64>(warp, inst.a);
    const auto is_own = [&](u64 address) {
        const u32 number = static_cast<u32>(address) >> kRankShift;
        return number == 0 || number - 1 == warp.rank;
    };
    u32 r = 0;
    for (u32 i = 0; i < 32; ++i) {
        const bool there = pointed_to(a[i]).space == static_cast<StateSpace>(inst.sub);
        r |= there && (inst.count == 0 || is_own(a[i])) ? kBit[i] : 0;
    }
    set_predicate(warp, inst.d, mask, r);
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
