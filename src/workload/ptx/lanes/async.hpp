// SPDX-License-Identifier: MIT
// cp.async and mbarriers, lane after lane.
#pragma once

#include "workload/ptx/lanes/memory.hpp"

namespace mergelane::ptx::MERGELANE_LANES {
namespace {

/// Where the lanes write in shared memory: places on the host.
void shared_places(Warp& warp, const Inst& inst, u32 mask) {
    Access access;
    if (inst.address_32 && inst.space == StateSpace::shared && place_shared(warp, inst, mask, inst.bytes, access))
        return map<u64>(warp, inst.d, mask, [&](u32 i) { return static_cast<u64>(access.lane[i]); });
    Lanes lanes;
    find_lanes(warp, inst, mask, lanes);
    map_active<u64>(warp, inst.d, mask, [&](u32 i) {
        return static_cast<u64>(reinterpret_cast<std::uintptr_t>(place(warp, inst, inst.space, lanes.address[i], i, inst.bytes)));
    });
}

/// inst.b: places; inst.c: bytes to read; inst.d2: predicate that ignores the source. What is not read is zero.
void copy_async(Warp& warp, const Inst& inst, u32 mask) {
    const u32* limit = inst.c == kAbsent ? nullptr : in<u32>(warp, inst.c);
    const u32 ignored = inst.d2 == kAbsent ? 0 : inst.negate ? ~predicate(warp, inst.d2) : predicate(warp, inst.d2);
    u32 bytes[32];
    u32 reading = 0, whole = 0;
    for (u32 i = 0; i < 32; ++i) {
        const u32 most = limit == nullptr || limit[i] > inst.bytes ? inst.bytes : limit[i];
        bytes[i] = (ignored & kBit[i]) != 0 ? 0 : most;
        reading |= bytes[i] != 0 ? kBit[i] : 0;
        whole |= bytes[i] == inst.bytes ? kBit[i] : 0;
    }
    reading &= mask;
    const bool all_whole = (mask & ~whole) == 0;
    Lanes lanes;
    find_lanes(warp, inst, mask, lanes);
    if (reading != mask && reading != 0) {  // lanes that read nothing cause no request of their own in the timing model
        each_lane(mask & ~reading, [&](u32 i) { lanes.address[i] = lanes.address[first_lane(reading)]; });
        lanes.affine = affine_lanes(lanes.address, mask, lanes.base, lanes.stride);
    }
    if (warp.recorder != nullptr) record_lanes(warp, inst, mask, inst.bytes, lanes, {StateSpace::global, 0});
    const u64* to = in<u64>(warp, inst.b);
    ++warp.launch->changes;
    Access access;
    if (all_whole && inst.bytes == 16 && place_scattered(warp, inst, mask, inst.bytes, lanes, StateSpace::global, access)) {
        each_lane(mask, [&](u32 i) {
            std::memcpy(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(to[i])),
                        reinterpret_cast<const std::byte*>(access.lane[i]), 16);
        });
        return;
    }
    each_lane(mask, [&](u32 i) {
        std::byte value[16] = {};
        if (bytes[i] != 0) std::memcpy(value, place(warp, inst, StateSpace::global, lanes.address[i], i, bytes[i]), bytes[i]);
        std::memcpy(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(to[i])), value, inst.bytes);
    });
}

/// The 64-bit word of an mbarrier, which is opaque to programs: from the lowest bit, pending arrivals (20 bits), expected arrivals (20),
/// pending transaction bytes (21, signed), phase (3).
struct Mbarrier {
    u32 pending, expected;
    s32 bytes;
    u32 phase;

    static Mbarrier of(u64 word) {
        return {static_cast<u32>(word & kCount), static_cast<u32>(word >> 20 & kCount), static_cast<s32>(static_cast<s64>(word << 3) >> 43),
                static_cast<u32>(word >> 61)};
    }
    u64 word() const {
        return u64{pending & kCount} | u64{expected & kCount} << 20 | (u64{static_cast<u32>(bytes)} & kBytes) << 40 | u64{phase} << 61;
    }
    void arrive(u32 count) { pending = (pending - count) & kCount; }
    /// A phase ends when nothing is pending.
    void complete() {
        if (pending != 0 || bytes != 0) return;
        phase = (phase + 1) & 7;
        pending = expected;
    }
    static constexpr u32 kCount = (1u << 20) - 1;
    static constexpr u64 kBytes = (u64{1} << 21) - 1;
};

/// One operation of one lane; `before`: the word that it finds.
inline u64 mbarrier_after(MbarrierOp op, u64 before, u32 operand, u32 bytes) {
    Mbarrier barrier = Mbarrier::of(before);
    switch (op) {
        case MbarrierOp::init: return Mbarrier{operand, operand, 0, 0}.word();
        case MbarrierOp::inval: return 0;
        case MbarrierOp::arrive_drop: barrier.expected = (barrier.expected - operand) & Mbarrier::kCount; [[fallthrough]];
        case MbarrierOp::arrive:
            barrier.bytes = static_cast<s32>(static_cast<u32>(barrier.bytes) + bytes);
            if (operand == 0) break;
            barrier.arrive(operand);
            barrier.complete();
            break;
        case MbarrierOp::expect_tx: barrier.bytes = static_cast<s32>(static_cast<u32>(barrier.bytes) + operand); break;
        case MbarrierOp::complete_tx:
            barrier.bytes = static_cast<s32>(static_cast<u32>(barrier.bytes) - operand);
            barrier.complete();
            break;
        default: break;
    }
    return barrier.word();
}

