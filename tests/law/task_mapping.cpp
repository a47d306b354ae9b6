// SPDX-License-Identifier: MIT
// Invariant: clusters of tasks and orders of a grid are bijections, for every size tested. Controls: the equations as printed in the paper
// are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "dispatch/task_mapping.hpp"
#include "study/examples.hpp"

namespace mergelane::testing {
namespace {

TEST(TaskClusters, EveryTaskHasOnePlace) {
    for (const char* kind : {"clusters", "redirection", "agents", "corrected"}) EXPECT_EQ(study::mapping_failures(kind), 0u) << kind;
}

TEST(TaskClusters, ThePrintedEquationsAreWrong) {
    EXPECT_EQ(study::mapping_failures("printed"), 13520u);
    // The right condition alone is not enough: equation 5 has v mod q where (v - r) mod q is meant.
    EXPECT_EQ(study::mapping_failures("printed, right condition"), 11261u);
    EXPECT_EQ(study::mapping_failures("printed header"), 14263u) << "clusters overlap";
    EXPECT_THROW(study::mapping_failures("other"), InputError);
}

// --- Orders of a grid -----------------------------------------------------------------------------------------------------------------

TEST(TaskOrder, EveryOrderHasEveryCtaOnce) {
    for (std::uint32_t x = 1; x <= 9; ++x) {
        for (std::uint32_t y = 1; y <= 9; ++y) {
            for (std::uint32_t z = 1; z <= 2; ++z) {
                std::vector<std::uint64_t> table(std::size_t{x} * y * z);
                std::iota(table.rbegin(), table.rend(), 0);
                std::vector<TaskOrder> orders = {TaskOrder({x, y, z}, TaskOrder::Kind::rows),
                                                 TaskOrder({x, y, z}, TaskOrder::Kind::columns),
                                                 TaskOrder({x, y, z}, TaskOrder::Kind::table, 1, table)};
                for (std::uint32_t tile = 1; tile <= 10; ++tile) {
                    orders.emplace_back(Dim3{x, y, z}, TaskOrder::Kind::tiles, tile);
                    orders.emplace_back(Dim3{x, y, z}, TaskOrder::Kind::bands, tile);
                }
                for (const TaskOrder& order : orders) {
                    std::vector<bool> seen(order.ctas());
                    for (std::uint64_t place = 0; place < order.ctas(); ++place) {
                        ASSERT_LT(order.cta(place), seen.size());
                        ASSERT_FALSE(seen[order.cta(place)]) << x << "x" << y << "x" << z;
                        seen[order.cta(place)] = true;
                    }
                }
            }
        }
    }
}

std::vector<std::uint64_t> listed(const TaskOrder& order) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t place = 0; place < order.ctas(); ++place) list.push_back(order.cta(place));
    return list;
}

TEST(TaskOrder, CountsAsItsNameSays) {
    using List = std::vector<std::uint64_t>;
    EXPECT_EQ(listed({{3, 2, 1}, TaskOrder::Kind::rows}), (List{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(listed({{3, 2, 1}, TaskOrder::Kind::columns}), (List{0, 3, 1, 4, 2, 5}));
    // 0 1 | 2 3 | 4
    // 5 6 | 7 8 | 9
    // ----+-----+--
    // a b | c d | e
    EXPECT_EQ(listed({{5, 3, 1}, TaskOrder::Kind::tiles, 2}), (List{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14}));
    // 0 2 4 6 8 / 1 3 5 7 9 / a b c d e
    EXPECT_EQ(listed({{5, 3, 1}, TaskOrder::Kind::bands, 2}), (List{0, 5, 1, 6, 2, 7, 3, 8, 4, 9, 10, 11, 12, 13, 14}));
    EXPECT_EQ(listed({{2, 2, 2}, TaskOrder::Kind::columns}), (List{0, 2, 1, 3, 4, 6, 5, 7}));
}

std::string complaint(const Dim3& grid, const std::string& table) {
    try {
        TaskOrder(grid, TaskOrder::Kind::table, 1, task_table(table));
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(TaskOrder, ATableThatIsNoOrderIsRefused) {
    EXPECT_EQ(complaint({2, 2, 1}, "3, 1 0 2"), "");
    EXPECT_NE(complaint({2, 2, 1}, "3 1 0").find("has 3 numbers, but the kernel has 4 CTAs"), std::string::npos);
    EXPECT_NE(complaint({2, 2, 1}, "3 1 1 2").find("contains 1 twice"), std::string::npos);
    EXPECT_NE(complaint({2, 2, 1}, "3 1 4 2").find("4, which is not a CTA"), std::string::npos) << complaint({2, 2, 1}, "3 1 4 2");
    EXPECT_NE(complaint({2, 2, 1}, "3 x 1 2").find("has 'x' where"), std::string::npos);
    EXPECT_NE(complaint({2, 2, 1}, "3 1x 1 2").find("has '1x' where"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
