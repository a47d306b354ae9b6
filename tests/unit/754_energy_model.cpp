// SPDX-License-Identifier: MIT
#include "energy/energy_model.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/error.hpp"
#include "energy_data.hpp"

namespace mergelane::testing {
namespace {

MachineShape icc60_shape() {
    MachineShape s;
    s.slices = 8;
    s.channels = 8;
    s.core_mhz = 1400;
    s.l1s = 60;
    s.l1_bytes = 48 * 1024;
    s.l1_mshrs = 32;
    s.l2_bytes = 512 * 1024;
    s.l2_mshrs = 32;
    s.flit_bytes = 64;
    s.networks = {{"request", "noc.request", 1, 12, 8, 64, 32, 1400, 0}, {"reply", "noc.reply", 1, 8, 12, 64, 32, 1400, 0}};
    s.dram_bus_bytes = 64;
    s.dram_access_bytes = 128;
    return s;
}
/// What intra-cluster coalescing declares, with five SMs and 128-byte blocks.
std::vector<Structure> icc(std::uint32_t entries = 48, std::uint32_t lines = 24) {
    using Access = Structure::Access;
    Structure table{"cluster", "merge table", "merge tables", Structure::Kind::cam, 12, entries, 41, 5, "cluster", 1, 0, {}};
    table.uses = {{"searches", Access::search, {}}, {"writes", Access::write, {}}};
    Structure cache{
        "cluster", "coalesced cache", "coalesced caches", Structure::Kind::fully_associative, 12, lines, 41, 1024, "cluster", 1, 0, {}};
    cache.uses = {{"searches", Access::search, {}}, {"reads", Access::read, {}}, {"writes", Access::write, {}}};
    return {table, cache};
}
constexpr std::size_t kUses = 5;

const EnergyPrice& price(const EnergyPrices& prices, std::string_view name) {
    for (const EnergyPrice& p : prices.list) {
        if (p.name == name) return p;
    }
    ADD_FAILURE() << "no price for " << name;
    return prices.list.front();
}
/// Different for every count, so that a mix-up shows.
EnergyCounts some_counts(std::uint64_t factor) {
    EnergyCounts counts;
    for (std::size_t i = 0; i < kEnergyCounts; ++i) counts.values[i] = factor * (1009 + 37 * i * i);
    for (std::size_t i = 0; i < kUses; ++i) counts.uses.push_back(factor * (2003 + 41 * i * i));
    counts.flits = {factor * 3001, factor * 3011};
    return counts;
}
constexpr const char* kTables[] = {"gpuwattch_gtx480_40nm", "bottom_up_40nm", "bottom_up_22nm"};

TEST(EnergyModel, PartsAddUpToTheWholeExactly) {
    for (const char* name : kTables) {
        const EnergyReport report = energy_of(energy_prices(energy_table(name), icc60_shape(), icc()), some_counts(12345));
        std::uint64_t items = 0, components = 0;
        for (const EnergyItem& item : report.items) {
            EXPECT_EQ(item.fj, item.count * item.unit_fj) << item.name;
            items += item.fj;
        }
        for (const auto& [component, fj] : report.components) components += fj;
        EXPECT_EQ(items, report.total_fj) << name;
        EXPECT_EQ(components, report.total_fj) << name;
        EXPECT_GT(report.total_fj, 0u);
    }
}

TEST(EnergyModel, KernelsAddUpExactly) {
    for (const char* name : kTables) {
        const EnergyPrices prices = energy_prices(energy_table(name), icc60_shape(), icc());
        EnergyCounts both = some_counts(7);
        both += some_counts(1000003);
        const EnergyReport a = energy_of(prices, some_counts(7)), b = energy_of(prices, some_counts(1000003)),
                           sum = energy_of(prices, both);
        EXPECT_EQ(a.total_fj + b.total_fj, sum.total_fj) << name;
        for (std::size_t i = 0; i < sum.components.size(); ++i)
            EXPECT_EQ(a.components[i].second + b.components[i].second, sum.components[i].second) << name;
    }
}

TEST(EnergyModel, WithoutEventsOnlyTimeCosts) {
    for (const char* name : kTables) {
        const EnergyPrices prices = energy_prices(energy_table(name), icc60_shape(), icc());
        EnergyCounts idle;
        idle.uses.resize(kUses);
        idle.flits.resize(2);
        EXPECT_EQ(energy_of(prices, idle).total_fj, 0u) << name;
        idle[EnergyCount::cycles] = 1400;
        idle[EnergyCount::sm_cycles] = idle[EnergyCount::idle_sm_cycles] = 60 * 1400;
        const EnergyReport report = energy_of(prices, idle);
        for (const auto& [component, fj] : report.components) {
            if (component == "static")
                EXPECT_EQ(fj, report.total_fj) << name;
            else
                EXPECT_EQ(fj, 0u) << name << " " << component;
        }
        EXPECT_GT(report.total_fj, 0u);
        EXPECT_DOUBLE_EQ(report.seconds, 1e-6);
        EXPECT_DOUBLE_EQ(report.joule_seconds, report.joules * 1e-6);
    }
}

TEST(EnergyModel, RegressedPricesAreTheTables) {
    const EnergyPrices prices = energy_prices(energy_table("gpuwattch_gtx480_40nm"), icc60_shape(), icc());
    EXPECT_EQ(price(prices, "L1 read hits").fj, 2934600u);
    EXPECT_EQ(price(prices, "L2 write misses").fj, 15024000u);
    EXPECT_EQ(price(prices, "request network").fj, 3101760u) << "64 of 40 bytes";
    EXPECT_EQ(price(prices, "DRAM reads").fj, 53896000u) << "128 of 64 bytes";
    EXPECT_EQ(price(prices, "DRAM precharges").fj, 4232200u);
    EXPECT_EQ(price(prices, "pipeline").fj, 37890u) << "25.5 W of 15 SMs at 700 MHz, over 64 lanes";
    EXPECT_EQ(price(prices, "idle SMs").fj, 1135714u) << "1.59 W at 1400 MHz";
    EXPECT_TRUE(prices.notes.empty());
    MachineShape sectored = icc60_shape();
    sectored.l1_block_bytes = 32;
    EXPECT_EQ(energy_prices(energy_table("gpuwattch_gtx480_40nm"), sectored).notes.size(), 1u);
}

TEST(EnergyModel, CoalescingStructuresArePricedByTheirSize) {
    for (const char* name : kTables) {
        const EnergyData data = energy_table(name);
        const EnergyPrices without = energy_prices(data, icc60_shape());
        const EnergyPrices with = energy_prices(data, icc60_shape(), icc());
        for (const EnergyPrice& p : without.list) EXPECT_NE(p.component, "cluster") << name;
        EXPECT_GT(price(with, "merge table searches").fj, 0u);
        EXPECT_GT(price(with, "merge tables leakage").fj, 0u);
        const EnergyPrices larger = energy_prices(data, icc60_shape(), icc(96, 32));
        for (const char* what : {"merge table searches", "merge table writes", "merge tables leakage", "coalesced cache reads",
                                 "coalesced cache writes", "coalesced caches leakage"})
            EXPECT_GT(price(larger, what).fj, price(with, what).fj) << name << " " << what;
    }
    // At a size that was run, by hand: 4.00308 pJ for 48 words of 48 bits.
    const EnergyPrices prices = energy_prices(energy_table("bottom_up_40nm"), icc60_shape(), icc());
    EXPECT_EQ(price(prices, "merge table searches").fj, 3836u);
    EXPECT_EQ(price(prices, "coalesced cache reads").fj, 119491u);
}

TEST(EnergyModel, StructuresThatCannotBePricedAreRefused) {
    const EnergyData data = energy_table("bottom_up_40nm");
    const auto complaint = [&](const Structure& structure) -> std::string {
        try {
            energy_prices(data, icc60_shape(), std::vector{structure});
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    Structure queue{"sm", "queue", "queues", Structure::Kind::ram, 60, 128, 0, 64, "SM", 1, 0, {}};
    EXPECT_EQ(complaint(queue), "");
    queue.uses = {{"searches", Structure::Access::search, {}}};
    EXPECT_EQ(complaint(queue), "energy table bottom_up_40nm: searches of queues have no energy in CACTI 7.0");
    queue.uses = {{"reads", Structure::Access::read, {}}};
    queue.component = "sms";
    EXPECT_NE(complaint(queue).find("queue: unknown component 'sms'; did you mean 'sm'?"), std::string::npos) << complaint(queue);
    queue.component = "static";
    EXPECT_NE(complaint(queue), "");
    queue = Structure{"sm", "queue", "queues", Structure::Kind::ram, 60, 0, 0, 64, "SM", 1, 0, {}};
    EXPECT_NE(complaint(queue), "");
}

TEST(EnergyModel, ATableWithoutDeclaredStructuresSaysSo) {
    EnergyData data = energy_table("bottom_up_40nm");
    data.table.structures = {"l1"};
    const EnergyPrices prices = energy_prices(data, icc60_shape(), icc());
    ASSERT_EQ(prices.notes.size(), 2u);
    EXPECT_EQ(prices.notes[0], "merge tables: no energy in this table");
    EXPECT_EQ(energy_of(prices, some_counts(1)).components[2].second, 0u) << "cluster";
}

/// GDDR5 at full bandwidth: 4.92 pJ per bit, standby, and an activate shared by 2, 4 or 8 bursts of 32 bytes.
TEST(EnergyModel, DramIsWherePublishedFiguresAre) {
    MachineShape one;  // a single device: 32 bits at 6 Gb/s, so 1500 MHz of 16 bytes
    one.channels = 1;
    one.core_mhz = 1500;
    one.dram_bus_bytes = 16;
    one.dram_access_bytes = 32;
    EnergyData data = energy_table("bottom_up_40nm");
    data.table.structures.clear();
    data.table.crossbar = false;
    const EnergyPrices prices = energy_prices(data, one);
    const double expected[] = {20.2, 14.3, 11.4};
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t bursts = 1'000'000;
        EnergyCounts counts;
        counts[EnergyCount::cycles] = bursts * 2;  // 32 bytes take two clocks
        counts[EnergyCount::dram_read_bursts] = bursts;
        counts[EnergyCount::dram_activates] = bursts / (2u << i);
        const double pj_per_bit = static_cast<double>(energy_of(prices, counts).total_fj) / 1000 / (static_cast<double>(bursts) * 256);
        EXPECT_NEAR(pj_per_bit, expected[i], 0.06);
        EXPECT_GT(pj_per_bit, 10);
        EXPECT_LT(pj_per_bit, 20.5);
    }
}

/// Two channels of HBM2, each of two pseudo-channels with 16 banks, 16 bytes of 1 GHz per pseudo-channel.
MachineShape hbm2_shape() {
    MachineShape s;
    s.channels = 2;
    s.core_mhz = 1000;
    s.dram_mhz = 500;
    s.dram_bus_bytes = 32;
    s.dram_access_bytes = 32;
    s.dram_standard = "HBM2";
    s.dram_banks = 32;
    s.dram_pseudo_channels = 2;
    s.dram_detailed = true;
    s.dram_refresh = MachineShape::Refresh::all_bank;
    return s;
}

TEST(EnergyModel, DramCommandsAddUpByHand) {
    EnergyCounts counts;
    counts[EnergyCount::cycles] = 1000;
    counts[EnergyCount::dram_activates] = 10;
    counts[EnergyCount::dram_read_bursts] = 100;
    counts[EnergyCount::dram_write_bursts] = 50;
    counts[EnergyCount::dram_refreshes] = 4;
    counts[EnergyCount::dram_open_cycles] = 3000;
    const EnergyPrices prices = energy_prices(energy_table("dram_hbm2"), hbm2_shape());
    EXPECT_TRUE(prices.notes.empty());
    const EnergyReport report = energy_of(prices, counts);
    const auto item = [&](std::string_view name) {
        for (const EnergyItem& i : report.items) {
            if (i.name == name) return i.fj;
        }
        ADD_FAILURE() << name;
        return std::uint64_t{0};
    };
    EXPECT_EQ(item("DRAM rows opened and closed"), 10u * 948'000);    // a row of one pseudo-channel
    EXPECT_EQ(item("DRAM read bursts"), 100u * 1'272'320);            // 256 bits x 4.97 pJ
    EXPECT_EQ(item("DRAM write bursts"), 50u * 862'720);              // 256 bits x 3.37 pJ
    EXPECT_EQ(item("DRAM refreshes of all banks"), 4u * 22'922'000);  // of a pseudo-channel
    EXPECT_EQ(item("DRAM standby"), 1000u * 56'428);                  // 14.107 mW x 4 for 1 ns
    EXPECT_EQ(item("DRAM open rows"), 3000u * 378);                   // 0.189 mW for 2 ns
    EXPECT_EQ(report.total_fj, 9'480'000u + 127'232'000 + 43'136'000 + 91'688'000 + 56'428'000 + 1'134'000);
}

TEST(EnergyModel, DramCommandsAreForTheDevicesOfAPseudoChannel) {
    MachineShape shape = hbm2_shape();
    shape.dram_refresh = MachineShape::Refresh::per_bank;
    EXPECT_EQ(price(energy_prices(energy_table("dram_hbm2"), shape), "DRAM refreshes of a bank").fj, 1'433'000u);
    // Both halves together, as Accel-Sim has them; the plain channel counts no open rows, so all 16 banks of four halves are charged.
    shape.dram_pseudo_channels = 1;
    shape.dram_banks = 16;
    shape.dram_detailed = false;
    shape.dram_refresh = MachineShape::Refresh::none;
    const EnergyPrices plain = energy_prices(energy_table("dram_hbm2"), shape);
    EXPECT_EQ(price(plain, "DRAM rows opened and closed").fj, 2u * 948'000);
    EXPECT_EQ(price(plain, "DRAM standby").fj, 56'428u);
    EXPECT_EQ(price(plain, "DRAM open rows").fj, 4u * 16 * 189);  // 0.189 mW for 1 ns
    EXPECT_EQ(price(plain, "DRAM open rows").count, EnergyCount::cycles);
}

TEST(EnergyModel, MemoriesWithoutPricesAreNamed) {
    MachineShape shape = hbm2_shape();
    for (const char* standard : {"GDDR6", ""}) {
        shape.dram_standard = standard;
        try {
            energy_prices(energy_table("dram_hbm2"), shape);
            FAIL() << standard;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("dram_hbm2 has prices for HBM2"), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find(*standard == 0 ? "not named" : standard), std::string::npos) << error.what();
        }
    }
    // GDDR5 of 1 Gb has no refresh of single banks; the older tables have no refresh at all.
    shape.dram_standard = "GDDR5";
    shape.dram_refresh = MachineShape::Refresh::per_bank;
    EXPECT_EQ(energy_prices(energy_table("dram_gddr5"), shape).notes,
              std::vector<std::string>{"DRAM refreshes of a bank: no energy in this table"});
    shape.dram_refresh = MachineShape::Refresh::all_bank;
    EXPECT_TRUE(energy_prices(energy_table("dram_gddr5"), shape).notes.empty());
    EnergyData older = energy_table("bottom_up_40nm");
    older.table.structures.clear();
    older.table.crossbar = false;
    EXPECT_EQ(energy_prices(older, shape).notes, std::vector<std::string>{"DRAM refreshes of all banks: no energy in this table"});
}

TEST(EnergyModel, ChipsOfAnotherProcessAreRefused) {
    MachineShape shape = icc60_shape();
    shape.process_nm = 40;
    EXPECT_NO_THROW(energy_prices(energy_table("bottom_up_40nm"), shape));
    shape.process_nm = 7;
    for (const char* const table : {"bottom_up_40nm", "gpuwattch_gtx480_40nm"}) {
        try {
            energy_prices(energy_table(table), shape);
            FAIL() << table;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("this GPU is made in 7 nm"), std::string::npos) << error.what();
        }
    }
    shape = hbm2_shape();
    shape.process_nm = 7;
    EXPECT_NO_THROW(energy_prices(energy_table("dram_hbm2"), shape)) << "the chip is not priced";
}

TEST(EnergyModel, OverflowIsAnErrorNotAWrongNumber) {
    const EnergyPrices prices = energy_prices(energy_table("gpuwattch_gtx480_40nm"), icc60_shape());
    EnergyCounts counts;
    counts[EnergyCount::l1_read_hits] = std::uint64_t{1} << 50;
    EXPECT_THROW(energy_of(prices, counts), InputError);
    counts = {};
    counts[EnergyCount::l1_read_hits] = counts[EnergyCount::l1_read_merges] = 4'000'000'000'000;  // each fits, both do not
    EXPECT_THROW(energy_of(prices, counts), InputError);
}

TEST(EnergyModel, InstructionsUseUnitsAndRegisters) {
    std::array<std::uint64_t, kOpClasses> lanes{};
    lanes[static_cast<std::size_t>(OpClass::fp_mad)] = 64;
    lanes[static_cast<std::size_t>(OpClass::store)] = 32;
    lanes[static_cast<std::size_t>(OpClass::int_add)] = 1;
    EnergyCounts counts;
    add_instructions(counts, lanes);
    EXPECT_EQ(counts[EnergyCount::thread_instructions], 97u);
    EXPECT_EQ(counts[EnergyCount::mul_lanes], 64u);
    EXPECT_EQ(counts[EnergyCount::int_lanes], 1u);
    EXPECT_EQ(counts[EnergyCount::register_reads], 64u * 3 + 32 * 2 + 2);
    EXPECT_EQ(counts[EnergyCount::register_writes], 65u);
}

}  // namespace
}  // namespace mergelane::testing
