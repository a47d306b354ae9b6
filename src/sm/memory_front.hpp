// SPDX-License-Identifier: MIT
// What stands between issue and the network: coalescing, queues, L1. The SM issues memory instructions into it and hands it the replies;
// how they merge, wait and overtake each other is the front's own business. One file per kind, chosen by `lsu.front`.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

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

/// A memory instruction as a warp issues it.
struct MemoryAccess {
    const StaticInst* inst = nullptr;
    LaneAddresses* lanes = nullptr;  ///< of the active lanes; valid during the call
    std::uint64_t cta = 0;
    Cycle issued = 0;
    std::uint32_t active = 0;
    std::uint32_t warp = 0;  ///< slot of the SM; it belongs to scheduler warp % schedulers
    std::uint32_t slot = 0;  ///< of its CTA
};

/// What a front is made from. Everything outlives it.
struct FrontContext {
    const SmSpec& sm;
    const LsuSpec& lsu;
    const L1Spec& l1;
    Policies policies;  ///< what there is by name, for parts of the front
    LoadTable& loads;
    RequestPort& port;
    SharedMemory& shared;
};

/// What a machine needs to know of a front.
struct FrontTraits {
    Stated<bool> has_l1;                ///< of its own, with the statistics of one
    Stated<bool> arranges_l1;           ///< is about accesses to that L1, and nothing without it
    Stated<bool> knows_cta_slots;       ///< so that the L1 can have partitions for them
    Stated<bool> serves_shared_memory;  ///< else such accesses need a path of their own
};

class MemoryFront {
public:
    static constexpr std::string_view kKind = "memory front";
    using Traits = FrontTraits;
    using Maker = std::function<std::unique_ptr<MemoryFront>(const FrontContext&, const Sections&)>;

    virtual ~MemoryFront() = default;

    /// A kernel begins; everything of the one before has been answered. `shared_kib`: what its CTAs take of unified memory.
    virtual void launch(std::uint32_t shared_kib) = 0;
    /// A warp that was not refused issues a memory instruction. Loads and atomics end in the load table; a store in one acknowledgement
    /// for each of its requests.
    virtual void accept(const MemoryAccess& access, Cycle now) = 0;
    /// Does what can be done now; called before warps issue.
    virtual void step(Cycle now) = 0;
    /// A reply or acknowledgement came back; called before step().
    virtual void reply(const Packet& packet, Cycle now) = 0;
    virtual void stats(StatFields& out, Cycle now) const = 0;
    /// As Component::gauges.
    virtual void gauges(StatFields& out) const { static_cast<void>(out); }
    /// Does it hold work that only room on the way out can move?
    virtual bool waits_for_room() const { return false; }

    /// Its L1, for meters; nullptr: it has none.
    virtual L1Cache* l1() { return nullptr; }
    /// Is there a request that the L1 cannot take, for want of an MSHR entry, a merge slot or a line?
    virtual bool l1_is_full() const { return false; }
    /// Does it want to know whether a warp's next memory instruction is a store or atomic? Then it is told when a warp comes to one.
    virtual bool wants_stores() const { return false; }
    virtual void comes_with_store(std::uint32_t warp, bool store) {
        static_cast<void>(warp);
        static_cast<void>(store);
    }

    // Looked at by the SM in every cycle, so these are values, not calls.
    /// Warp slots whose memory instructions cannot be taken now.
    std::uint64_t refused() const { return refused_; }
    /// Warp slots that may issue nothing but memory instructions.
    std::uint64_t held_back() const { return held_back_; }
    /// Memory instructions it has taken and not begun with.
    std::uint32_t waiting() const { return waiting_; }
    /// From when on step() is to be called whenever the SM is stepped, and when the SM must be stepped for it.
    Cycle due() const { return due_; }
    Cycle next() const { return next_; }

protected:
    /// No step is needed before `at` (kNever: before something is accepted or answered).
    void sleep_until(Cycle at) { due_ = next_ = at; }
    /// The next step can do something once there is room on this link.
    void wait_for(const LinkBase& link, Cycle now) {
        const Cycle credit = link.next_credit();
        due_ = credit == kNever ? 0 : credit;  // unless it is known when, at every step
        next_ = std::max(credit, now + 1);     // or when the link's receiver wakes the SM
    }
    /// One request per block that the access touches, as the configuration wants it; with byte masks for what needs them.
    static void coalesce_access(const MemoryAccess& access, const LsuSpec& lsu, const L1Spec& l1, bool describe_reads, BlockList& blocks);
    /// `wanted`: 4-byte words of the line, if reads shall say so.
    static Packet read_request(const StaticInst& inst, Addr block, std::uint16_t tag, std::uint32_t wanted) {
        Packet packet;
        packet.address = block;
        if (wanted != 0 || inst.space != Space::global || inst.bypass_l1) {
            packet.read = {};
            if (inst.space != Space::global) packet.read.flags |= ReadFields::kOtherSpace;
            if (inst.bypass_l1) packet.read.flags |= ReadFields::kBypassesL1;
            packet.read.wanted = wanted;
        }
        packet.tag = tag;
        return packet;
    }
    static Packet write_request(PacketKind kind, Addr block, std::uint16_t tag, const ByteMask& bytes) {
        Packet packet;
        packet.address = block;
        packet.bytes = bytes;
        packet.tag = tag;
        packet.kind = kind;
        return packet;
    }

    /// For a front around another: as that one wishes, but no later than `at`.
    void sleep_like(const MemoryFront& inner, Cycle at) {
        due_ = std::min(inner.due_, at);
        next_ = std::min(inner.next_, at);
    }

    std::uint64_t refused_ = 0;
    std::uint64_t held_back_ = 0;
    std::uint32_t waiting_ = 0;

private:
    Cycle due_ = kNever;
    Cycle next_ = kNever;
};

/// The fronts of this folder.
void add_memory_fronts(Registry& registry);

}  // namespace mergelane
