// SPDX-License-Identifier: MIT
// Clusters of CTAs, bulk and tensor copies, and products of matrices by warpgroups (sm_90), lane after lane. Asynchronous operations are
// done at once: their results are defined only after a wait.
#pragma once

#include <cstring>

#include "core/bulk_box.hpp"
#include "workload/ptx/lanes/async.hpp"
#include "workload/ptx/lanes/half.hpp"
#include "workload/ptx/lanes/matrix.hpp"
#include "workload/ptx/tensor_map.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// The address of lanes' operands among generic addresses.
void flat_address(Warp& warp, const Inst& inst, u32 mask) {
    Lanes lanes;
    find_lanes(warp, inst, mask, lanes);
    const bool shared = inst.space == StateSpace::shared;
    map<u64>(warp, inst.d, mask, [&](u32 i) { return shared ? kSharedWindow + (lanes.address[i] & 0xFFFFFFFFu) : lanes.address[i]; });
}

/// The same byte of shared memory in the CTA of this rank.
inline Addr in_cta(Addr address, u32 rank) {
    const u32 number = rank < kMostRanks ? rank + 1 : kMostRanks + 1;
    return (address & ~Addr{0xFFFFFFFFu}) | (address & kRankMask) | Addr{number} << kRankShift;
}
template <class T>
void map_to_rank(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const u32* rank = in<u32>(warp, inst.b);
    map<T>(warp, inst.d, mask, [=](u32 i) { return static_cast<T>(in_cta(a[i], rank[i])); });
}
template <class T>
void rank_of_address(Warp& warp, const Inst& inst, u32 mask) {
    const T* a = in<T>(warp, inst.a);
    const u32 own = warp.rank;
    map<u32>(warp, inst.d, mask, [=](u32 i) {
        const u32 number = static_cast<u32>(a[i]) >> kRankShift;
        return number == 0 ? own : number - 1;
    });
}
/// elect.sync: the lowest lane.
void elect(Warp& warp, const Inst& inst, u32 mask) {
    const u32 leader = first_lane(mask);
    map<u32>(warp, inst.d, mask, [=](u32) { return leader; });
    if (inst.d2 != kAbsent) set_predicate(warp, inst.d2, mask, kBit[leader]);
}

/// Bytes at a generic address; nullptr if they are not all inside of one memory.
inline std::byte* find_bytes(Warp& warp, Addr address, u64 bytes) {
    const Pointed to = pointed_to(address);
    if (to.space == StateSpace::shared) return shared_bytes(warp, address - kSharedWindow, bytes);
    if (to.space != StateSpace::global) return nullptr;
    const DeviceMemory::Range range = warp.launch->memory.find(address);
    return range.holds(address, bytes) ? range.host + (address - range.base) : nullptr;
}
/// As find_bytes, with a warning.
inline std::byte* bytes_at(Warp& warp, const Inst& inst, u32 lane, Addr address, u64 bytes) {
    std::byte* const at = find_bytes(warp, address, bytes);
    const Pointed to = pointed_to(address);
    if (at == nullptr) warp.launch->warn(warp, inst, {to.space, address - to.window, lane, static_cast<u32>(bytes)});
    return at;
}
inline void complete_bytes(Warp& warp, const Inst& inst, u32 lane, Addr barrier, u64 bytes) {
    std::byte* at = bytes_at(warp, inst, lane, barrier, 8);
    if (at == nullptr) return;
    const u64 before = fetch<u64>(at);
    const u64 after = mbarrier_after(MbarrierOp::complete_tx, before, static_cast<u32>(bytes), 0);
    keep(at, after);
    if (warp.recorder == nullptr) return;
    warp.launch->mbarriers.count(at);
    if (Mbarrier::of(before).phase != Mbarrier::of(after).phase) warp.launch->mbarriers.end_phase(at);
}
/// Calls f(address in shared memory, mbarrier) for the CTA that the lane names or, with a mask, for several CTAs of the cluster.
template <class F>
inline void each_cta(Warp& warp, const Inst& inst, u32 lane, Addr to, F f) {
    const Addr barrier = inst.c == kAbsent ? 0 : in<u64>(warp, inst.c)[lane];
    if (inst.d2 == kAbsent) return f(to, barrier);
    const u32 ranks = in<u16>(warp, inst.d2)[lane];
    for (u32 rank = 0; rank < 16 && rank < warp.cluster_size; ++rank) {
        if ((ranks >> rank & 1) != 0) f(in_cta(to, rank), in_cta(barrier, rank));
    }
}

