// SPDX-License-Identifier: MIT
// Interface of the load/store unit front end, between issue and the network: coalescing, queues, L1. The SM issues memory instructions
// to it and passes it the replies; merging, queueing and reordering are up to the front end. One file per kind, selected by `lsu.front`.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/component.hpp"
#include "core/kernel.hpp"
#include "core/packet.hpp"
#include "core/policies.hpp"
#include "sm/coalescer.hpp"
#include "sm/load_table.hpp"
#include "sm/request_port.hpp"
#include "sm/shared_memory.hpp"
#include "sm/sm_spec.hpp"

namespace mergelane {

class L1Cache;

/// A memory instruction issued by a warp.
struct MemoryAccess {
    const StaticInst* inst = nullptr;
    LaneAddresses* lanes = nullptr;  ///< of the active lanes; valid during the call
    std::uint64_t cta = 0;
    Cycle issued = 0;
    std::uint32_t active = 0;
    std::uint32_t warp = 0;  ///< slot of the SM; it belongs to scheduler warp % schedulers
    std::uint32_t slot = 0;  ///< of its CTA
};

/// Constructor arguments of a front end. All of them outlive it.
struct FrontContext {
    const SmSpec& sm;
    const LsuSpec& lsu;
    const L1Spec& l1;
    Policies policies;  ///< policies by name, for components of the front end
    LoadTable& loads;
    RequestPort& port;
    SharedMemory& shared;
};

/// Properties of a front end that the machine depends on.
struct FrontTraits {
    Stated<bool> has_l1;                ///< it has an L1, with its statistics
    Stated<bool> arranges_l1;           ///< it only reorders accesses to that L1, so it requires one
    Stated<bool> knows_cta_slots;       ///< it supports L1 partitions by CTA slot
    Stated<bool> serves_shared_memory;  ///< otherwise they need sm.shared_path = "own"
};

class MemoryFront {
public:
    static constexpr std::string_view kKind = "memory front";
    using Traits = FrontTraits;
    using Maker = std::function<std::unique_ptr<MemoryFront>(const FrontContext&, const Sections&)>;

    virtual ~MemoryFront() = default;

    /// A kernel starts; the previous one has no outstanding requests. `shared_kib`: shared memory its CTAs use of unified memory.
    virtual void launch(std::uint32_t shared_kib) = 0;
    /// Issues a memory instruction of a warp that is not blocked. Loads and atomics complete in the load table; a store completes with
    /// one acknowledgement per request.
    virtual void accept(const MemoryAccess& access, Cycle now) = 0;
    /// Advances one cycle; called before warps issue.
    virtual void step(Cycle now) = 0;
    /// A reply or acknowledgement arrived; called before step().
    virtual void reply(const Packet& packet, Cycle now) = 0;
    /// It will arrive soon, so what it needs can be fetched (see prefetch).
    virtual void expect(const Packet& /*reply*/) const {}
    virtual void stats(StatFields& out, Cycle now) const = 0;
    /// As Component::gauges.
    virtual void gauges(StatFields& /*out*/) const {}
    /// Declares the stages of its loads, and gives the first two to the load table.
    virtual void stages(Stages& out) = 0;
    /// Whether it is stalled only by missing credits of the outgoing link.
    virtual bool waits_for_room() const { return false; }

    /// Its L1, for meters; nullptr: it has none.
    virtual L1Cache* l1() { return nullptr; }
    /// Whether a request is stalled at the L1: no free MSHR entry, merge slot or line.
    virtual bool l1_is_full() const { return false; }
    /// Whether it must be notified when a warp's next memory instruction is a store or atomic.
    virtual bool wants_stores() const { return false; }
    virtual void comes_with_store(std::uint32_t /*warp*/, bool /*store*/) {}

