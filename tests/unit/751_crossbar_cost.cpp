// SPDX-License-Identifier: MIT
#include "energy/crossbar_cost.hpp"

#include <gtest/gtest.h>

#include "energy_data.hpp"

namespace mergelane::testing {
namespace {

TEST(CrossbarCost, AgreesWithEveryRouterOfTheTool) {
    const std::vector<DsentRouter> routers = dsent_routers();
    ASSERT_EQ(routers.size(), 104u);
    std::uint32_t minimum_size = 0;
    for (const DsentRouter& router : routers) {
        const CrossbarCost cost = crossbar_cost(router.shape);
        const auto which = [&] {
            return ::testing::Message() << router.shape.inputs << "x" << router.shape.outputs << ", " << router.shape.flit_bits << " bits, "
                                        << router.shape.virtual_channels << " channels, " << router.shape.buffer_flits << " flits";
        };
        EXPECT_NEAR(cost.area_mm2() / router.area_mm2, 1, 0.01) << which();
        EXPECT_NEAR(cost.leak_mw() / router.leak_mw, 1, 0.05) << which();
        EXPECT_NEAR(cost.flit_pj() / router.flit_pj, 1, 0.10) << which();
        EXPECT_NEAR(cost.clock_pj / router.clock_pj, 1, 0.10) << which();
        minimum_size += router.minimum_size;
    }
    EXPECT_EQ(minimum_size, 30u);
}

TEST(CrossbarCost, ScalesByPartAndQuantity) {
    const CrossbarShape shape{12, 8, 512, 1, 32};
    const CrossbarCost base = crossbar_cost(shape);
    const CrossbarCost scaled = crossbar_cost(shape, {2, 4, 3, 5});
    EXPECT_DOUBLE_EQ(scaled.buffers.area_mm2, 2 * base.buffers.area_mm2);
    EXPECT_DOUBLE_EQ(scaled.switch_fabric.area_mm2, 4 * base.switch_fabric.area_mm2);
    EXPECT_DOUBLE_EQ(scaled.leak_mw(), 3 * base.leak_mw());
    EXPECT_DOUBLE_EQ(scaled.flit_pj(), 5 * base.flit_pj());
    EXPECT_DOUBLE_EQ(scaled.clock_pj, 5 * base.clock_pj);
}

TEST(CrossbarCost, LargerIsSlower) {
    EXPECT_NEAR(1 / crossbar_min_delay_ns(8, 4), 2.24, 0.05);
    EXPECT_NEAR(1 / crossbar_min_delay_ns(16, 8), 1.55, 0.05);
    EXPECT_NEAR(1 / crossbar_min_delay_ns(80, 32), 0.50, 0.03);
    EXPECT_NEAR(crossbar_min_delay_ns(80, 40), 2.066, 0.045 * 2.066);
}

}  // namespace
}  // namespace mergelane::testing
