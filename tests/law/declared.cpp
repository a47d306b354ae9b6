// SPDX-License-Identifier: MIT
// Law: what a mechanism declares about itself is there when it is on, and only then.
#include <gtest/gtest.h>

#include "energy/cost_tables.hpp"
#include "machines.hpp"
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

TEST(Declared, HardwareIsThatOfTheCostTable) {
    MachineSpec spec = icc60_like();
    EXPECT_TRUE(structures_of(spec).empty());
    spec.cluster.icc.enabled = true;
    EXPECT_EQ(structures_of(spec).size(), 1u);
    spec.cluster.cc.enabled = true;
    const std::vector<Structure> structures = structures_of(valid(spec));
    const CostTable published = icc_cost();
    ASSERT_EQ(structures.size(), published.storage.size());
    for (std::size_t i = 0; i < structures.size(); ++i) {
        EXPECT_EQ(structures[i].name, published.storage[i].structure.name);
        EXPECT_EQ(structures[i].bits(), published.storage[i].structure.bits());
        EXPECT_EQ(structures[i].instances, published.instances);
        EXPECT_EQ(structures[i].per, published.per);
    }
    spec.gpu.groups = 2;
    EXPECT_EQ(structures_of(valid(spec))[0].instances, 24u) << "of all groups";
    spec.lsu.block_bytes = 32;
    EXPECT_EQ(structures_of(spec)[1].tag_bits, 43u);
    EXPECT_EQ(structures_of(spec)[1].data_bits, 256u);
}

TEST(Declared, EveryUseIsCounted) {
    MachineSpec spec = icc60_like(3);
    spec.cluster.icc.enabled = spec.cluster.cc.enabled = true;
    const RunResult result = run_shared(valid(spec));
    for (const Structure& structure : structures_of(spec)) {
        for (const Structure::Use& use : structure.uses) {
            EXPECT_FALSE(use.statistics.empty()) << structure.name << ' ' << use.name;
            for (const std::string& name : use.statistics) EXPECT_TRUE(result.has_stat(name)) << name;
        }
    }
}

}  // namespace
}  // namespace mergelane::testing