    // Read by the SM in every cycle, so these are values, not virtual calls.
    /// Warp slots whose memory instructions cannot be accepted now.
    std::uint64_t refused() const { return refused_; }
    /// Warp slots that may issue nothing but memory instructions.
    std::uint64_t held_back() const { return held_back_; }
    /// Memory instructions that were accepted and have not started.
    std::uint32_t waiting() const { return waiting_; }
    /// The cycle from which step() must be called whenever the SM is stepped, and the cycle in which the SM must be stepped for it.
    Cycle due() const { return due_; }
    Cycle next() const { return next_; }

protected:
    /// No step is needed before `at` (kNever: before something is accepted or answered).
    void sleep_until(Cycle at) { due_ = next_ = at; }
    /// The next step can make progress once this link has credits.
    void wait_for(const LinkBase& link, Cycle now) {
        const Cycle credit = link.next_credit();
        due_ = credit == kNever ? 0 : credit;  // unknown: check at every step
        next_ = std::max(credit, now + 1);     // or when the link's receiver wakes the SM
    }
    /// One request per accessed block, as configured; with byte masks where required.
    static void coalesce_access(const MemoryAccess& access, const LsuSpec& lsu, const L1Spec& l1, bool describe_reads, BlockList& blocks);
    /// `wanted`: requested 4-byte words of the line, if reads carry them.
    static Packet read_request(const StaticInst& inst, Addr block, std::uint16_t tag, std::uint32_t wanted) {
        Packet packet;
        packet.address = block;
        // One test of all bytes, because most reads have none of this.
        const auto special = static_cast<std::uint8_t>(inst.space) | static_cast<std::uint8_t>(inst.bypass_l1) | inst.l2_hint.byte();
        if ((wanted | static_cast<std::uint32_t>(special)) != 0) {
            packet.read = {};
            if (inst.space != Space::global) packet.read.flags |= ReadFields::kOtherSpace;
            if (inst.bypass_l1) packet.read.flags |= ReadFields::kBypassesL1;
            packet.read.wanted = wanted;
            packet.priority = inst.l2_hint.at(block);
        }
        packet.tag = tag;
        return packet;
    }
    static Packet write_request(const StaticInst& inst, PacketKind kind, Addr block, std::uint16_t tag, const ByteMask& bytes) {
        Packet packet;
        packet.address = block;
        packet.bytes = bytes;
        packet.tag = tag;
        packet.kind = kind;
        if (inst.l2_hint.any()) [[unlikely]]
            packet.priority = inst.l2_hint.at(block);
        return packet;
    }

    /// What every front end declares.
    void declare(Stages& out, LoadTable& loads, std::string_view queue, std::string_view lookup);
    /// A block was hit; one that was requested has arrived; one that bypassed the L1, or an atomic, has.
    void resolve_hit(LoadTable& loads, const RequestPort& port, std::uint16_t load, Addr block, std::uint32_t latency, Cycle now) const {
        if (port.followed().contains(block, now)) [[unlikely]]
            resolve_followed_hit(loads, load, latency, now);
        else
            loads.resolve(load, now + latency, now);
    }
    [[gnu::noinline, gnu::cold]] void resolve_followed_hit(LoadTable& loads, std::uint16_t load, std::uint32_t latency, Cycle now) const {
        loads.resolve(load, {now + latency, now * hit_.period, nullptr, hit_}, now);
    }
    void resolve_fill(LoadTable& loads, std::uint16_t load, const Journey* journey, Cycle since, Cycle now) const {
        if (journey != nullptr) [[unlikely]]
            loads.resolve(load, {now, since * hit_.period, journey, reply_}, now);
        else
            loads.resolve(load, now, now);
    }
    void resolve_direct(LoadTable& loads, const RequestPort& port, std::uint16_t load, const Packet& reply, Cycle now) const {
        if (const Journey* const journey = journey_of(reply); journey != nullptr)
            loads.resolve(load, {now, journey->started(), journey, reply_}, now);
        else if (reply.kind == PacketKind::atomic_reply && port.followed().is_turn(load))
            loads.resolve(load, {now, loads.started(load), nullptr, atomic_}, now);
        else
            loads.resolve(load, now, now);
    }

    /// For a front end that wraps another: at the time the inner one requested, but no later than `at`.
    void sleep_like(const MemoryFront& inner, Cycle at) {
        due_ = std::min(inner.due_, at);
        next_ = std::min(inner.next_, at);
    }

    std::uint64_t refused_ = 0;
    std::uint64_t held_back_ = 0;
    std::uint32_t waiting_ = 0;
    Stage hit_, reply_, atomic_;

private:
    Cycle due_ = kNever;
    Cycle next_ = kNever;
};

/// The front ends of this folder.
void add_memory_fronts(Registry& registry);

}  // namespace mergelane
