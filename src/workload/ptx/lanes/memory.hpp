// SPDX-License-Identifier: MIT
// Loads, stores and atomics: addresses of 32 lanes are checked, recorded, and turned into places on the host.
#pragma once

#include "workload/ptx/lanes/convert.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

constexpr u32 kMostBytes = 32;  // one lane's access: four elements of eight bytes, or eight of four

/// Where the lanes' data is on the host: base + lane * stride, or a list.
struct Access {
    bool affine = true;
    std::uintptr_t base = 0;  ///< of lane 0; an integer, for lane 0 need not be active, nor inside
    s64 stride = 0;
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

inline bool affine_lanes(const Addr* address, u32 mask, Addr& base, s64& stride) {
    if (mask != kAll) return record::find_affine(address, mask, base, stride);
    const Addr first = address[0];
    const Addr step = address[1] - first;
    Addr wrong = 0;
    for (u32 i = 0; i < 32; ++i) wrong |= address[i] ^ (first + step * i);
    base = first;
    stride = static_cast<s64>(step);
    return wrong == 0;
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

[[gnu::always_inline]] inline void find_lanes(Warp& warp, const Inst& inst, u32 mask, Lanes& lanes) {
    if (inst.address_32) {
        const u32* a = in<u32>(warp, inst.a);
        const u32 offset = static_cast<u32>(inst.offset);
        for (u32 i = 0; i < 32; ++i) lanes.address[i] = a[i] + offset;
    } else {
        const u64* a = in<u64>(warp, inst.a);
        const u64 offset = static_cast<u64>(inst.offset);
        for (u32 i = 0; i < 32; ++i) lanes.address[i] = a[i] + offset;
    }
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

/// Places of affine lanes: when the outermost are inside, so are the others. False if they are not.
[[gnu::always_inline]] inline bool place_affine(Warp& warp, const Inst& inst, u32 bytes, const Lanes& lanes, Pointed to, Access& access) {
    const Addr a = lanes.address[lanes.first] - to.window;
    const Addr b = lanes.address[lanes.last] - to.window;
    const Addr low = a < b ? a : b;
    const Addr high = a < b ? b : a;
    std::byte* host = nullptr;
    s64 stride = lanes.stride;
    if (to.space == StateSpace::global) {
        const DeviceMemory::Range* const range = holding(*warp.launch, inst, low, high, bytes);
        if (range != nullptr) host = range->host + (a - range->base);
    } else if (to.space == StateSpace::shared) {
        if (high + bytes <= warp.shared_bytes && high + bytes >= high) host = warp.shared + a;
    } else if (to.space == StateSpace::local) {
        const u32 size = warp.launch->program.local_bytes;
        stride += size;
        if (high + bytes <= size && high + bytes >= high) host = warp.local + std::size_t{lanes.first} * size + a;
    }
    if (host == nullptr) return false;
    access.affine = true;
    access.base = reinterpret_cast<std::uintptr_t>(host) - static_cast<std::uintptr_t>(stride) * lanes.first;
    access.stride = stride;
    return true;
}

/// Places of scattered lanes in one piece of shared or global memory. False if they are not all inside.
[[gnu::always_inline]] inline bool place_scattered(Warp& warp, const Inst& inst, u32 mask, u32 bytes, const Lanes& lanes, StateSpace space,
                                                   Access& access) {
    // Lanes that are not active borrow the address of one that is.
    Addr low = ~Addr{0};
    Addr high = 0;
    for (u32 i = 0; i < 32; ++i) {
        const Addr a = (mask & kBit[i]) != 0 ? lanes.address[i] : lanes.address[lanes.first];
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
    for (u32 i = 0; i < 32; ++i) access.lane[i] = host + lanes.address[i];
    return true;
}

[[gnu::noinline]] void resolve(Warp& warp, const Inst& inst, u32 mask, u32 bytes, Access& access) {
    // 1. Addresses of the lanes.
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

/// Elements of type M in memory, registers that hold R; M is extended as its sign says.
template <class M, class R>
void load(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(M)) * inst.count, access);
    if (inst.count == 1) {
        if (access.affine && mask == kAll) {
            R* d = out<R>(warp, inst.d);
            if (access.stride == static_cast<s64>(sizeof(M))) {
                const std::byte* from = access.of(0);
                MERGELANE_LANES_LOOP
                for (u32 i = 0; i < 32; ++i) d[i] = static_cast<R>(fetch<M>(from + i * sizeof(M)));
                return;
            }
            if (access.stride == 0) {
                const R value = static_cast<R>(fetch<M>(access.of(0)));
                for (u32 i = 0; i < 32; ++i) d[i] = value;
                return;
            }
        }
        map_active<R>(warp, inst.d, mask, [&](u32 i) { return static_cast<R>(fetch<M>(access.of(i))); });
        return;
    }
    // All elements are read before any register is written: a destination may be the address.
    alignas(64) R value[8][32];
    each_lane(mask, [&](u32 i) {
        const std::byte* from = access.of(i);
        for (u32 e = 0; e < inst.count; ++e) value[e][i] = static_cast<R>(fetch<M>(from + e * sizeof(M)));
    });
    for (u32 e = 0; e < inst.count; ++e) {
        const Slot to = warp.launch->program.lists[inst.list + e];
        if (to == kAbsent) continue;
        const R* from = value[e];
        map_active<R>(warp, to, mask, [=](u32 i) { return from[i]; });
    }
}

template <class M, class R>
void store(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    resolve(warp, inst, mask, static_cast<u32>(sizeof(M)) * inst.count, access);
    ++warp.launch->changes;
    if (inst.count == 1) {
        const R* v = in<R>(warp, inst.b);
        if (access.affine && mask == kAll && access.stride == static_cast<s64>(sizeof(M))) {
            if constexpr (sizeof(M) == sizeof(R)) {
                std::memcpy(access.of(0), v, sizeof(M) * 32);
                return;
            }
        }
        each_lane(mask, [&](u32 i) { keep(access.of(i), static_cast<M>(v[i])); });
        return;
    }
    const R* v[8];
    for (u32 e = 0; e < inst.count; ++e) v[e] = in<R>(warp, warp.launch->program.lists[inst.list + e]);
    each_lane(mask, [&](u32 i) {
        std::byte* to = access.of(i);
        for (u32 e = 0; e < inst.count; ++e) keep(to + e * sizeof(M), static_cast<M>(v[e][i]));
    });
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
