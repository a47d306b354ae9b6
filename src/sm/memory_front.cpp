// SPDX-License-Identifier: MIT
#include "sm/memory_front.hpp"

#include "sm/banked_front.hpp"
#include "sm/hopper_spec.hpp"
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

void MemoryFront::declare(Stages& out, LoadTable& loads, std::string_view queue, std::string_view lookup) {
    LoadStages stages;
    out.group("lsu");
    out.add(stages.queue, "queue", queue);
    out.add(stages.lookup, "lookup", lookup);
    out.group("flight");
    const auto flight = [&](Journey::Level level, std::string_view name, std::string_view meaning) {
        out.add(stages.flight[static_cast<std::size_t>(level)], name, meaning);
    };
    flight(Journey::Level::l2, "l2", "wires and pipelines to the L2 and back");
    flight(Journey::Level::dram, "dram", "wires and pipelines to DRAM and back, and the data's transfer");
    flight(Journey::Level::cluster, "cluster", "wires to a unit of the SM cluster that answered");
    flight(Journey::Level::node, "node", "wires to an L1 node that answered, and its latency");
    flight(Journey::Level::merged, "merged", "wires and pipelines of the request it was merged with, from the merge on");
    loads.set_stages(stages);
    out.group("l1");
    out.add(hit_, "hit", "latency of the L1, for the block that was available last");
    out.group("sm");
    out.add(reply_, "reply", "from the arrival of the reply until the value is available");
    out.add(atomic_, "atomic", "atomics, from the load/store unit to their L2 slice and back");
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
    registry.add_section<TmaSpec>();
    registry.add_section<WgmmaSpec>();
}

}  // namespace mergelane
