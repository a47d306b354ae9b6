// SPDX-License-Identifier: MIT
#include "energy/cost_tables.hpp"

#include <gtest/gtest.h>

namespace mergelane {
namespace {

TEST(CostTables, IntraClusterCoalescingIsExact) {
    const CostTable table = icc_cost();
    ASSERT_EQ(table.storage.size(), 2u);
    EXPECT_EQ(block_tag_bits(128), 41u);
    EXPECT_EQ(table.storage[0].structure.entry_bits(), 46u);
    EXPECT_EQ(table.storage[0].structure.bits(), 2208u);
    EXPECT_EQ(table.storage[0].structure.bytes(), 276u);
    EXPECT_EQ(table.storage[1].structure.entry_bits(), 1065u);
    EXPECT_EQ(table.storage[1].structure.bits(), 25560u);
    EXPECT_EQ(table.storage[1].structure.bytes(), 3195u);
    EXPECT_EQ(table.instances * table.storage[0].structure.bytes(), 3312u);
    EXPECT_EQ(table.instances * table.storage[1].structure.bytes(), 38340u);
    IccSizes with_valid_bits;
    ++with_valid_bits.sms_per_cluster;  // one bit more per entry
    EXPECT_EQ(icc_cost(with_valid_bits).storage[0].structure.bytes(), 282u);
}

TEST(CostTables, IntraClusterCoalescingFollowsItsSizes) {
    IccSizes sizes;
    sizes.clusters = 6;
    sizes.sms_per_cluster = 10;
    sizes.merge_table_entries = 96;
    EXPECT_EQ(icc_cost(sizes).storage[0].structure.bits(), 96u * 51);
    sizes.line_bytes = 32;
    EXPECT_EQ(icc_cost(sizes).storage[1].structure.entry_bits(), 43u + 256);
}

TEST(CostTables, WarpPoolIsExact) {
    const CostTable table = warp_pool_cost();
    const std::uint64_t bytes[] = {592, 512, 992, 321, 2944};
    double milliwatts = 0;
    ASSERT_EQ(table.storage.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(table.storage[i].structure.bytes(), bytes[i]) << table.storage[i].structure.name;
        milliwatts += table.storage[i].published_mw;
    }
    EXPECT_EQ(table.bytes(), 5361u);
    EXPECT_NEAR(milliwatts, 142.3, 0.05);
    EXPECT_NEAR(0.36 * table.instances, 5.4, 1e-9);
}

TEST(CostTables, QueuesOfDecoupledL1sAreExact) {
    const CostTable table = dc_l1_cost();
    EXPECT_EQ(table.bytes() * table.instances, 80u * 1024);
    EXPECT_EQ(static_cast<double>(table.bytes() * table.instances) / (80 * 16 * 1024), 0.0625);
}

TEST(CostTables, CoverAllFivePapers) {
    const std::vector<CostTable> tables = cost_tables();
    ASSERT_EQ(tables.size(), 5u);
    EXPECT_TRUE(tables[3].storage.empty());
    EXPECT_EQ(tables[4].per, "program");
}

TEST(CostTables, NetworksOfDecoupledL1sHaveThePublishedCrossbars) {
    const std::vector<NocDesign> designs = dc_l1_nocs();
    struct Expected {
        std::string_view name;
        std::uint32_t crosspoints, ports;  // sums over all crossbars of one direction
    };
    const Expected expected[] = {{"baseline", 2560, 112}, {"Pr40", 1360, 192},   {"Pr20", 720, 152},     {"Pr10", 400, 132},
                                 {"Sh40", 4480, 192},     {"Sh40+C5", 800, 192}, {"Sh40+C10", 640, 192}, {"Sh40+C20", 800, 192}};
    ASSERT_EQ(designs.size(), std::size(expected));
    for (std::size_t i = 0; i < designs.size(); ++i) {
        std::uint32_t crosspoints = 0, ports = 0;
        for (const auto& [count, shape] : designs[i].request) {
            crosspoints += count * shape.inputs * shape.outputs;
            ports += count * (shape.inputs + shape.outputs);
        }
        EXPECT_EQ(designs[i].name, expected[i].name);
        EXPECT_EQ(crosspoints, expected[i].crosspoints) << designs[i].name;
        EXPECT_EQ(ports, expected[i].ports) << designs[i].name;
    }
    // 120 cores, 48 slices, 60 nodes in 10 clusters.
    const NocDesign large = dc_l1_noc("Sh60+C10", 120, 60, 10, 48);
    ASSERT_EQ(large.request.size(), 2u);
    EXPECT_EQ(large.request[0].count, 10u);
    EXPECT_EQ(large.request[0].shape.inputs, 12u);
    EXPECT_EQ(large.request[0].shape.outputs, 6u);
    EXPECT_EQ(large.request[1].count, 6u);
    EXPECT_EQ(large.request[1].shape.inputs, 10u);
    EXPECT_EQ(large.request[1].shape.outputs, 8u);
}

}  // namespace
}  // namespace mergelane
