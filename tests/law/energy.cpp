// SPDX-License-Identifier: MIT
// Invariant: the energy of a run follows from its events, grows with them, and does not depend on how the run was simulated.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "dram/controller_spec.hpp"
#include "energy_data.hpp"
#include "machines.hpp"
#include "run.hpp"
#include "sim/declared.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

MachineSpec small_icc() {
    MachineSpec s = icc60_like(3);
    s.dram.channels = 2;
    return valid(s);
}
MachineSpec small_v100() {
    MachineSpec s = v100_like();
    s.gpu.clusters = 6;
    s.dram.channels = 2;
    return valid(s);
}
MachineSpec two_groups() {
    MachineSpec s = small_icc();
    s.gpu.groups = 2;
    return valid(s);
}
constexpr const char* kTables[] = {"gpuwattch_gtx480_40nm", "bottom_up_40nm"};

RunResult priced(const MachineSpec& spec, std::string_view kind, std::uint32_t iterations, std::uint32_t kernels = 1,
                 const RunOptions& options = {}) {
    SyntheticParams params = synthetic_defaults(kind);
    params.ctas = 48;
    params.warps = 4;
    params.iterations = iterations;
    params.kernels = kernels;
    const auto workload = make_synthetic(kind, params);
    RunResult result = run_on(spec, *workload, options);
    for (const char* table : kTables) add_energy(result, spec, energy_table(table));
    return result;
}

TEST(EnergyOfRuns, BreakdownAddsUpAndKernelsStayBelowTheTotal) {
    for (const MachineSpec& spec : {small_icc(), small_v100(), two_groups()}) {
        for (const char* kind : {"stream", "store", "divergent", "tiled"}) {
            const RunResult result = priced(spec, kind, 3, 2);
            ASSERT_EQ(result.energy.size(), std::size(kTables));
            for (std::size_t t = 0; t < result.energy.size(); ++t) {
                const EnergyReport& report = result.energy[t];
                std::uint64_t sum = 0, kernels = 0;
                for (const EnergyItem& item : report.items) sum += item.fj;
                EXPECT_EQ(sum, report.total_fj) << kind;
                EXPECT_GT(report.total_fj, 0u);
                for (const KernelResult& kernel : result.kernels) kernels += kernel.energy[t].total_fj;
                // The gap between kernels and what drains after the last one belong to the total only.
                EXPECT_LE(kernels, report.total_fj) << kind;
                EXPECT_GT(kernels, report.total_fj / 2) << kind;
            }
        }
    }
}

TEST(EnergyOfRuns, EveryLookupIsPricedOnce) {
    for (const MachineSpec& spec : {small_icc(), small_v100(), gtx480_like()}) {
        for (const char* kind : {"stream", "store", "divergent", "tiled", "atomic"}) {
            const RunResult r = priced(spec, kind, 2);
            const EnergyCounts c = energy_counts(spec, {}, r.stats, r.cycles);
            using Count = EnergyCount;
            EXPECT_EQ(c[Count::l1_read_hits] + c[Count::l1_read_merges] + c[Count::l1_read_misses] + c[Count::l1_write_hits] +
                          c[Count::l1_write_misses],
                      r.stat("l1.line_requests"))
                << kind;
            EXPECT_EQ(c[Count::l1_read_misses], c[Count::l1_fills]) << kind;
            EXPECT_EQ(c[Count::l2_read_hits] + c[Count::l2_read_merges] + c[Count::l2_read_misses] + c[Count::l2_write_hits] +
                          c[Count::l2_write_misses],
                      r.stat("l2.requests") + r.stat("l2.atomics"))
                << kind;
            EXPECT_EQ(c[Count::thread_instructions], r.stat("sm.thread_instructions")) << kind;
            EXPECT_LE(c[Count::idle_sm_cycles], c[Count::sm_cycles]) << kind;
            EXPECT_GT(r.stat("sm.active_cycles"), 0u) << kind;
            EXPECT_LE(r.stat("sm.active_cycles"), c[Count::sm_cycles] + spec.sms()) << kind;
        }
    }
}

TEST(EnergyOfRuns, MoreTrafficCostsMore) {
    for (const char* kind : {"stream", "store", "divergent"}) {
        RunResult less = priced(small_icc(), kind, 1);
        for (const std::uint32_t iterations : {2u, 4u, 8u}) {
            RunResult more = priced(small_icc(), kind, iterations);
            for (std::size_t t = 0; t < less.energy.size(); ++t) {
                for (std::size_t c = 0; c < less.energy[t].components.size(); ++c) {
                    const auto& [component, fj] = more.energy[t].components[c];
                    EXPECT_GE(fj, less.energy[t].components[c].second) << kind << " " << iterations << " " << component;
                    if (component == "noc") {
                        EXPECT_GT(fj, less.energy[t].components[c].second) << kind << " " << iterations;
                    }
                }
            }
            less = std::move(more);
        }
    }
}

