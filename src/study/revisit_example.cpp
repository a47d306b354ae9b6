// SPDX-License-Identifier: MIT
#include "sim/simulation.hpp"
#include "study/examples.hpp"
#include "workload/revisit.hpp"

namespace mergelane::study {

namespace {

RunResult revisited(const MachineSpec& machine, std::uint32_t ctas, std::uint32_t divisions) {
    Simulation simulation(machine, {});
    return simulation.run(*make_revisit(ctas, divisions));
}

}  // namespace

Revisit revisit(const MachineSpec& machine, std::uint32_t turnarounds, std::uint32_t divisions) {
    const std::uint32_t sms = machine.sms();
    const std::uint32_t at_a_time = sms * machine.sm.cta_slots;
    const RunResult all = revisited(machine, turnarounds * at_a_time, divisions);
    // Those before the last turnaround do the same without it.
    std::uint64_t latency = all.stat("sm.load_latency");
    if (turnarounds > 1) latency -= revisited(machine, (turnarounds - 1) * at_a_time, divisions).stat("sm.load_latency");
    const std::uint64_t sectors = machine.lsu.block_bytes / kSectorBytes;
    const auto per_sm = [&](std::uint64_t n) { return static_cast<double>(n) / sms; };
    return {static_cast<double>(latency) / at_a_time, per_sm((all.stat("l1.sector_misses") + all.stat("l1.sector_pending_hits")) / sectors),
            per_sm(all.stat("l2.reads") * sectors)};
}

}  // namespace mergelane::study
