// SPDX-License-Identifier: MIT
#include "core/result.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/report.hpp"

namespace mergelane {
namespace {

std::string complaint(const auto& result, std::string_view name) {
    try {
        static_cast<void>(result.stat(name));
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Result, WhatNobodyCountsIsNotZero) {
    RunResult run;
    run.stats = {{"l1.fills", "requests", "", 7}, {"l2.reads", "requests", "", 0}};
    EXPECT_EQ(run.stat("l1.fills"), 7u);
    EXPECT_EQ(run.stat("l2.reads"), 0u);
    EXPECT_TRUE(run.has_stat("l2.reads"));
    EXPECT_FALSE(run.has_stat("icc.reads"));
    EXPECT_EQ(complaint(run, "l1.fill"), "unknown statistic 'l1.fill'; did you mean 'l1.fills'? A disabled mechanism has no statistics");
    EXPECT_EQ(complaint(run, "locality.data_sharing_2000"),
              "unknown statistic 'locality.data_sharing_2000'; check its spelling. A disabled mechanism has no statistics");
    KernelResult kernel;
    kernel.values = {5, 1};
    EXPECT_EQ(statistic(run.stats_of(kernel), "l2.reads"), 1u);
    EXPECT_EQ(run.stats_of(kernel)[0].name, "l1.fills");
    EXPECT_THROW(summary(RunResult{}), InputError) << "no statistic at all";
}

TEST(Result, NumbersAreGrouped) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace mergelane