/// Mbarriers as the timing model sees them: each once, whatever number of lanes accesses it.
class TimedMbarriers {
public:
    TimedMbarriers(Warp& warp, const Inst& inst) : warp_(warp), window_(inst.space == StateSpace::generic ? kSharedWindow : 0) {}

    /// An operation of one lane on the mbarrier at `at` is an event.
    void count(Addr address, const std::byte* at) {
        if (add(address, 1)) warp_.launch->mbarriers.count(at);
    }
    /// The lane waits until the phase is over that was the last one to be over.
    void await(Addr address, const std::byte* at, bool over) {
        const u64 events = over ? warp_.launch->mbarriers.of_last_phase(at) : 0;
        if (add(address, 2) && size_ < kWarpLanes) values_[size_++] = events;
    }
    const Addr* values() const { return values_; }
    u32 size() const { return size_; }

private:
    /// False if it is there already, or there are too many.
    bool add(Addr address, u32 step) {
        address -= window_;
        if ((address >> kRankShift) == warp_.rank + 1) address &= kRankMask;  // of the own CTA
        for (u32 v = 0; v < size_; v += step) {
            if (values_[v] == address) return false;
        }
        if (size_ == kWarpLanes) return false;
        values_[size_++] = address;
        return true;
    }
    Warp& warp_;
    const Addr window_;
    Addr values_[kWarpLanes];
    u32 size_ = 0;
};
inline bool is_arrival(MbarrierOp op) {
    return op == MbarrierOp::arrive || op == MbarrierOp::arrive_drop || op == MbarrierOp::complete_tx;
}

/// test_wait and try_wait. inst.b: the state or, with inst.negate, the parity that they refer to; inst.d: whether the phase is over.
void mbarrier_wait(Warp& warp, const Inst& inst, u32 mask, const Lanes& lanes) {
    TimedMbarriers timed(warp, inst);
    u32 over = 0;
    each_lane(mask, [&](u32 i) {
        const std::byte* at = place(warp, inst, inst.space, lanes.address[i], i, 8);
        const u32 phase = Mbarrier::of(fetch<u64>(at)).phase;
        const u32 awaited = inst.negate ? in<u32>(warp, inst.b)[i] : Mbarrier::of(in<u64>(warp, inst.b)[i]).phase;
        if (((phase ^ awaited) & 1) != 0) over |= kBit[i];
        if (warp.recorder != nullptr) timed.await(lanes.address[i], at, (over & kBit[i]) != 0);
    });
    set_predicate(warp, inst.d, mask, over);
    if (warp.recorder == nullptr) return;
    warp.recorder->begin_wait(inst.memory, mask);
    warp.recorder->values(inst.memory, timed.values(), timed.size());
    warp.recorder->end_wait(over == 0);
}

/// inst.b: count or bytes; inst.c: bytes that an arrival expects; inst.negate: copies arrive, at the mbarrier of the first lane; inst.d:
/// the word before.
void mbarrier(Warp& warp, const Inst& inst, u32 mask) {
    const auto op = static_cast<MbarrierOp>(inst.sub);
    Lanes lanes;
    find_lanes(warp, inst, mask, lanes);
    if (op == MbarrierOp::test_wait || op == MbarrierOp::try_wait) return mbarrier_wait(warp, inst, mask, lanes);
    const bool recorded = warp.recorder != nullptr;
    const bool arrives = is_arrival(op) && !inst.negate;
    if (recorded && !arrives)
        record_lanes(warp, inst, mask, 8, lanes, {StateSpace::shared, inst.space == StateSpace::generic ? kSharedWindow : 0});
    TimedMbarriers timed(warp, inst);
    const u32* operand = inst.b == kAbsent ? nullptr : in<u32>(warp, inst.b);
    const u32* bytes = inst.c == kAbsent ? nullptr : in<u32>(warp, inst.c);
    u64 found[32];
    each_lane(mask, [&](u32 i) {
        std::byte* at = place(warp, inst, inst.space, lanes.address[i], i, 8);
        found[i] = fetch<u64>(at);
        if (recorded && (arrives || (inst.negate && i == lanes.first))) timed.count(lanes.address[i], at);
        const u64 after = mbarrier_after(op, found[i], operand != nullptr ? operand[i] : 0, bytes != nullptr ? bytes[i] : 0);
        keep(at, after);
        if (after != found[i]) ++warp.launch->changes;
        if (recorded && op != MbarrierOp::init && Mbarrier::of(after).phase != Mbarrier::of(found[i]).phase)
            warp.launch->mbarriers.end_phase(at);
    });
    if (recorded && arrives) warp.recorder->values(inst.memory, timed.values(), timed.size());
    if (inst.d != kAbsent) map_active<u64>(warp, inst.d, mask, [&](u32 i) { return found[i]; });
}

void mbarrier_pending(Warp& warp, const Inst& inst, u32 mask) {
    const u64* state = in<u64>(warp, inst.a);
    map<u32>(warp, inst.d, mask, [=](u32 i) { return static_cast<u32>(state[i]) & Mbarrier::kCount; });
}

Handler select_async(Op op) {
    switch (op) {
        case Op::shared_places: return shared_places;
        case Op::copy_async: return copy_async;
        case Op::mbarrier: return mbarrier;
        case Op::mbarrier_pending: return mbarrier_pending;
        default: return nullptr;
    }
}

}  // namespace
}  // namespace mergelane::ptx::MERGELANE_LANES
