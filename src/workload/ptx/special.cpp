// SPDX-License-Identifier: MIT
// Special registers and their values.
#include "workload/ptx/module.hpp"

namespace mergelane::ptx {

namespace {

using At = const ThreadPosition&;
using Value = std::uint64_t;

constexpr Value zero(At) {
    return 0;
}
// At the start of the CTA. A mov adds the time since then (Launch::clock).
constexpr Value cycle(At at) {
    return at.place.cycle;
}
constexpr Value cycle_high(At at) {
    return at.place.cycle >> 32;
}

Value rank(At at) {
    const Dim3 cta = at.ctaid();
    return cta.x % at.cluster.x + (cta.y % at.cluster.y + cta.z % at.cluster.z * at.cluster.y) * at.cluster.x;
}

constexpr Special kTable[] = {
    {"%tid.x", [](At at) -> Value { return at.thread() % at.block.x; }, false, 4, false, true},
    {"%tid.y", [](At at) -> Value { return at.thread() / at.block.x % at.block.y; }, false, 4, false, true},
    {"%tid.z", [](At at) -> Value { return at.thread() / at.block.x / at.block.y; }, false, 4, false, true},
    {"%tid.w", zero},
    {"%ntid.x", [](At at) -> Value { return at.block.x; }},
    {"%ntid.y", [](At at) -> Value { return at.block.y; }},
    {"%ntid.z", [](At at) -> Value { return at.block.z; }},
    {"%ctaid.x", [](At at) -> Value { return at.cta % at.grid.x; }},
    {"%ctaid.y", [](At at) -> Value { return at.cta / at.grid.x % at.grid.y; }},
    {"%ctaid.z", [](At at) -> Value { return at.cta / at.grid.x / at.grid.y; }},
    {"%ctaid.w", zero},
    {"%nctaid.x", [](At at) -> Value { return at.grid.x; }},
    {"%nctaid.y", [](At at) -> Value { return at.grid.y; }},
    {"%nctaid.z", [](At at) -> Value { return at.grid.z; }},
    {"%laneid", [](At at) -> Value { return at.lane; }, false, 4, false, true},
    {"%warpid", [](At at) -> Value { return Value{at.place.slot} * at.warps + at.warp; }, true},
    {"%nwarpid", [](At at) -> Value { return Value{at.place.slots} * at.warps; }, true},
    {"%smid", [](At at) -> Value { return at.place.sm; }, true},
    {"%nsmid", [](At at) -> Value { return at.place.sms; }, true},
    {"%gridid", zero},
    {"%clock", cycle, true, 4, true},
    {"%clock_hi", cycle_high, true, 4, true},
    {"%clock64", cycle, true, 8, true},
    {"%globaltimer", cycle, true, 8, true},
    {"%globaltimer_lo", cycle, true, 4, true},
    {"%globaltimer_hi", cycle_high, true, 4, true},
    {"%lanemask_eq", [](At at) -> Value { return 1ull << at.lane; }, false, 4, false, true},
    {"%lanemask_le", [](At at) -> Value { return (2ull << at.lane) - 1; }, false, 4, false, true},
    {"%lanemask_lt", [](At at) -> Value { return (1ull << at.lane) - 1; }, false, 4, false, true},
    {"%lanemask_ge", [](At at) -> Value { return ~((1ull << at.lane) - 1); }, false, 4, false, true},
    {"%lanemask_gt", [](At at) -> Value { return ~((2ull << at.lane) - 1); }, false, 4, false, true},
    {"%dynamic_smem_size", [](At at) -> Value { return at.dynamic_shared; }},
    {"%envreg1", [](At at) -> Value { return at.workspace >> 32; }},
    {"%envreg2", [](At at) -> Value { return at.workspace & 0xFFFFFFFF; }},
    {"%total_smem_size", [](At at) -> Value { return at.shared_bytes; }},
    // Shared memory of the system software, of which cooperative groups use 288 bytes from offset 1 on.
    {"%reserved_smem_offset_begin", zero},
    {"%reserved_smem_offset_0", zero},
    {"%reserved_smem_offset_1", [](At) -> Value { return kReservedShared / 2; }},
    {"%reserved_smem_offset_end", [](At) -> Value { return kReservedShared; }},
    {"%reserved_smem_offset_cap", [](At) -> Value { return kReservedShared; }},
    {"%cluster_ctaid.x", [](At at) -> Value { return at.ctaid().x % at.cluster.x; }},
    {"%cluster_ctaid.y", [](At at) -> Value { return at.ctaid().y % at.cluster.y; }},
    {"%cluster_ctaid.z", [](At at) -> Value { return at.ctaid().z % at.cluster.z; }},
    {"%cluster_nctaid.x", [](At at) -> Value { return at.cluster.x; }},
    {"%cluster_nctaid.y", [](At at) -> Value { return at.cluster.y; }},
    {"%cluster_nctaid.z", [](At at) -> Value { return at.cluster.z; }},
    {"%cluster_ctarank", rank},
    {"%cluster_nctarank", [](At at) -> Value { return at.cluster.count(); }},
    {"%clusterid.x", [](At at) -> Value { return at.ctaid().x / at.cluster.x; }},
    {"%clusterid.y", [](At at) -> Value { return at.ctaid().y / at.cluster.y; }},
    {"%clusterid.z", [](At at) -> Value { return at.ctaid().z / at.cluster.z; }},
    {"%nclusterid.x", [](At at) -> Value { return at.grid.x / at.cluster.x; }},
    {"%nclusterid.y", [](At at) -> Value { return at.grid.y / at.cluster.y; }},
    {"%nclusterid.z", [](At at) -> Value { return at.grid.z / at.cluster.z; }},
    {"%is_explicit_cluster", [](At at) -> Value { return at.explicit_cluster ? 0xFFFFFFFFu : 0; }},  // a predicate: one bit per lane
};

}  // namespace

std::span<const Special> special_registers() {
    return kTable;
}

}  // namespace mergelane::ptx