/// What the timing model sees of one lane's copy. Each is a run of its own.
inline void record_box(Warp& warp, const Inst& inst, u32 lane, BulkBox& box) {
    if (warp.recorder == nullptr) return;
    if (inst.c != kAbsent) box.barrier = in<u64>(warp, inst.c)[lane] - kSharedWindow;
    if (inst.d2 != kAbsent) box.ranks = in<u16>(warp, inst.d2)[lane] & ((u32{1} << warp.cluster_size) - 1);
    if (inst.d2 != kAbsent || box.barrier >> kRankShift == warp.rank + 1) box.barrier &= kRankMask;
    if (box.row != 0 && warp.launch->moved) box.first = warp.launch->memory.timed(box.first);
    Addr values[BulkBox::kMostValues];
    warp.recorder->run(inst.generic_run, kBit[lane]);
    warp.recorder->values(inst.memory, values, box.put(values));
}

/// Adds to one element in memory, or the like.
using Reduce = void (*)(std::byte* to, const std::byte* from);
template <AtomicOp K, class T>
void reduce_element(std::byte* to, const std::byte* from) {
    const T b = fetch<T>(from);
    keep(to, combine<K, T>(fetch<T>(to), b, b));
}
template <AtomicOp K, class H>
void reduce_half(std::byte* to, const std::byte* from) {
    keep(to, HalfElement<H, K, u16>::combine(fetch<u16>(to), fetch<u16>(from)));
}
template <AtomicOp K>
Reduce reduce_of(Type type) {
    constexpr bool kCounts = K == AtomicOp::inc || K == AtomicOp::dec;
    constexpr bool kOrders = K == AtomicOp::min || K == AtomicOp::max;
    if constexpr (K == AtomicOp::exch || K == AtomicOp::cas) return nullptr;
    if (type == Type::u32 || (type == Type::b32 && !kOrders)) return reduce_element<K, u32>;
    if constexpr (!kCounts) {
        if (type == Type::u64 || (type == Type::b64 && !kOrders)) return reduce_element<K, u64>;
        if (type == Type::s32) return reduce_element<K, s32>;
        if (type == Type::s64) return reduce_element<K, s64>;
    }
    if constexpr (K == AtomicOp::add || kOrders) {
        if (type == Type::f16) return reduce_half<K, F16>;
        if (type == Type::bf16) return reduce_half<K, Bf16>;
    }
    if constexpr (K == AtomicOp::add) {
        if (type == Type::f32) return reduce_element<K, f32>;
        if (type == Type::f64) return reduce_element<K, f64>;
    }
    return nullptr;
}
inline Reduce reduce_of(AtomicOp op, Type type) {
    switch (op) {
        case AtomicOp::add: return reduce_of<AtomicOp::add>(type);
        case AtomicOp::min: return reduce_of<AtomicOp::min>(type);
        case AtomicOp::max: return reduce_of<AtomicOp::max>(type);
        case AtomicOp::and_: return reduce_of<AtomicOp::and_>(type);
        case AtomicOp::or_: return reduce_of<AtomicOp::or_>(type);
        case AtomicOp::xor_: return reduce_of<AtomicOp::xor_>(type);
        case AtomicOp::inc: return reduce_of<AtomicOp::inc>(type);
        case AtomicOp::dec: return reduce_of<AtomicOp::dec>(type);
        default: return nullptr;
    }
}
/// Of an instruction that reduces; nullptr: it copies. inst.sub: the operation, inst.count: the type.
inline Reduce reduce_of(const Inst& inst) {
    return inst.sub == kCopies ? nullptr : reduce_of(static_cast<AtomicOp>(inst.sub), static_cast<Type>(inst.count));
}

/// inst.d: to, or absent for a prefetch; inst.a: from; inst.b: bytes; inst.c: mbarrier; inst.d2: ranks of CTAs.
void bulk_copy(Warp& warp, const Inst& inst, u32 mask) {
    const bool copies = inst.d != kAbsent;
    const u64* to = copies ? in<u64>(warp, inst.d) : nullptr;
    const u64* from = in<u64>(warp, inst.a);
    const u32* size = in<u32>(warp, inst.b);
    each_lane(mask, [&](u32 i) {
        BulkBox box;
        box.first = copies && inst.c == kAbsent ? to[i] : from[i];
        box.row = pointed_to(box.first).space == StateSpace::shared ? 0 : size[i];
        box.shared = copies ? size[i] : 0;
        record_box(warp, inst, i, box);
    });
    if (!copies) return;
    const Reduce reduce = reduce_of(inst);
    const u32 step = reduce == nullptr ? 1 : type_bytes(static_cast<Type>(inst.count));
    ++warp.launch->changes;
    each_lane(mask, [&](u32 i) {
        const std::byte* source = bytes_at(warp, inst, i, from[i], size[i]);
        each_cta(warp, inst, i, to[i], [&](Addr target, Addr barrier) {
            std::byte* at = bytes_at(warp, inst, i, target, size[i]);
            if (source != nullptr && at != nullptr) {
                if (reduce == nullptr) std::memmove(at, source, size[i]);
                for (u32 k = 0; reduce != nullptr && k + step <= size[i]; k += step) reduce(at + k, source + k);
            }
            if (inst.c != kAbsent) complete_bytes(warp, inst, i, barrier, size[i]);
        });
    });
}

