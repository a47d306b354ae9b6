// SPDX-License-Identifier: MIT
#include "dispatch/own_instructions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

std::vector<StaticInst> address_arithmetic(KernelInfo& info, std::uint32_t count) {
    std::vector<StaticInst> instructions(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        StaticInst& inst = instructions[i];
        inst.pc = kAddedPc;
        inst.op = count >= 8 && i % (count / 2) == 1 && i < count / 2 * 2 ? OpClass::int_div : OpClass::int_add;
        inst.dst_count = 1;
        inst.reg_count = 1;
        inst.regs[0] = static_cast<std::uint16_t>(info.register_slots);
    }
    if (count != 0) ++info.register_slots;
    return instructions;
}

std::uint32_t lanes_of(const KernelInfo& info, std::uint32_t warp) {
    const std::uint64_t threads = info.block.count() - std::uint64_t{warp} * kWarpLanes;
    return static_cast<std::uint32_t>(low_bits(static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, kWarpLanes))));
}

Run run_of(const std::vector<StaticInst>& instructions, const KernelInfo& info, std::uint32_t warp) {
    return {instructions.data(), static_cast<std::uint32_t>(instructions.size()), lanes_of(info, warp)};
}

void refuse_if_placed(const KernelSource& kernel, std::string_view transform) {
    if (!kernel.wants_places()) return;
    throw InputError(
        fmt::format("kernel '{}' reads its SM ID, its warp slot or a clock, so its behaviour depends on CTA placement, which "
                    "dispatch.transform = \"{}\" changes; use \"none\"",
                    kernel.info().name, transform));
}

}  // namespace mergelane
