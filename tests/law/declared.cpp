// SPDX-License-Identifier: MIT
// Law: what a mechanism declares about itself is there when it is on, and only then: hardware, and figures for people. Those that only
// measure change nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "machines.hpp"
#include "report/report.hpp"
#include "run.hpp"
#include "sim/declared.hpp"
#include "variants.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

RunResult run_shared(const MachineSpec& spec) {
    SyntheticParams params = synthetic_defaults("tiled");
    params.ctas = 48;
    params.warps = 2;
    const auto workload = make_synthetic("tiled", params);
    return run_on(spec, *workload);
}

TEST(Declared, HardwareIsThereWhenItIsOn) {
    MachineSpec spec = icc60_like();
    EXPECT_TRUE(structures_of(spec).empty());
    spec.section<IccSpec>().on = true;
    EXPECT_EQ(structures_of(spec).size(), 1u);
    spec.section<CoalescedCacheSpec>().on = true;
    const std::vector<Structure> structures = structures_of(valid(spec));
    ASSERT_EQ(structures.size(), 2u);
    EXPECT_EQ(structures[0].name, "merge table");
    EXPECT_EQ(structures[0].bits(), 2208u);
    EXPECT_EQ(structures[1].name, "coalesced cache");
    EXPECT_EQ(structures[1].bits(), 25560u);
    for (const Structure& structure : structures) {
        EXPECT_EQ(structure.instances, 12u);
        EXPECT_EQ(structure.per, "cluster");
    }
    spec.gpu.groups = 2;
    EXPECT_EQ(structures_of(valid(spec))[0].instances, 24u) << "of all groups";
    spec.lsu.block_bytes = 32;
    EXPECT_EQ(structures_of(spec)[1].tag_bits, 43u);
    EXPECT_EQ(structures_of(spec)[1].data_bits, 256u);
}

bool has_new_statistics(const RunResult& result, const RunResult& base) {
    return std::any_of(result.stats.begin(), result.stats.end(), [&](const StatValue& stat) { return !base.has_stat(stat.name); });
}

TEST(Declared, EveryUseIsCountedAndEveryFigureIsShown) {
    for (const Variant& variant : variants()) {
        SCOPED_TRACE(variant.name());
        const VariantMachine machine = machine_with(variant);
        const RunResult result = run_mixed(machine.spec);
        const std::vector<Structure> structures = structures_of(machine.spec);
        for (const Structure& structure : structures) {
            EXPECT_FALSE(structure.component.empty() || structure.name.empty() || structure.plural.empty() || structure.per.empty());
            EXPECT_GT(structure.bits() * structure.instances, 0u) << structure.name;
            for (const Structure::Use& use : structure.uses) {
                EXPECT_FALSE(use.statistics.empty()) << structure.name << ' ' << use.name;
                for (const std::string& name : use.statistics) EXPECT_TRUE(result.has_stat(name)) << name;
            }
        }
        const std::string text = summary(result), json = to_json(result);
        // Mechanisms that had nothing to do are named in one line.
        const std::size_t at = std::min(text.find("\nAll zero: "), text.size());
        const std::string idle = text.substr(at, text.find('\n', at + 1) - at);
        for (const Metric& metric : result.metrics) {
            EXPECT_TRUE(std::isfinite(metric.value)) << metric.name;
            if (idle.find(metric.heading) == std::string::npos) {
                EXPECT_NE(text.find("\n" + metric.heading + "\n"), std::string::npos) << metric.heading << " in\n" << text;
                EXPECT_NE(text.find(metric.name), std::string::npos) << metric.name << " in\n" << text;
            }
            EXPECT_NE(json.find("\"name\": \"" + metric.name + "\""), std::string::npos) << metric.name;
        }
        if (!variant.switches_on()) continue;
        const RunResult without = run_mixed(*machine.base);
        EXPECT_TRUE(structures.size() > structures_of(*machine.base).size() || result.metrics.size() > without.metrics.size() ||
                    has_new_statistics(result, without))
            << "a mechanism that is on can be seen";
    }
}

TEST(Meters, CountSomethingAndOnlyWhenOn) {
    for (const Variant& meter : variants()) {
        if (!meter.is_meter()) continue;
        const VariantMachine machine = machine_with(meter);
        EXPECT_TRUE(has_new_statistics(run_mixed(machine.spec), run_mixed(*machine.base))) << meter.key;
    }
}

/// All meters that a machine can have, on every machine that there is a choice for.
TEST(Meters, ChangeNothing) {
    std::vector<Variant> meters = variants();
    std::erase_if(meters, [](const Variant& variant) { return !variant.is_meter(); });
    ASSERT_GE(meters.size(), 5u);
    for (const Variant& variant : variants()) {
        if (variant.is_meter()) continue;
        SCOPED_TRACE(variant.name());
        const MachineSpec spec = machine_with(variant).spec;
        MachineSpec metered = spec;
        std::size_t fitting = 0;
        for (const Variant& meter : meters) {
            set_key(metered, meter.key, "true");
            if (check(metered).empty())
                ++fitting;
            else
                set_key(metered, meter.key, "false");
        }
        EXPECT_GE(fitting + 2, meters.size()) << "few meters fit";
        const RunResult without = run_mixed(spec), with = run_mixed(metered);
        EXPECT_EQ(with.cycles, without.cycles);
        for (const StatValue& stat : without.stats) EXPECT_EQ(with.stat(stat.name), stat.value) << stat.name;
    }
}

TEST(Declared, FiguresFollowFromStatistics) {
    MachineSpec spec = icc60_like(3);
    const RunResult plain = run_shared(spec);
    EXPECT_TRUE(plain.metrics.empty());
    EXPECT_EQ(summary(plain).find("Clusters"), std::string::npos);
    EXPECT_FALSE(plain.has_stat("icc.reads"));

    spec.section<IccSpec>().on = spec.section<LocalitySpec>().on = true;
    const RunResult result = run_shared(valid(spec));
    ASSERT_EQ(result.metrics.size(), 3u + 4u);
    const Metric& merged = result.metrics[4];  // in the order in which requests meet them: the meter, then what merges
    EXPECT_EQ(merged.heading, "Clusters");
    EXPECT_EQ(merged.name, "L1 read misses merged");
    EXPECT_EQ(merged.unit, "%");
    EXPECT_GT(merged.value, 0);
    EXPECT_DOUBLE_EQ(merged.value, 100.0 * static_cast<double>(result.stat("icc.merged")) / static_cast<double>(result.stat("icc.reads")));
    EXPECT_EQ(result.metrics[3].name, "locality, 2000 cycles");
    const std::string text = summary(result);
    const std::size_t at = text.find("\n\nClusters\n  locality, 500 cycles ");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find("Clusters", at + 10), std::string::npos) << "one heading for both mechanisms";
    const std::string json = to_json(result);
    EXPECT_NE(json.find("\"metrics\": [\n    {\n      \"heading\": \"Clusters\","), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