/// What elements outside of the tensor are.
inline u64 outside_of(const TensorMap& map) {
    if (!map.fill_nan) return 0;
    switch (map.type) {
        case TensorType::f16:
        case TensorType::bf16: return 0x7FFF;
        case TensorType::f64: return 0x7FFF'FFFF'FFFF'FFFF;
        default: return 0x7FFF'FFFF;
    }
}
/// Calls f(place in shared memory, place in global memory or nullptr) for every element of a box, as far as it has a place in shared
/// memory. Elements of the tensor that are not in memory are like those outside of it, with a warning.
template <class F>
inline void each_element(Warp& warp, const Inst& inst, u32 lane, const TensorMap& map, const s64* start, Addr shared, F f) {
    const u32 bytes = map.element_bytes();
    const Addr cta = shared & ~Addr{kRankMask};
    const DeviceMemory::Range range = warp.launch->memory.find(map.address);
    const u64 bits = map.swizzle == TensorSwizzle::none ? 0 : (u64{16} << static_cast<u32>(map.swizzle)) - 16;
    u32 at[TensorMap::kMostRank] = {};
    const u64 total = map.box_bytes() / bytes;
    for (u64 n = 0; n < total; ++n) {
        bool inside = true;
        Addr address = map.address;
        for (u32 d = 0; d < map.rank; ++d) {
            const s64 c = start[d] + static_cast<s64>(at[d]) * map.element_stride[d];
            inside = inside && c >= 0 && static_cast<u64>(c) < map.size[d];
            address += static_cast<u64>(c) * (d == 0 ? bytes : map.stride[d - 1]);
        }
        Addr offset = (shared & kRankMask) + n * bytes;
        offset ^= offset >> 3 & bits;
        std::byte* place = shared_bytes(warp, cta | offset, bytes);
        std::byte* global = inside && range.holds(address, bytes) ? range.host + (address - range.base) : nullptr;
        if (inside && global == nullptr) warp.launch->warn(warp, inst, {StateSpace::global, address, lane, bytes});
        if (place != nullptr) f(place, global);
        for (u32 d = 0; d < map.rank && ++at[d] == map.elements(d); ++d) at[d] = 0;
    }
}
/// The element type of a reduction is the map's.
inline Type type_of(TensorType type) {
    constexpr Type kTypes[] = {Type::u8,  Type::u16, Type::u32, Type::s32, Type::u64,
                               Type::s64, Type::f16, Type::f32, Type::f64, Type::bf16};
    return kTypes[static_cast<u32>(type)];
}
/// How an instruction reduces elements of a tensor; nullptr: it copies, or cannot.
inline Reduce reduce_of(const Inst& inst, const TensorMap& map) {
    return inst.sub == kCopies ? nullptr : reduce_of(static_cast<AtomicOp>(inst.sub), type_of(map.type));
}
/// The tensor map that a lane names. The kernel ends if there is none.
inline TensorMap tensor_map(Warp& warp, const Inst& inst, u32 lane, Addr address) {
    TensorMap map;
    const std::byte* const from = address - kParamWindow < kWindowBytes ? param_bytes(warp, address, TensorMap::kBytes)
                                                                        : find_bytes(warp, address, TensorMap::kBytes);
    std::string why = from == nullptr ? "it is not in memory" : map.decode(from);
    if (why.empty() && map.rank != inst.bytes) why = "it has another number of dimensions than the instruction";
    if (why.empty() && inst.sub != kCopies && reduce_of(inst, map) == nullptr) why = "elements of its type cannot be reduced in this way";
    if (!why.empty())
        warp.launch->refuse(warp, inst, lane, "the tensor map cannot be used: " + why + "; make it by cuTensorMapEncodeTiled");
    return map;
}
/// The part of a box that lies inside of its tensor. Elements with a stride count with what lies between them.
inline BulkBox box_of(const TensorMap& map, const s64* start, bool copies) {
    BulkBox box;
    box.shared = copies ? map.box_bytes() : 0;
    box.first = map.address;
    for (u32 d = 0; d < map.rank; ++d) {
        const s64 step = map.element_stride[d];
        const s64 size = static_cast<s64>(map.size[d]);
        const s64 low = start[d] < 0 ? (-start[d] + step - 1) / step : 0;
        const s64 end = start[d] >= size ? 0 : (size - start[d] + step - 1) / step;
        const s64 high = end < static_cast<s64>(map.elements(d)) ? end : static_cast<s64>(map.elements(d));
        const u64 count = high > low ? static_cast<u64>(high - low) : 0;
        const u64 stride = d == 0 ? map.element_bytes() : map.stride[d - 1];
        box.first += static_cast<u64>(start[d] + low * step) * stride;
        if (d == 0) {
            box.row = count == 0 ? 0 : (count - 1) * static_cast<u64>(step) * stride + stride;
        } else {
            box.count[d - 1] = count;
            box.stride[d - 1] = static_cast<u64>(step) * stride;
            if (count == 0) box.row = 0;
        }
    }
    return box;
}
/// inst.a: tensor map; inst.d: in shared memory, or absent for a prefetch; inst.list: coordinates; inst.bytes: their number; inst.store: to
/// global memory.
void tensor_copy(Warp& warp, const Inst& inst, u32 mask) {
    const u64* maps = in<u64>(warp, inst.a);
    const u64* shared = inst.d != kAbsent ? in<u64>(warp, inst.d) : nullptr;
    ++warp.launch->changes;
    each_lane(mask, [&](u32 i) {
        const TensorMap map = tensor_map(warp, inst, i, maps[i]);
        s64 start[TensorMap::kMostRank] = {};
        for (u32 d = 0; d < map.rank; ++d) start[d] = in<s32>(warp, warp.launch->program.lists[inst.list + d])[i];
        BulkBox box = box_of(map, start, shared != nullptr);
        record_box(warp, inst, i, box);
        if (shared == nullptr) return;
        const u32 bytes = map.element_bytes();
        const u64 outside = outside_of(map);
        const Reduce reduce = reduce_of(inst, map);
        each_cta(warp, inst, i, shared[i], [&](Addr address, Addr barrier) {
            if (bytes_at(warp, inst, i, address, map.box_bytes()) == nullptr) return;
            each_element(warp, inst, i, map, start, address - kSharedWindow, [&](std::byte* place, std::byte* global) {
                if (!inst.store)
                    std::memcpy(place, global != nullptr ? static_cast<const void*>(global) : &outside, bytes);
                else if (global != nullptr && reduce != nullptr)
                    reduce(global, place);
                else if (global != nullptr)
                    std::memcpy(global, place, bytes);
            });
            if (inst.c != kAbsent) complete_bytes(warp, inst, i, barrier, map.box_bytes());
        });
    });
}

