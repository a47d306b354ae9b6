// SPDX-License-Identifier: MIT
// Law: clusters of tasks and orders of a grid are bijections, for every size that is tried. Controls: the equations as they were printed
// are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "dispatch/task_mapping.hpp"

namespace mergelane::testing {
namespace {

constexpr std::uint32_t kMostClusters = 40;
constexpr std::uint64_t kMostTasks = 400;

template <typename Check>
std::uint32_t failures(Check&& holds) {
    std::uint32_t failed = 0;
    for (std::uint32_t clusters = 1; clusters <= kMostClusters; ++clusters) {
        for (std::uint64_t tasks = 1; tasks <= kMostTasks; ++tasks) failed += holds(tasks, clusters) ? 0 : 1;
    }
    return failed;
}

TEST(TaskClusters, EveryTaskHasOnePlaceAndEveryPlaceOneTask) {
    EXPECT_EQ(failures([](std::uint64_t tasks, std::uint32_t clusters) {
                  const TaskClusters c(tasks, clusters);
                  std::uint64_t next = 0;
                  for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
                      if (c.first(cluster) != next) return false;
                      if (c.size(cluster) != tasks / clusters + (cluster < tasks % clusters ? 1 : 0)) return false;
                      for (std::uint64_t within = 0; within < c.size(cluster); ++within, ++next) {
                          if (c.task({within, cluster}) != next || c.of(next) != TaskClusters::Position{within, cluster}) return false;
                      }
                  }
                  return next == tasks;
              }),
              0u);
}

TEST(TaskClusters, RedirectionIsAPermutationThatKeepsToTheSm) {
    EXPECT_EQ(failures([](std::uint64_t tasks, std::uint32_t clusters) {
                  const TaskClusters c(tasks, clusters);
                  std::vector<bool> seen(tasks);
                  for (std::uint64_t cta = 0; cta < tasks; ++cta) {
                      const TaskClusters::Position dealt = c.dealt(cta);
                      const std::uint64_t task = c.task(dealt);
                      if (task >= tasks || seen[task] || c.of(task).cluster != cta % clusters) return false;
                      seen[task] = true;
                  }
                  return true;
              }),
              0u);
}

TEST(TaskClusters, AnyNumberOfAgentsDoesEveryTaskOnce) {
    for (const std::uint64_t agents : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u}) {
        EXPECT_EQ(failures([agents](std::uint64_t tasks, std::uint32_t clusters) {
                      const TaskClusters c(tasks, clusters);
                      std::uint64_t done = 0;
                      std::vector<bool> seen(tasks);
                      for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
                          for (std::uint64_t agent = 0; agent < agents; ++agent) {
                              for (std::uint64_t w = agent; w < c.size(cluster); w += agents, ++done) {
                                  if (seen[c.task({w, cluster})]) return false;
                                  seen[c.task({w, cluster})] = true;
                              }
                          }
                      }
                      return done == tasks;
                  }),
                  0u)
            << agents << " agents";
    }
}

// --- As they were printed -------------------------------------------------------------------------------------------------------------
// V tasks in M clusters, q = V / M, r = V mod M. A pair (V, M) fails if for some task the printed inverse does not lead back to it.

struct Printed {
    std::int64_t tasks, clusters, q, r;
    Printed(std::uint64_t v, std::uint32_t m)
        : tasks(static_cast<std::int64_t>(v)), clusters(m), q(tasks / clusters), r(tasks % clusters) {}

    std::int64_t inverse(std::int64_t w, std::int64_t i) const { return i * (q + 1) + w + std::min<std::int64_t>(r - i, 0); }
    /// Equation 4 or 5; nothing where it divides by zero.
    std::optional<std::int64_t> back(std::int64_t v, bool in_larger, bool corrected_w = false) const {
        if (in_larger) return inverse(v % (q + 1), v / (q + 1));
        if (q == 0) return std::nullopt;
        return inverse((corrected_w ? v - r : v) % q, (v - r) / q);
    }
    template <typename InLarger>
    bool leads_back(InLarger&& in_larger, bool corrected_w = false) const {
        for (std::int64_t v = 0; v < tasks; ++v) {
            if (back(v, in_larger(v), corrected_w) != v) return false;
        }
        return true;
    }
};

TEST(TaskClusters, ThePrintedEquationsAreWrong) {
    // The condition compares v mod M with V mod M; equation 3, for r = 0, is not treated apart, and ranges are not checked.
    EXPECT_EQ(failures([](std::uint64_t v, std::uint32_t m) {
                  const Printed p(v, m);
                  return p.leads_back([&](std::int64_t task) { return task % p.clusters <= p.r; });
              }),
              13520u);
    // The right condition alone is not enough: equation 5 has v mod q where (v - r) mod q is meant.
    const auto right_condition = [](const Printed& p) { return [&p](std::int64_t task) { return task < p.r * (p.q + 1); }; };
    EXPECT_EQ(failures([&](std::uint64_t v, std::uint32_t m) {
                  const Printed p(v, m);
                  return p.leads_back(right_condition(p));
              }),
              11261u);
    EXPECT_EQ(failures([&](std::uint64_t v, std::uint32_t m) {
                  const Printed p(v, m);
                  return p.leads_back(right_condition(p), true);
              }),
              0u);
}

TEST(TaskClusters, ThePrintedHeaderOverlapsItsClusters) {
    // It has ceil(V / M) + 1 where q + 1 is meant. Clusters without tasks do not matter.
    EXPECT_EQ(failures([](std::uint64_t v, std::uint32_t m) {
                  const TaskClusters right(v, m);
                  const Printed p(v, m);
                  const std::int64_t printed = (p.tasks + p.clusters - 1) / p.clusters + 1;
                  for (std::uint32_t i = 0; i < m; ++i) {
                      if (right.size(i) == 0) continue;
                      if (printed * i + std::min<std::int64_t>(p.r - i, 0) != static_cast<std::int64_t>(right.first(i))) return false;
                  }
                  return true;
              }),
              14263u);
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
                for (std::uint32_t tile = 1; tile <= 10; ++tile) orders.emplace_back(Dim3{x, y, z}, TaskOrder::Kind::tiles, tile);
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
    EXPECT_NE(complaint({2, 2, 1}, "3 1 1 2").find("has 1 twice"), std::string::npos);
    EXPECT_NE(complaint({2, 2, 1}, "3 1 4 2").find("4 in it, which is no CTA"), std::string::npos) << complaint({2, 2, 1}, "3 1 4 2");
    EXPECT_NE(complaint({2, 2, 1}, "3 x 1 2").find("has 'x' where"), std::string::npos);
    EXPECT_NE(complaint({2, 2, 1}, "3 1x 1 2").find("has '1x' where"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
