// SPDX-License-Identifier: MIT
#include "sm/memory_front.hpp"

#include "sm/banked_front.hpp"
#include "sm/in_order_front.hpp"
#include "sm/lsu_meter.hpp"
#include "sm/mrpb_front.hpp"
#include "sm/warp_pool.hpp"

namespace mergelane {

void MemoryFront::coalesce_access(const MemoryAccess& access, const LsuSpec& lsu, const L1Spec& l1, bool describe_reads,
                                  BlockList& blocks) {
    const StaticInst& inst = *access.inst;
    if (inst.op == OpClass::atomic && lsu.atomic_rounds) {
        access.lanes->expand(access.active);
        coalesce_atomic(*access.lanes, access.active, inst.lane_bytes, lsu.block_bytes, l1.line_bytes, blocks);
    } else {
        coalesce(*access.lanes, access.active, inst.lane_bytes, lsu.block_bytes, l1.line_bytes, inst.op != OpClass::load || describe_reads,
                 blocks);
    }
}

// A new front is its own files and its entry here.
void add_memory_fronts(Registry& registry) {
    registry.add<MemoryFront>("in_order", "memory instructions in order, one at a time",
                              {.has_l1 = true, .arranges_l1 = false, .knows_cta_slots = true, .serves_shared_memory = true},
                              [](const FrontContext& context, const Sections&) { return std::make_unique<InOrderFront>(context); });
    registry.add<MemoryFront>("warp_pool",
                              "inter-warp coalescing (WarpPool): merges requests of different warps for one line before the L1",
                              {.has_l1 = true, .arranges_l1 = false, .knows_cta_slots = false, .serves_shared_memory = false},
                              [](const FrontContext& context, const Sections& sections) {
                                  return std::make_unique<WarpPool>(context, sections.get<WarpPoolSpec>());
                              });
    registry.add_section<WarpPoolSpec>();
    registry.add<MemoryFront>("banked", "in order, with a banked L1: each bank looks up one line of the load per cycle",
                              {.has_l1 = true, .arranges_l1 = true, .knows_cta_slots = true, .serves_shared_memory = true},
                              [](const FrontContext& context, const Sections& sections) {
                                  return std::make_unique<BankedFront>(context, sections.get<BankedSpec>());
                              });
    registry.add_section<BankedSpec>();
    registry.add<MemoryFront>("mrpb", "memory request prioritization (MRPB): per-warp queues, lowest warp first, no merging",
                              {.has_l1 = true, .arranges_l1 = true, .knows_cta_slots = false, .serves_shared_memory = false},
                              [](const FrontContext& context, const Sections& sections) {
                                  return std::make_unique<MrpbFront>(context, sections.get<MrpbSpec>());
                              });
    registry.add_section<MrpbSpec>();
    registry.add_section<LsuMeterSpec>();
}

}  // namespace mergelane
