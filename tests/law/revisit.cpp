// SPDX-License-Identifier: MIT
// Invariant: on the machines of the CTA clustering paper, a CTA hits in the L1 on data that earlier CTAs on its SM fetched. With
// partitions, it does so only if they had slots of the same partition.
#include <gtest/gtest.h>

#include <filesystem>

#include "config/config.hpp"
#include "study/examples.hpp"

namespace mergelane::testing {
namespace {

struct Expected {
    const char* gpu;
    std::uint32_t turnarounds;
    double transactions;  ///< per SM; published
    double slow;          ///< per SM, when CTAs come one after the other
};

class Revisits : public ::testing::TestWithParam<Expected> {};
INSTANTIATE_TEST_SUITE_P(Machines, Revisits,
                         ::testing::Values(Expected{"gtx570", 4, 4, 1}, Expected{"k40", 4, 4, 1}, Expected{"gtx980", 2, 2, 2},
                                           Expected{"gtx1080", 2, 2, 2}));

TEST_P(Revisits, OnlyTheFirstTurnaroundWaits) {
    const Expected& expected = GetParam();
    const MachineSpec machine = load_config(expected.gpu, {}, {std::filesystem::path(MERGELANE_SOURCE_DIR) / "gpus"}).spec;
    const study::Revisit first = study::revisit(machine, 1, 0);
    const study::Revisit last = study::revisit(machine, expected.turnarounds, 0);
    EXPECT_EQ(first.transactions, expected.transactions);
    EXPECT_EQ(last.transactions, expected.transactions);
    EXPECT_EQ(first.slow, machine.sm.cta_slots) << "all of them wait for the same line";
    EXPECT_EQ(last.slow, first.slow);
    EXPECT_GE(first.latency, 3 * last.latency);
}

TEST_P(Revisits, OnlyTheFirstCtaWaitsIfTheyComeOneAfterTheOther) {
    const Expected& expected = GetParam();
    const MachineSpec machine = load_config(expected.gpu, {}, {std::filesystem::path(MERGELANE_SOURCE_DIR) / "gpus"}).spec;
    const study::Revisit one_by_one = study::revisit(machine, expected.turnarounds, 1);
    EXPECT_EQ(one_by_one.slow, expected.slow);
    EXPECT_EQ(one_by_one.transactions, expected.transactions);
}

}  // namespace
}  // namespace mergelane::testing
