// SPDX-License-Identifier: MIT
// Comparison point of the WarpPool paper: the memory request prioritisation buffer (MRPB), reordering only. Load requests wait in per-warp
// FIFOs; the L1 serves the lowest warp first, so that warps that thrash each other's lines run one after another. Nothing is merged.
//
//   instructions in order -> coalescer -> a FIFO per warp -> L1
#pragma once

#include <vector>

#include "core/ring.hpp"
#include "core/section.hpp"
#include "parts/l1_cache.hpp"
#include "sm/memory_front.hpp"

namespace mergelane {

/// lsu.front = "mrpb"
struct MrpbSpec final : SectionOf<MrpbSpec> {
    std::uint32_t queues = 48;
    std::uint32_t queue_entries = 8;

    void fields(SpecFields& f) override;
    void laws(LawBook& book) const override;
    void structures(const MachineFacts& machine, Structures& out) const override;
};

class MrpbFront final : public MemoryFront {
public:
    MrpbFront(const FrontContext& context, const MrpbSpec& spec);

    void launch(std::uint32_t shared_kib) override { l1_.begin_kernel(shared_kib); }
    void accept(const MemoryAccess& access, Cycle now) override;
    void step(Cycle now) override;
    void reply(const Packet& packet, Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void stages(Stages& out) override;
    L1Cache* l1() override { return &l1_; }
    bool waits_for_room() const override { return waits_for_room_; }

private:
    static constexpr std::uint16_t kDirect = 0x8000;  ///< tag bit: the reply is not for an MSHR entry

    struct Instruction {
        const StaticInst* inst = nullptr;
        std::uint64_t cta = 0;
        std::uint32_t next = 0;  ///< next request
        std::uint16_t load = 0;
        std::uint16_t blocks = 0;  ///< index of its block list
        std::uint8_t warp = 0;
        std::uint8_t queue = 0;
    };
    struct Request {
        Addr block = 0;
        const StaticInst* inst = nullptr;
        std::uint64_t cta = 0;
        std::uint32_t words = 0;
        std::uint16_t load = 0;
        std::uint8_t warp = 0;
    };

    bool goes_past(const Instruction& i) const { return i.inst->op != OpClass::load || !l1_spec_.enabled || i.inst->bypass_l1; }
    bool drain(std::uint32_t queue, Cycle now);
    bool send_past(Instruction& instruction, Cycle now);
    bool put_into_queue(Instruction& instruction, Cycle now);
    void advance(Instruction& instruction);
    void refuse() { refused_ = instructions_.full() || loads_.full() ? ~std::uint64_t{0} : 0; }

    const LsuSpec& lsu_;
    const L1Spec& l1_spec_;
    LoadTable& loads_;
    RequestPort& port_;
    const std::uint32_t warps_per_queue_;

    L1Cache l1_;
    Ring<Instruction> instructions_;
    std::vector<BlockList> lists_;
    std::vector<std::uint16_t> free_lists_;
    std::vector<Ring<Request>> queues_;
    std::uint64_t queues_waiting_ = 0;  ///< non-empty queues
    bool waits_for_room_ = false;
    std::uint64_t queued_ = 0, drained_ = 0, past_ = 0;
};

}  // namespace mergelane
