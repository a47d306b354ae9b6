// SPDX-License-Identifier: MIT
#include "energy/energy_table.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "energy_data.hpp"

namespace mergelane::testing {
namespace {

TEST(EnergyTable, ShippedTablesLoadAndEveryNumberHasItsSource) {
    const std::vector<EnergyTable> tables = list_energy_tables(energy_dirs());
    std::set<std::string> names;
    for (const EnergyTable& table : tables) {
        names.insert(table.name);
        EXPECT_FALSE(table.source.empty());
        if (!table.name.starts_with("dram_")) {
            EXPECT_TRUE(table.kind == "regressed" || table.kind == "bottom_up");
            EXPECT_NE(table.node_nm, 0u);
        }
        for (const EnergyEvent& event : table.events) EXPECT_FALSE(event.source.empty()) << event.name;
        for (const EnergyPower& power : table.powers) EXPECT_FALSE(power.source.empty()) << power.name;
        for (const auto& [fact, source] : table.facts) EXPECT_FALSE(source.empty()) << fact;
    }
    EXPECT_TRUE(names.contains("gpuwattch_gtx480_40nm"));
    EXPECT_TRUE(names.contains("bottom_up_40nm"));
    EXPECT_TRUE(names.contains("bottom_up_22nm"));
}

TEST(EnergyTable, CountsHaveNamesOfTheirOwn) {
    std::set<std::string_view> names;
    for (const EnergyCountInfo& info : energy_count_infos()) {
        EXPECT_FALSE(info.name.empty());
        EXPECT_FALSE(info.meaning.empty()) << info.name;
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
    }
    EXPECT_EQ(energy_count_infos()[static_cast<std::size_t>(EnergyCount::dram_write_bursts)].name, "dram_write_bursts");
    EXPECT_EQ(energy_count_infos()[static_cast<std::size_t>(EnergyCount::l2_fills)].name, "l2_fills");
    EXPECT_EQ(energy_count_infos()[static_cast<std::size_t>(EnergyCount::request_flits)].name, "request_flits");
}

class BrokenTable : public ::testing::Test {
protected:
    /// What the reader says about a table with this text behind a good head.
    std::string complaint(const std::string& rest) {
        const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "broken_energy_table.toml";
        std::ofstream(file) << "description = \"d\"\nsource = \"s\"\nkind = \"regressed\"\nnode_nm = 40\n" << rest;
        try {
            load_energy_table(file.string(), {});
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    }
};

TEST_F(BrokenTable, IsRefusedWithFileLineAndRemedy) {
    const std::string row = "[[event]]\ncomponent = \"l1\"\nname = \"n\"\ncount = \"l1_fills\"\npj = 1\nsource = \"s\"\n";
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = row;
        text.replace(text.find(from), from.size(), to);
        return complaint(text);
    };
    EXPECT_EQ(complaint(row), "");
    EXPECT_NE(with("l1_fills", "l1_fils").find("did you mean 'l1_fills'"), std::string::npos);
    EXPECT_NE(with("\"l1\"", "\"l3\"").find("unknown component"), std::string::npos);
    EXPECT_NE(with("source = \"s\"\n", "").find("[[event]] has no 'source'"), std::string::npos);
    EXPECT_NE(with("pj = 1", "pj = -1").find("out of range"), std::string::npos);
    EXPECT_NE(with("pj = 1", "pj = nan").find("out of range"), std::string::npos);
    EXPECT_NE(with("pj = 1", "pj = 1\npi = 1").find("unknown key of [[event]] 'pi'"), std::string::npos);
    EXPECT_NE(with("pj = 1", "pj = ").find(".toml:9"), std::string::npos);
    EXPECT_NE(complaint("event = 3\n").find("[[event]]"), std::string::npos);
    EXPECT_NE(complaint("[[power]]\nname = \"n\"\ncount = \"l1_fills\"\nwatts = 1\nsource = \"s\"\n").find("per time"), std::string::npos);
    EXPECT_NE(complaint("[dram]\nactivate_pj = 1\n").find("source"), std::string::npos);
    EXPECT_NE(complaint("[dram]\nrefresh = 1\n"), "");
    EXPECT_NE(complaint("[sram]\ntool = \"CACTI 7.0\"\nstructures = [\"l4\"]\n").find("unknown structure 'l4'"), std::string::npos);
}

TEST(EnergyTable, UnknownNamesAreAnsweredWithTheNearest) {
    try {
        energy_table("bottom_up_40");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("did you mean 'bottom_up_40nm'"), std::string::npos) << error.what();
    }
    EXPECT_THROW(energy_table("no/such.toml"), InputError);
}

}  // namespace
}  // namespace mergelane::testing
