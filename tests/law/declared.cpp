// SPDX-License-Identifier: MIT
// Law: what a mechanism declares about itself is there when it is on, and only then: hardware, and figures for people.
#include <gtest/gtest.h>

#include "cluster/icc_spec.hpp"
#include "cluster/locality_meter.hpp"
#include "machines.hpp"
#include "report/report.hpp"
#include "run.hpp"
#include "sim/declared.hpp"
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

TEST(Declared, EveryUseIsCounted) {
    MachineSpec spec = icc60_like(3);
    spec.section<IccSpec>().on = spec.section<CoalescedCacheSpec>().on = true;
    const RunResult result = run_shared(valid(spec));
    for (const Structure& structure : structures_of(spec)) {
        for (const Structure::Use& use : structure.uses) {
            EXPECT_FALSE(use.statistics.empty()) << structure.name << ' ' << use.name;
            for (const std::string& name : use.statistics) EXPECT_TRUE(result.has_stat(name)) << name;
        }
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