/// Byte offset in shared memory of an element of a matrix that a descriptor describes; `n`: row of A or column of B.
inline Addr matrix_place(u64 descriptor, u32 bytes, u32 n, u32 k, bool transposed) {
    const Addr start = (descriptor & 0x3FFF) << 4;
    const Addr leading = (descriptor >> 16 & 0x3FFF) << 4;
    const Addr stride = (descriptor >> 32 & 0x3FFF) << 4;
    const u32 mode = static_cast<u32>(descriptor >> 62);
    const u32 span = mode == 0 ? 16 : 256u >> mode;  // bytes of a row that the swizzle permutes
    const u32 across = bytes * (transposed ? n : k);
    const u32 row = transposed ? k : n;
    if (mode == 0) {
        const Addr first = transposed ? stride : leading;
        const Addr second = transposed ? leading : stride;
        return start + row / 8 * second + row % 8 * 16 + across / 16 * first + across % 16;
    }
    const Addr flat = start + row / 8 * stride + row % 8 * span + (transposed ? across / span * leading + across % span : across);
    const Addr pattern = (flat >> 7) - (descriptor >> 49 & 7);
    return flat ^ (pattern << 4 & (span - 16));
}

/// Four bytes of a row of A or a column of B, from element `k` on.
inline u32 matrix_word(Warp& warp, const Inst& inst, u64 descriptor, u32 bytes, u32 n, u32 k, bool transposed) {
    u32 word = 0;
    const u32 piece = transposed ? bytes : 4;
    for (u32 e = 0; e < 4 / piece; ++e) {
        const Addr at = matrix_place(descriptor, bytes, n, k + e, transposed);
        const std::byte* const from = shared_bytes(warp, at, piece);
        u32 bits = 0;
        if (from == nullptr)
            warp.launch->warn(warp, inst, {StateSpace::shared, at, 0, piece});
        else
            std::memcpy(&bits, from, piece);
        word |= bits << 8 * piece * e;
    }
    return word;
}
constexpr u32 kWarpRows = 16;  // of the 64 rows of a warpgroup's product
constexpr u32 kMostColumns = 256;
constexpr u32 kMostDepth = 32;
/// The rows of A that belong to this warp of its warpgroup.
inline void read_rows(Warp& warp, const Inst& inst, u32 lane, const WarpgroupProduct& site, const Slot* registers, f32* a) {
    const u32 bytes = element_bits(site.product.a) / 8;
    const Unpack unpack = unpack_of(site.product.a);
    const u32 block = 32 * (4 / bytes);
    for (u32 r = 0; r < 4; ++r) {
        if (inst.a == kAbsent) {
            unpack(in<u32>(warp, registers[r]), a + r * block);
            continue;
        }
        const u64 descriptor = in<u64>(warp, inst.a)[lane];
        alignas(64) u32 words[32];
        for (u32 i = 0; i < 32; ++i)
            words[i] = matrix_word(warp, inst, descriptor, bytes, warp.index % 4 * kWarpRows + r % 2 * 8 + i / 4,
                                   (r / 2 * 4 + i % 4) * 4 / bytes, site.transpose_a);
        unpack(words, a + r * block);
    }
    if (site.negate) {
        for (u32 i = 0; i < 4 * block; ++i) a[i] = -a[i];
    }
}
/// All of B, in the order that multiply_blocks wants.
inline void read_columns(Warp& warp, const Inst& inst, u32 lane, const WarpgroupProduct& site, f32* b) {
    const u32 bytes = element_bits(site.product.b) / 8;
    const Unpack unpack = unpack_of(site.product.b);
    const u64 descriptor = in<u64>(warp, inst.b)[lane];
    const u32 blocks = site.product.shape.blocks(Fragment::b, site.product.b);
    for (u32 r = 0; r < blocks; ++r) {
        alignas(64) u32 words[32];
        for (u32 i = 0; i < 32; ++i)
            words[i] = matrix_word(warp, inst, descriptor, bytes, r / 2 * 8 + i % 8, (r % 2 * 4 + i / 8) * 4 / bytes, site.transpose_b);
        unpack(words, b + r * 32 * (4 / bytes));
    }
}
/// wgmma.mma_async: each warp computes 16 rows, with the sums of mma. inst.a and inst.b: descriptors; inst.c: whether D is added.
void warpgroup_product(Warp& warp, const Inst& inst, u32 mask) {
    const WarpgroupProduct& site = warp.launch->program.warpgroup_products[inst.list];
    const MatrixProduct& product = site.product;
    const Slot* const d = warp.launch->program.lists.data() + product.slots;
    const u32 results = product.shape.registers(Fragment::accumulator, product.d);
    alignas(64) f32 a[kWarpRows * kMostDepth], b[kMostColumns * kMostDepth], c[kWarpRows * kMostColumns];
    read_rows(warp, inst, first_lane(mask), site, d + results, a);
    read_columns(warp, inst, first_lane(mask), site, b);
    const bool adds = ((inst.negate ? ~predicate(warp, inst.c) : predicate(warp, inst.c)) & mask) != 0;
    for (u32 r = 0; r < results && !adds; ++r) map<u32>(warp, d[r], mask, [](u32) { return 0u; });
    const u32 sums = product.shape.n / 8u * 2;
    read_accumulators(warp, d, product.d, sums, c);
    multiply(product, a, b, c);
    write_accumulators(warp, product, {d, nullptr, nullptr, d}, sums, c, mask);
}

Handler select_hopper(const Choice& c) {
    const bool wide = type_bytes(c.type) == 8;
    switch (c.op) {
        case Op::flat_address: return flat_address;
        case Op::map_to_rank: return wide ? map_to_rank<u64> : map_to_rank<u32>;
        case Op::rank_of_address: return wide ? rank_of_address<u64> : rank_of_address<u32>;
        case Op::elect: return elect;
        case Op::bulk_copy: return bulk_copy;
        case Op::bulk_reduce: return reduce_of(c.atomic, c.type) != nullptr ? bulk_copy : nullptr;
        case Op::tensor_copy: return tensor_copy;
        case Op::warpgroup_product: return warpgroup_product;
        default: return nullptr;
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
