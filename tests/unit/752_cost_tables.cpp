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

}  // namespace
}  // namespace mergelane
