// SPDX-License-Identifier: MIT
// The memories of gpus/memory with everything on: what they can transfer, and that no command breaks a rule.
#include <gtest/gtest.h>

#include <cstdlib>

#include "config/config.hpp"
#include "dram_checker.hpp"
#include "dram_run.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "workload/suite/kernel_files.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::testing {
namespace {

using Kind = DramCommand::Kind;
using Refresh = DramControllerSpec::Refresh;

DramSetup setup_of(const MachineSpec& machine) {
    DramSetup setup{machine.dram, machine.sections.get<DramControllerSpec>()};
    setup.controller.on = true;
    setup.spec.scheduler = "fr_fcfs";
    return setup;
}

/// A memory as a machine file would use it; the three oldest tables have no channel of their own and come with a preset.
MachineSpec machine_of(const std::string& memory) {
    const std::vector<std::filesystem::path> presets = {std::string(MERGELANE_SOURCE_DIR) + "/gpus"};
    const std::map<std::string, std::string> of_preset = {{"gddr3", "pkt28"}, {"gddr5", "gtx480"}, {"hbm2", "v100"}};
    if (const auto preset = of_preset.find(memory); preset != of_preset.end()) return load_config(preset->second, {}, presets).spec;
    const std::string file = std::string(MERGELANE_SOURCE_DIR) + "/gpus/memory/" + memory + ".toml";
    const std::vector<std::string> on = {"dram.controller.enabled=true"};
    return load_config(file, on, presets).spec;
}

const std::vector<std::string>& memories() {
    static const std::vector<std::string> list = {"gddr3", "gddr5", "gddr5x", "gddr6", "gddr6x", "hbm2", "hbm2-jedec", "hbm2e", "hbm3"};
    return list;
}

/// Bytes per cycle of consecutive lines.
double bandwidth(const DramSetup& setup, bool writes) {
    const ChannelRun run = run_channel(setup, {writes ? Traffic::sequential_writes : Traffic::sequential_reads, 60'000, 100, 2});
    if (setup.controller.refresh != Refresh::none) {
        EXPECT_TRUE(DramChecker(setup.spec, setup.controller).check(run.log).empty());
    }
    // Without the beginning and the end.
    std::uint64_t columns = 0;
    const Cycle from = run.log.back().at / 10, to = run.log.back().at * 9 / 10;
    for (const DramCommand& c : run.log) columns += (c.kind == Kind::read || c.kind == Kind::write) && c.at >= from && c.at < to ? 1 : 0;
    return static_cast<double>(columns) * setup.spec.access_bytes / static_cast<double>(to - from);
}

TEST(DramStandards, ReachTheirPeakOnConsecutiveLines) {
    for (const std::string& memory : memories()) {
        SCOPED_TRACE(memory);
        DramSetup setup = setup_of(machine_of(memory));
        const double peak = setup.spec.bus_bytes;
        setup.controller.refresh = Refresh::none;
        EXPECT_NEAR(bandwidth(setup, false) / peak, 1.0, 0.01) << "reads";
        EXPECT_NEAR(bandwidth(setup, true) / peak, 1.0, 0.01) << "writes";
        setup.controller.refresh = Refresh::all_bank;
        setup.controller.refresh_postpone = 8;  // otherwise rows are closed and opened again for each one
        const double refreshed = peak * (1 - double(setup.controller.tRFC) / setup.controller.tREFI);
        EXPECT_NEAR(bandwidth(setup, false) / refreshed, 1.0, 0.01) << "reads with refresh";
    }
}

TEST(DramStandards, HaveChecksThatTheirTablesPass) {
    for (const std::string& memory : memories()) {
        MachineSpec machine = machine_of(memory);
        machine.section<DramControllerSpec>().on = true;
        machine.dram.scheduler = "fr_fcfs";
        for (const Refresh refresh : {Refresh::none, Refresh::all_bank}) {
            machine.section<DramControllerSpec>().refresh = refresh;
            for (const SpecProblem& problem : check(machine)) ADD_FAILURE() << memory << ": " << problem.text;
        }
    }
}

/// Commands of all channels, each checked.
std::size_t checked_commands(const MachineSpec& machine, Workload& workload) {
    Simulation simulation(machine, {});
    const auto& channels = simulation.machine().channels();
    std::vector<std::vector<DramCommand>> logs(channels.size());
    for (std::size_t i = 0; i < channels.size(); ++i) channels[i]->log_commands(&logs[i]);
    simulation.run(workload);
    std::size_t commands = 0;
    for (const auto& log : logs) {
        commands += log.size();
        const auto violations = DramChecker(machine.dram, machine.sections.get<DramControllerSpec>()).check(log);
        EXPECT_TRUE(violations.empty()) << (violations.empty() ? "" : violations.front().rule);
    }
    return commands;
}

/// MERGELANE_ALL_PROGRAMS is set: every synthetic kernel and benchmark that the golden digests have.
TEST(DramRulesHold, InMachinesWithEverythingOn) {
    const bool all = std::getenv("MERGELANE_ALL_PROGRAMS") != nullptr;
    std::vector<std::string> kernels = {"stream", "divergent"}, programs = {"hotspot", "spmv"};
    if (all) {
        kernels = {"stream", "tiled", "store", "divergent", "atomic", "barrier", "revisit", "shared", "compute"};
        programs.clear();
        for (const suite::SuiteWorkload& program : suite::workloads()) {
            if (program.suite != "LLM" && !program.open_ended && !program.hopper) programs.emplace_back(program.name);
        }
    }
    std::size_t commands = 0;
    for (MachineSpec machine : {machine_of("gddr5"), machine_of("hbm2")}) {
        DramControllerSpec& c = machine.section<DramControllerSpec>();
        c.on = true;
        c.page = DramControllerSpec::Page::adaptive, c.refresh = Refresh::all_bank;
        c.queue = 128, c.write_queue = 64, c.write_high = 48, c.write_low = 16;
        for (const std::string& kernel : kernels) {
            SCOPED_TRACE(kernel);
            SyntheticParams params = synthetic_defaults(kernel);
            params.ctas = std::min(params.ctas, all ? 960u : 120u);
            commands += checked_commands(machine, *make_synthetic(kernel, params));
        }
        for (const std::string& program : programs) {
            SCOPED_TRACE(program);
            commands +=
                checked_commands(machine, *suite::make_suite_workload(program, suite::Size::tiny, 1, {}, suite::default_kernel_dirs()));
        }
    }
    EXPECT_GT(commands, 100'000u);
}

}  // namespace
}  // namespace mergelane::testing
