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
// No time passes in a functional execution.
constexpr Value cycle(At at) {
    return at.place.cycle;
}
constexpr Value cycle_high(At at) {
    return at.place.cycle >> 32;
}

constexpr Special kTable[] = {
    {"%tid.x", [](At at) -> Value { return at.thread() % at.block.x; }},
    {"%tid.y", [](At at) -> Value { return at.thread() / at.block.x % at.block.y; }},
    {"%tid.z", [](At at) -> Value { return at.thread() / at.block.x / at.block.y; }},
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
    {"%laneid", [](At at) -> Value { return at.lane; }},
    {"%warpid", [](At at) -> Value { return Value{at.place.slot} * at.warps + at.warp; }, true},
    {"%nwarpid", [](At at) -> Value { return Value{at.place.slots} * at.warps; }, true},
    {"%smid", [](At at) -> Value { return at.place.sm; }, true},
    {"%nsmid", [](At at) -> Value { return at.place.sms; }, true},
    {"%gridid", zero},
    {"%clock", cycle, true},
    {"%clock_hi", cycle_high, true},
    {"%clock64", cycle, true, 8},
    {"%globaltimer", cycle, true, 8},
    {"%globaltimer_lo", cycle, true},
    {"%globaltimer_hi", cycle_high, true},
    {"%lanemask_eq", [](At at) -> Value { return 1ull << at.lane; }},
    {"%lanemask_le", [](At at) -> Value { return (2ull << at.lane) - 1; }},
    {"%lanemask_lt", [](At at) -> Value { return (1ull << at.lane) - 1; }},
    {"%lanemask_ge", [](At at) -> Value { return ~((1ull << at.lane) - 1); }},
    {"%lanemask_gt", [](At at) -> Value { return ~((2ull << at.lane) - 1); }},
    {"%dynamic_smem_size", [](At at) -> Value { return at.dynamic_shared; }},
    {"%total_smem_size", [](At at) -> Value { return at.shared_bytes; }},
};

}  // namespace

std::span<const Special> special_registers() {
    return kTable;
}

}  // namespace mergelane::ptx
