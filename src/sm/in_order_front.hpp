// SPDX-License-Identifier: MIT
// The conventional load/store unit: memory instructions in order, a fixed number of blocks of the head instruction per cycle into the L1.
// It is parked while the L1 cannot accept the next block. A hit needs no event: its completion time is known at lookup and goes directly
// into the scoreboard.
#pragma once

#include <array>

#include "core/ring.hpp"
#include "parts/l1_cache.hpp"
#include "sm/memory_front.hpp"

namespace mergelane {

class InOrderFront : public MemoryFront {
public:
    explicit InOrderFront(const FrontContext& context);

    void launch(std::uint32_t shared_kib) override;
    void accept(const MemoryAccess& access, Cycle now) override;
    void step(Cycle now) override;
    void reply(const Packet& packet, Cycle now) override;
    void expect(const Packet& reply) const override {
        if (reply.kind == PacketKind::read_reply && (reply.tag & kDirect) == 0) l1_.fetch(reply.tag);
    }
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    L1Cache* l1() override { return &l1_; }
    bool l1_is_full() const override { return parked_ && parked_why_ != L1Cache::Outcome::no_queue; }
    bool waits_for_room() const override { return parked_ && parked_why_ == L1Cache::Outcome::no_queue; }

protected:
    static constexpr std::uint16_t kDirect = 0x8000;  ///< tag bit: the reply belongs to a load, not to an MSHR entry

    /// Cycles in which the head could not go on, per outcome from no_mshr on.
    using Parked = std::array<std::uint64_t, 4>;
    struct Entry {
        const StaticInst* inst = nullptr;
        std::uint64_t cta = 0;
        std::uint32_t next = 0;
        std::uint32_t degree = 0;  ///< shared memory: cycles for which the banks are occupied
        std::uint16_t load = 0;
        std::uint8_t warp = 0;
        std::uint8_t scheduler = 0;
        std::uint8_t slot = 0;  ///< of its CTA
        bool begun = false;
        bool followed = false;     ///< one of its blocks is, or there are many
        std::uint16_t blocks = 0;  ///< index of its block list
        Parked parked{};           ///< if followed: when it came, or when this was last noted
    };

    /// The turn of a followed head has come; for others, this counts as time of the lookup.
    void begin(Entry& entry, Cycle now) {
        if (!entry.followed || entry.begun) [[likely]]
            return;
        entry.begun = true;
        loads_.start(entry.load, now);
        note_parked(entry, now);
    }
    /// Whoever waited for the head waited for what it did.
    void note_parked(Entry& entry, Cycle now);
    Parked parked_until(Cycle now) const;
    bool follows_one_of(const BlockList& blocks, Cycle now) const;
    void serve_head(Cycle now);
    bool handle_block(Entry& entry, const BlockList& blocks, Cycle now);
    bool take_block(Entry& entry, const BlockList& blocks, Cycle now);  ///< the same, inlined where blocks come one after the other
    void send(const Entry& entry, const BlockList& blocks, PacketKind kind, std::uint16_t tag, Cycle now);
    void pop();
    void refuse();
    void refuse_as_taken(std::uint32_t scheduler);
    void plan_next(Cycle now);
    void park(L1Cache::Outcome why, Cycle now);
    void unpark(Cycle now);

    const LsuSpec& lsu_;
    const L1Spec& l1_spec_;
    LoadTable& loads_;
    RequestPort& port_;
    SharedMemory& shared_;
    const std::uint32_t schedulers_;
    const std::uint32_t share_;        ///< queue entries of one sub-core, so that none can starve the others
    const std::uint32_t issue_limit_;  ///< larger than any count if there is none
    const std::uint32_t lower_limit_;  ///< the smaller of the two: below it, a scheduler is unrestricted
    const std::uint32_t block_shift_;
    std::array<std::uint64_t, 4> scheduler_mask_{};
    std::array<std::uint8_t, 64> scheduler_of_{};  ///< of each warp slot

    L1Cache l1_;
    Ring<Entry> queue_;
    std::vector<BlockList> lists_;  ///< one per queue entry; large, so the most recently used are reused first
    std::vector<std::uint16_t> free_lists_;
    std::array<std::uint32_t, 4> taken_{};  ///< queue entries occupied by each scheduler's warps
    Cycle free_at_ = 0;
    bool loads_full_ = false;
    bool all_refused_ = false;  ///< the queue is full for all warps
    bool parked_ = false;
    L1Cache::Outcome parked_why_ = L1Cache::Outcome::hit;
    Cycle parked_since_ = 0;
    static constexpr std::size_t reason_of(L1Cache::Outcome why) {
        return static_cast<std::size_t>(why) - static_cast<std::size_t>(L1Cache::Outcome::no_mshr);
    }
    Parked parked_cycles_{};
    std::array<Stage, 4> delayed_by_;  ///< per outcome, likewise
    std::uint64_t shared_turn_ = 0;
    Stage banks_;
};

}  // namespace mergelane
