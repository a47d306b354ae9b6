// SPDX-License-Identifier: MIT
#include "energy/sram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "energy/portable_math.hpp"
#include "energy_data.hpp"

namespace mergelane::testing {
namespace {

TEST(PortableMath, AgreesWithTheLibrary) {
    for (double x = 1e-9; x < 1e12; x *= 1.37) EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
    for (double x = -40; x < 40; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-14) << x;
    EXPECT_EQ(portable_log(1), 0);
    EXPECT_EQ(portable_exp(0), 1);
}

TEST(PortableMath, GivesTheSameBitsEverywhere) {
    EXPECT_EQ(portable_log(10), 0x1.26bb1bbb55515p+1);
    EXPECT_EQ(portable_log(393216), 0x1.9c3a47e3f7defp+3);
    EXPECT_EQ(portable_exp(1), 0x1.5bf0a8b14576ap+1);
    EXPECT_EQ(portable_exp(-3.7), 0x1.9511fc6871044p-6);
}

TEST(Sram, ListedPointsAreExact) {
    const SramTable table = sram_table();
    ASSERT_GT(table.rows().size(), 200u);
    for (const SramRow& row : table.rows()) {
        const SramCost cost = table.cost({row.tool, row.node_nm, row.kind, row.bytes * 8, row.port_bits});
        EXPECT_EQ(cost.read_pj, row.cost.read_pj) << row.name;
        EXPECT_EQ(cost.write_pj, row.cost.write_pj) << row.name;
        EXPECT_EQ(cost.search_pj, row.cost.search_pj) << row.name;
        EXPECT_EQ(cost.leak_mw, row.cost.leak_mw) << row.name;
        EXPECT_EQ(cost.area_mm2, row.cost.area_mm2) << row.name;
        EXPECT_EQ(cost.access_ns, row.cost.access_ns) << row.name;
        EXPECT_FALSE(cost.extrapolated) << row.name;
    }
}

TEST(Sram, LiesBetweenItsNeighbours) {
    const SramTable table = sram_table();
    const auto l1 = [&](std::uint64_t kib, std::uint32_t node) { return table.cost({"CACTI 7.0", node, "cache", kib * 8192, 1024}); };
    for (const auto quantity : {&SramCost::read_pj, &SramCost::write_pj, &SramCost::leak_mw, &SramCost::area_mm2}) {
        EXPECT_GT(l1(24, 40).*quantity, l1(16, 40).*quantity);
        EXPECT_LT(l1(24, 40).*quantity, l1(32, 40).*quantity);
        EXPECT_GT(l1(24, 28).*quantity, l1(24, 22).*quantity) << "28 nm was not run";
        EXPECT_LT(l1(24, 28).*quantity, l1(24, 32).*quantity);
    }
    EXPECT_FALSE(l1(24, 40).extrapolated);
    EXPECT_TRUE(l1(8, 40).extrapolated);
    EXPECT_TRUE(l1(1024, 40).extrapolated);
    EXPECT_GT(l1(1024, 40).leak_mw, l1(512, 40).leak_mw);
    // Between the widths that were run.
    const SramCost narrow = table.cost({"CACTI 7.0", 40, "cache", 131072 * 8, 256});
    const SramCost middle = table.cost({"CACTI 7.0", 40, "cache", 131072 * 8, 512});
    EXPECT_GT(middle.read_pj, narrow.read_pj);
    EXPECT_LT(middle.read_pj, l1(128, 40).read_pj);
}

TEST(Sram, TablesOfOneWidthScaleWithTheWidth) {
    const SramTable table = sram_table();
    const SramCost whole = table.cost({"CACTI 7.0", 40, "cam", 48 * 48, 48});
    const SramCost merge_table = table.cost({"CACTI 7.0", 40, "cam", 48 * 46, 46});
    EXPECT_DOUBLE_EQ(merge_table.search_pj, whole.search_pj * 46 / 48);
    EXPECT_DOUBLE_EQ(merge_table.leak_mw, whole.leak_mw * 46 / 48);
    EXPECT_EQ(merge_table.access_ns, whole.access_ns);
    EXPECT_FALSE(merge_table.extrapolated);
}

TEST(Sram, UnknownToolsAreRefused) {
    EXPECT_THROW(sram_table().cost({"CACTI 5.3", 40, "ram", 8192, 64}), InputError);
    EXPECT_THROW(sram_table().cost({"CACTI 7.0", 40, "ram", 0, 64}), InputError);
}

/// Least squares of ln q over 1, ln W, ln N and their squares and product.
std::array<double, 6> fit(const std::vector<const SramRow*>& rows, double SramCost::*quantity) {
    double a[6][7] = {};
    for (const SramRow* row : rows) {
        const double w = std::log(row->port_bits), n = std::log(static_cast<double>(row->bytes * 8));
        const double x[6] = {1, w, n, w * w, n * n, w * n};
        for (int i = 0; i < 6; ++i) {
            for (int j = 0; j < 6; ++j) a[i][j] += x[i] * x[j];
            a[i][6] += x[i] * std::log(row->cost.*quantity);
        }
    }
    for (int i = 0; i < 6; ++i) {
        int pivot = i;
        for (int r = i + 1; r < 6; ++r) {
            if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
        }
        std::swap(a[i], a[pivot]);
        for (int r = 0; r < 6; ++r) {
            if (r == i) continue;
            const double factor = a[r][i] / a[i][i];
            for (int c = i; c < 7; ++c) a[r][c] -= factor * a[i][c];
        }
    }
    std::array<double, 6> c{};
    for (int i = 0; i < 6; ++i) c[i] = a[i][6] / a[i][i];
    return c;
}

/// A smooth formula through all other runs predicts the one left out: the table has no stray row.
TEST(Sram, EveryRamIsPredictedByTheOthers) {
    const SramTable table = sram_table();
    struct Bound {
        double SramCost::*quantity;
        double most;
    };
    for (const std::uint32_t node : {22u, 40u}) {
        std::vector<const SramRow*> rams;
        for (const SramRow& row : table.rows()) {
            if (row.tool == "CACTI 7.0" && row.node_nm == node && row.kind == "ram") rams.push_back(&row);
        }
        ASSERT_EQ(rams.size(), 20u);
        for (const auto& [quantity, most] :
             {Bound{&SramCost::leak_mw, 0.25}, Bound{&SramCost::area_mm2, 0.25}, Bound{&SramCost::access_ns, 0.35},
              Bound{&SramCost::read_pj, 0.35}, Bound{&SramCost::write_pj, 0.35}}) {
            for (const SramRow* left_out : rams) {
                std::vector<const SramRow*> others;
                std::copy_if(rams.begin(), rams.end(), std::back_inserter(others), [&](const SramRow* row) { return row != left_out; });
                const auto c = fit(others, quantity);
                const double w = std::log(left_out->port_bits), n = std::log(static_cast<double>(left_out->bytes * 8));
                const double predicted = std::exp(c[0] + c[1] * w + c[2] * n + c[3] * w * w + c[4] * n * n + c[5] * w * n);
                EXPECT_NEAR(predicted / left_out->cost.*quantity, 1, most) << left_out->name << " at " << node << " nm";
            }
        }
    }
}

/// The interpolation itself, with inner points left out. Organisations change by steps, so energy may be off by a quarter.
TEST(Sram, InterpolationFindsAnInnerPointThatWasLeftOut) {
    const SramTable table = sram_table();
    for (const std::string_view name :
         {"RAM_8K_128B", "RAM_16K_128B", "RAM_32K_128B", "RAM_64K_128B", "RAM_4K_32B", "RAM_16K_32B", "RAM_2K_8B"}) {
        std::vector<SramRow> others;
        const SramRow* left_out = nullptr;
        for (const SramRow& row : table.rows()) {
            if (row.tool != "CACTI 7.0" || row.node_nm != 40) continue;
            if (row.name == name)
                left_out = &row;
            else
                others.push_back(row);
        }
        ASSERT_NE(left_out, nullptr);
        const SramCost cost = SramTable(others).cost({"CACTI 7.0", 40, "ram", left_out->bytes * 8, left_out->port_bits});
        EXPECT_NEAR(cost.read_pj / left_out->cost.read_pj, 1, 0.25) << name;
        EXPECT_NEAR(cost.write_pj / left_out->cost.write_pj, 1, 0.25) << name;
        EXPECT_NEAR(cost.leak_mw / left_out->cost.leak_mw, 1, 0.10) << name;
        EXPECT_NEAR(cost.area_mm2 / left_out->cost.area_mm2, 1, 0.20) << name;
        EXPECT_NEAR(cost.access_ns / left_out->cost.access_ns, 1, 0.15) << name;
    }
}

/// WarpPool's own figures, 0.069 mm2 and 27 mW per KB, lie between a plain RAM and a fully associative array.
TEST(Sram, BracketsWhatWarpPoolPublished) {
    const SramTable table = sram_table();
    const SramCost ram = table.cost({"CACTI 7.0", 40, "ram", 4096 * 8, 1024});
    const SramCost array = table.cost({"CACTI 7.0", 40, "fully_associative", 24 * 1024, 1024});
    EXPECT_NEAR(ram.area_mm2 / 4, 0.022, 0.0005);
    EXPECT_NEAR(array.area_mm2 / 3, 0.091, 0.0005);
    const double array_mw = array.search_pj * 0.7 + array.leak_mw;  // a search in every cycle of 0.7 GHz
    EXPECT_NEAR(array_mw / 3, 35, 0.5);
    EXPECT_LT(ram.area_mm2 / 4, 0.069);
    EXPECT_GT(array.area_mm2 / 3, 0.069);
    EXPECT_LT(ram.leak_mw / 4, 27);
    EXPECT_GT(array_mw / 3, 27);
}

}  // namespace
}  // namespace mergelane::testing
