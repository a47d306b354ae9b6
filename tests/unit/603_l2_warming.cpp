// SPDX-License-Identifier: MIT
// The L2 after functional warming is the L2 after simulation.
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "sampling/coalesce.hpp"
#include "sampling/launch_walk.hpp"
#include "sampling/warming.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::testing {
namespace {

/// Whole sectors that a workload touches.
std::set<Addr> sectors_of(Workload& workload) {
    std::set<Addr> sectors;
    while (const KernelSource* kernel = workload.next_kernel()) {
        sampling::LaunchWalk walk(*kernel);
        walk.walk([](const Run&) {},
                  [&](const StaticInst& inst, std::uint32_t active, const LaneAddresses& lanes) {
                      sampling::each_line(lanes, active, inst.lane_bytes, [&](Addr line, std::uint32_t mask) {
                          for (std::uint32_t s = 0; s < 4; ++s) {
                              if ((mask >> s & 1) != 0) sectors.insert(line * 4 + s);
                          }
                      });
                  },
                  [](const StaticInst&, const BulkBox&) {});
    }
    return sectors;
}

std::set<Addr> held(Machine& machine, const std::set<Addr>& sectors) {
    std::set<Addr> list;
    for (const Addr sector : sectors) {
        const Addr address = sector * kSectorBytes;
        const Addr line = address & ~Addr{machine.spec().l2.line_bytes - 1};
        if (machine.slices()[machine.map().slice(line)].holds(line, 1u << (address - line) / kSectorBytes)) list.insert(sector);
    }
    return list;
}

struct Contents {
    std::set<Addr> simulated;
    std::set<Addr> warmed;
    std::size_t touched = 0;
};

Contents contents(const MachineSpec& spec, const char* name) {
    const auto make = [&] { return suite::make_suite_workload(name, suite::Size::tiny, 1, {}); };
    const std::set<Addr> sectors = sectors_of(*make());
    Contents result;
    result.touched = sectors.size();
    Simulation simulation(spec, {});
    simulation.run(*make());
    result.simulated = held(simulation.machine(), sectors);
    Machine machine(spec);
    const auto workload = make();
    while (const KernelSource* kernel = workload->next_kernel()) sampling::Warming(machine).warm(*kernel);
    result.warmed = held(machine, sectors);
    return result;
}

TEST(L2Warming, HoldsWhatASimulationLeaves) {
    for (const char* name : {"lud", "spmv", "histogram", "transpose"}) {
        for (const MachineSpec& spec : {icc60_like(), v100_like()}) {
            const Contents all = contents(spec, name);
            EXPECT_EQ(all.warmed, all.simulated) << name << " on " << spec.name;
            EXPECT_GT(all.warmed.size(), all.touched / 2) << name;
        }
    }
}

TEST(L2Warming, EvictsTheOldestLinesOfASmallL2) {
    MachineSpec spec = v100_like();
    spec.l2.size_kib = spec.l2.ways * spec.l2.line_bytes / 1024 * 2;
    const Contents small = contents(valid(spec), "spmv");
    ASSERT_LT(small.simulated.size(), small.touched * 9 / 10) << "the L2 is not full";
    std::size_t common = 0;
    for (const Addr sector : small.warmed) common += small.simulated.count(sector);
    EXPECT_GT(common, small.simulated.size() * 9 / 10);
}

TEST(L2Warming, CountsNothingAndLeavesNothingInFlight) {
    const MachineSpec spec = icc60_like();
    Simulation simulation(spec, {});
    const std::vector<StatValue> before = simulation.totals();
    const auto workload = suite::make_suite_workload("lud", suite::Size::tiny, 1, {});
    while (const KernelSource* kernel = workload->next_kernel()) sampling::Warming(simulation.machine()).warm(*kernel);
    const std::vector<StatValue> after = simulation.totals();
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].value, before[i].value) << after[i].name;
    const RunResult result = [&] {
        const auto again = suite::make_suite_workload("lud", suite::Size::tiny, 1, {});
        return simulation.run(*again);  // and every invariant holds
    }();
    EXPECT_LT(result.stat("l2.sector_misses"),
              run_on(spec, *suite::make_suite_workload("lud", suite::Size::tiny, 1, {})).stat("l2.sector_misses"));
}

TEST(L2Warming, RefusesGroups) {
    MachineSpec spec = icc60_like();
    spec.gpu.groups = 2;
    Machine machine(valid(spec));
    EXPECT_THROW(sampling::Warming{machine}, InputError);
}

}  // namespace
}  // namespace mergelane::testing
