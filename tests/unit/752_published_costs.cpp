// SPDX-License-Identifier: MIT
// The hardware that mechanisms declare, at the sizes of their papers, takes the storage that the papers print.
#include "config/published_costs.hpp"

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "sim/declared.hpp"

namespace mergelane {
namespace {

Publication paper_of(const std::string& mechanism) {
    for (const Publication& paper : publications()) {
        if (paper.mechanism == mechanism) return paper;
    }
    ADD_FAILURE() << "nobody declares " << mechanism;
    return {};
}

std::vector<Structure> published(const std::string& mechanism) {
    return structures_of(paper_of(mechanism), default_preset_dirs());
}

std::uint64_t total_bytes(const std::vector<Structure>& structures) {
    std::uint64_t sum = 0;
    for (const Structure& structure : structures) sum += structure.bytes();
    return sum;
}

TEST(PublishedCosts, IntraClusterCoalescingIsExact) {
    const std::vector<Structure> parts = published("intra-cluster coalescing");
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(block_tag_bits(128), 41u);
    EXPECT_EQ(parts[0].entry_bits(), 46u);
    EXPECT_EQ(parts[0].bits(), 2208u);
    EXPECT_EQ(parts[0].bytes(), 276u);
    EXPECT_EQ(parts[1].entry_bits(), 1065u);
    EXPECT_EQ(parts[1].bits(), 25560u);
    EXPECT_EQ(parts[1].bytes(), 3195u);
    EXPECT_EQ(parts[0].instances * parts[0].bytes(), 3312u);
    EXPECT_EQ(parts[1].instances * parts[1].bytes(), 38340u);
}

TEST(PublishedCosts, IntraClusterCoalescingFollowsItsSizes) {
    Publication paper = paper_of("intra-cluster coalescing");
    const auto with = [&](const std::vector<std::string>& overrides) {
        Publication changed = paper;
        changed.overrides.insert(changed.overrides.end(), overrides.begin(), overrides.end());
        return structures_of(changed, default_preset_dirs());
    };
    EXPECT_EQ(with({"gpu.clusters=10", "gpu.sms_per_cluster=6"})[0].bytes(), 282u) << "one bit more per entry";
    EXPECT_EQ(with({"gpu.clusters=6", "gpu.sms_per_cluster=10", "cluster.icc.entries=96"})[0].bits(), 96u * 51);
    EXPECT_EQ(with({"lsu.block_bytes=32", "l1.sector_bytes=32"})[1].entry_bits(), 43u + 256);
}

TEST(PublishedCosts, WarpPoolIsExact) {
    const std::vector<Structure> parts = published("WarpPool");
    const std::uint64_t bytes[] = {592, 512, 992, 321, 2944};
    double milliwatts = 0;
    ASSERT_EQ(parts.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(parts[i].bytes(), bytes[i]) << parts[i].name;
        EXPECT_GT(parts[i].published_mw, 0) << parts[i].name;
        milliwatts += parts[i].published_mw;
    }
    EXPECT_EQ(total_bytes(parts), 5361u);
    EXPECT_NEAR(milliwatts, 142.3, 0.05);
    EXPECT_NEAR(paper_of("WarpPool").published_mm2 * parts[0].instances, 5.4, 1e-9);
}

TEST(PublishedCosts, QueuesOfDecoupledL1sAreExact) {
    const std::vector<Structure> parts = published("decoupled L1");
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].name, "node queues");
    EXPECT_EQ(parts[0].instances, 40u);
    EXPECT_EQ(parts[0].entries, 16u) << "four queues of four";
    EXPECT_EQ(parts[0].bytes() * parts[0].instances, 80u * 1024);
    EXPECT_EQ(static_cast<double>(parts[0].bytes() * parts[0].instances) / (80 * 16 * 1024), 0.0625);
    EXPECT_EQ(paper_of("decoupled L1").networks.size(), 7u);
}

TEST(PublishedCosts, CoverAllFivePapers) {
    EXPECT_EQ(publications().size(), 5u);
    EXPECT_TRUE(published("CTA clustering").empty());
    EXPECT_EQ(paper_of("CTA clustering").per, "program");
    for (const Publication& paper : publications()) {
        EXPECT_FALSE(paper.remark.empty()) << paper.mechanism;
        for (const Structure& structure : structures_of(paper, default_preset_dirs())) EXPECT_EQ(structure.per, paper.per);
        if (paper.machine.empty()) continue;
        EXPECT_TRUE(structures_of(load_config(paper.machine, {}, default_preset_dirs()).spec).empty())
            << paper.machine << " has hardware of a mechanism without it";
    }
}

}  // namespace
}  // namespace mergelane