TEST(EnergyOfRuns, DramCommandsOfTheDetailedControllerAreCounted) {
    MachineSpec spec = small_v100();
    auto& controller = spec.section<DramControllerSpec>();
    controller.on = true;
    controller.standard = "HBM2";
    controller.refresh = DramControllerSpec::Refresh::all_bank;
    controller.tREFI = 331;
    controller.tRFC = 22;
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 48;
    std::vector<std::uint64_t> once;
    for (const std::uint32_t window : {0u, 1u}) {
        RunOptions options;
        options.window_cycles = window;
        RunResult result = run_on(valid(spec), *make_synthetic("stream", params), options);
        add_energy(result, spec, energy_table("dram_hbm2"));
        const EnergyCounts counts = energy_counts(spec, {}, result.stats, result.cycles);
        EXPECT_EQ(counts[EnergyCount::dram_refreshes], result.stat("dram.refreshes"));
        const std::uint64_t dram_cycles = result.cycles * spec.gpu.dram_mhz / spec.gpu.core_mhz;
        EXPECT_GE(counts[EnergyCount::dram_refreshes], spec.dram.channels * (dram_cycles / 331 - 1));
        EXPECT_GT(counts[EnergyCount::dram_open_cycles], 0u);
        EXPECT_LE(counts[EnergyCount::dram_open_cycles], std::uint64_t{spec.dram.channels} * spec.dram.banks * (dram_cycles + 1));
        std::vector<std::uint64_t> items;
        for (const EnergyItem& item : result.energy.front().items) items.push_back(item.fj);
        if (once.empty()) once = items;
        EXPECT_EQ(items, once) << "window " << window;
    }
}

TEST(EnergyOfRuns, DoesNotDependOnThreadsOrWindows) {
    const RunResult once = priced(two_groups(), "divergent", 2);
    for (const auto& [threads, window] : {std::pair{2u, 0u}, std::pair{3u, 0u}, std::pair{1u, 1u}}) {
        RunOptions options;
        options.threads = threads;
        options.window_cycles = window;
        const RunResult again = priced(two_groups(), "divergent", 2, 1, options);
        for (std::size_t t = 0; t < once.energy.size(); ++t) {
            ASSERT_EQ(again.energy[t].items.size(), once.energy[t].items.size());
            for (std::size_t i = 0; i < once.energy[t].items.size(); ++i)
                EXPECT_EQ(again.energy[t].items[i].fj, once.energy[t].items[i].fj) << once.energy[t].items[i].name;
            EXPECT_EQ(again.energy[t].joule_seconds, once.energy[t].joule_seconds);
        }
    }
}

/// A check of the calibration, not a prediction: GPUWattch's prices give the network of the 60-SM machine the share of a
/// memory-bound kernel's energy that papers report (25 % on average, up to 44 %); the bottom-up prices are far below.
TEST(EnergyOfRuns, NetworkHasItsShareOfAStream) {
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 240;
    params.iterations = 2;
    const auto workload = make_synthetic("stream", params);
    const MachineSpec spec = icc60_like();
    RunResult result = run_on(spec, *workload);
    for (const char* table : kTables) add_energy(result, spec, energy_table(table));
    const auto share = [&](const EnergyReport& report) {
        for (const auto& [component, fj] : report.components) {
            if (component == "noc") return static_cast<double>(fj) / static_cast<double>(report.total_fj);
        }
        return 0.0;
    };
    EXPECT_GT(share(result.energy[0]), 0.12);
    EXPECT_LT(share(result.energy[0]), 0.24);
    EXPECT_LT(share(result.energy[1]), 0.12);
}

/// The cluster's unit keeps what travels: blocks of the load/store unit, which on a sectored machine are shorter than a line.
TEST(EnergyOfRuns, ClustersArePricedForTheBlocksTheyKeep) {
    MachineSpec spec = v100_like();
    spec.gpu.sms_per_cluster = 5;
    spec.section<IccSpec>().on = spec.section<CoalescedCacheSpec>().on = true;
    ASSERT_EQ(spec.l1.line_bytes, 128u);
    ASSERT_EQ(valid(spec).lsu.block_bytes, 32u);
    for (const char* table : kTables) {
        const EnergyData data = energy_table(table);
        const EnergyPrices prices = energy_prices(data, energy_shape(spec), structures_of(spec));
        const auto fj = [&](std::string_view name) {
            for (const EnergyPrice& price : prices.list) {
                if (price.name == name) return price.fj;
            }
            ADD_FAILURE() << "no price for " << name;
            return std::uint64_t{0};
        };
        const auto cost = [&](std::string_view kind, std::uint32_t entries, std::uint32_t width) {
            return data.sram.cost({data.table.sram_tool, data.table.node_nm, kind, std::uint64_t{entries} * width, width});
        };
        const auto rounded = [](double pj) { return static_cast<std::uint64_t>(pj * 1000 + 0.5); };
        constexpr std::uint32_t kTag = 48 - 5;
        EXPECT_EQ(fj("merge table searches"), rounded(cost("cam", 48, kTag + 5).search_pj)) << table;
        EXPECT_EQ(fj("coalesced cache searches"), rounded(cost("cam", 24, kTag).search_pj)) << table;
        EXPECT_EQ(fj("coalesced cache reads"), rounded(cost("fully_associative", 24, 32 * 8).read_pj)) << table;
        EXPECT_EQ(fj("coalesced cache writes"), rounded(cost("fully_associative", 24, 32 * 8).write_pj)) << table;
    }
}

/// A mechanism from outside declares what it is made of, and is priced like ours.
TEST(EnergyOfRuns, DeclaredStructuresArePricedByTheirStatistics) {
    Structure queue;
    queue.component = "sm";
    queue.name = "replay queue";
    queue.plural = "replay queues";
    queue.kind = Structure::Kind::ram;
    queue.per = "SM";
    queue.entries = 128;
    queue.data_bits = 64;
    const MachineSpec spec = small_icc();
    queue.instances = spec.sms();
    queue.uses = {{"writes", Structure::Access::write, {"l1.fills"}}, {"reads", Structure::Access::read, {"sm.loads", "l2.reads"}}};
    RunResult result = priced(spec, "stream", 2, 2);
    const std::vector<EnergyReport> without = result.energy;
    result.energy.clear();
    for (const char* table : kTables) add_energy(result, spec, std::vector{queue}, energy_table(table));
    for (std::size_t t = 0; t < std::size(kTables); ++t) {
        std::uint64_t writes = 0, reads = 0, leakage = 0;
        for (const EnergyItem& item : result.energy[t].items) {
            if (item.name == "replay queue writes") {
                EXPECT_EQ(item.component, "sm");
                EXPECT_EQ(item.unit, "writes");
                EXPECT_EQ(item.count, result.stat("l1.fills"));
                writes = item.fj;
            }
            if (item.name == "replay queue reads") {
                EXPECT_EQ(item.count, result.stat("sm.loads") + result.stat("l2.reads"));
                reads = item.fj;
            }
            if (item.name == "replay queues leakage") leakage = item.fj;
        }
        EXPECT_GT(writes, 0u);
        EXPECT_GT(reads, 0u);
        EXPECT_GT(leakage, 0u);
        EXPECT_EQ(result.energy[t].total_fj, without[t].total_fj + writes + reads + leakage);
    }
    queue.uses[1].statistics = {"sm.lods"};
    try {
        add_energy(result, spec, std::vector{queue}, energy_table(kTables[0]));
        FAIL() << "a statistic nobody counts was priced";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("unknown statistic 'sm.lods'; did you mean 'sm.loads'?"), std::string::npos)
            << error.what();
    }
}

/// SMs that never get a CTA are idle all the time; the busy one is not.
TEST(EnergyOfRuns, IdleSmsAreCharged) {
    SyntheticParams params = synthetic_defaults("compute");
    params.ctas = 1;
    params.iterations = 4;
    const auto workload = make_synthetic("compute", params);
    const MachineSpec spec = small_icc();
    const RunResult result = run_on(spec, *workload);
    const EnergyCounts counts = energy_counts(spec, {}, result.stats, result.cycles);
    const std::uint64_t others = result.cycles * (spec.sms() - 1);
    EXPECT_GE(counts[EnergyCount::idle_sm_cycles], others);
    EXPECT_LT(counts[EnergyCount::idle_sm_cycles], others + result.cycles / 2 + 50);
    EXPECT_EQ(counts[EnergyCount::sm_cycles], result.cycles * spec.sms());
}

}  // namespace
}  // namespace mergelane::testing
