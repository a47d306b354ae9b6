// SPDX-License-Identifier: MIT
// Invariant: no DRAM command is issued before it is legal, nor later than necessary while requests wait. An independent checker reads the
// command log; it must accept real runs and find every injected fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "dram_checker.hpp"
#include "dram_run.hpp"
#include "machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

using Kind = DramCommand::Kind;

DramSpec gddr5() {
    DramSpec s = gtx480_like().dram;
    s.channels = 1;
    return s;
}
DramSpec hbm2() {
    DramSpec s = v100_like().dram;
    s.channels = 1;
    return s;
}

ChannelRun run_channel(const DramSpec& spec, Traffic traffic, std::uint64_t requests, std::uint32_t load_percent) {
    return testing::run_channel({spec}, {traffic, requests, load_percent});
}

using Case = std::tuple<const char*, const char*, Traffic, std::uint32_t>;
std::string name_of(const ::testing::TestParamInfo<Case>& run) {
    const char* const names[] = {"streaming", "random", "mixed"};
    const auto& [memory, scheduler, traffic, load] = run.param;
    return std::string(memory) + "_" + scheduler + "_" + names[static_cast<int>(traffic)] + "_load" + std::to_string(load);
}

class DramRules : public ::testing::TestWithParam<Case> {
protected:
    DramSpec spec() const {
        DramSpec s = std::string(std::get<0>(GetParam())) == "gddr5" ? gddr5() : hbm2();
        s.scheduler = std::get<1>(GetParam());
        return s;
    }
};
INSTANTIATE_TEST_SUITE_P(Runs, DramRules,
                         ::testing::Combine(::testing::Values("gddr5", "hbm2"),
                                            ::testing::Values("fr_fcfs", "fifo", "fifo_serial", "banked_fifo"),
                                            ::testing::Values(Traffic::streaming, Traffic::random, Traffic::mixed),
                                            ::testing::Values(100u, 4u)),
                         name_of);

TEST_P(DramRules, AreNeverBroken) {
    // 48 runs of at least 50,000 commands each: over two million in all.
    const DramSpec s = spec();
    const ChannelRun run =
        run_channel(s, std::get<2>(GetParam()), std::get<2>(GetParam()) == Traffic::random ? 22'000 : 46'000, std::get<3>(GetParam()));
    EXPECT_GE(run.log.size(), 50'000u);
    EXPECT_EQ(run.replies, run.reads) << "every read is answered once, no write is";
    DramChecker checker(s);
    const std::vector<DramViolation> violations = checker.check(run.log);
    EXPECT_EQ(violations.size(), 0u);
    for (std::size_t i = 0; i < violations.size() && i < 3; ++i) {
        const DramCommand& c = run.log[violations[i].index];
        ADD_FAILURE() << violations[i].rule << " at cycle " << c.at << ", bank " << c.bank;
    }
}

TEST(DramRulesHold, OverAMillionCommandsInOneRun) {
    const DramSpec s = gddr5();
    const ChannelRun run = run_channel(s, Traffic::mixed, 800'000, 100);
    EXPECT_GE(run.log.size(), 1'000'000u);
    EXPECT_TRUE(DramChecker(s).check(run.log).empty());
}

TEST(DramRulesAreTight, UnderMixedLoad) {
    // A controller that waited longer than it must would never break a rule. With enough traffic every distance the
    // rules allow is used at least once.
    for (const bool hbm : {false, true}) {
        const DramSpec s = hbm ? hbm2() : gddr5();
        const std::uint32_t burst = s.access_bytes / s.bus_bytes;
        DramChecker checker(s);
        const ChannelRun run = run_channel(s, Traffic::mixed, 60'000, 100);
        ASSERT_TRUE(checker.check(run.log).empty());
        EXPECT_EQ(checker.smallest("tRCD"), s.timing.tRCD);
        EXPECT_EQ(checker.smallest("tRP"), s.timing.tRP);
        EXPECT_EQ(checker.smallest("tRAS"), s.timing.tRAS);
        EXPECT_EQ(checker.smallest("tRC"), s.timing.tRC);
        EXPECT_EQ(checker.smallest("tRRD"), s.timing.tRRD);
        EXPECT_EQ(checker.smallest("tCCD"), std::max(s.timing.tCCD, burst));
        EXPECT_EQ(checker.smallest("tCCDL"), std::max(s.timing.tCCDL, burst));
        EXPECT_EQ(checker.smallest("tRTP"), s.timing.tRTP);
        EXPECT_EQ(checker.smallest("tWR"), s.timing.tWL + burst + s.timing.tWR);
        EXPECT_EQ(checker.smallest("tCDLR"), s.timing.tWL + burst + s.timing.tCDLR);
        EXPECT_EQ(checker.smallest("tRTW"), s.timing.tRTW);
    }
}

// --- the checker itself

/// Parameters chosen so that in each planted list exactly one rule decides.
DramSpec planted_spec() {
    DramSpec s = gddr5();
    s.bank_groups = 4;
    s.bus_bytes = 64;  // bursts of two cycles
    s.timing.tRCD = 12, s.timing.tRP = 12, s.timing.tRAS = 28, s.timing.tRC = 45, s.timing.tRRD = 6;
    s.timing.tCCD = 3, s.timing.tCCDL = 5, s.timing.tCL = 12, s.timing.tWL = 4, s.timing.tWR = 12;
    s.timing.tRTP = 9, s.timing.tCDLR = 11, s.timing.tRTW = 14;
    return s;
}

struct Planted {
    const char* rule;
    std::vector<DramCommand> legal;  ///< its last command may not come a cycle earlier
};

std::vector<Planted> planted() {
    const Cycle write_end = 4 + 2;  // tWL and the burst
    return {
        {"tRCD", {{0, Kind::activate, 0, 5}, {12, Kind::read, 0, 5}}},
        {"tRP", {{0, Kind::activate, 0, 5}, {40, Kind::precharge, 0, 5}, {52, Kind::activate, 0, 6}}},
        {"tRAS", {{0, Kind::activate, 0, 5}, {28, Kind::precharge, 0, 5}}},
        {"tRC", {{0, Kind::activate, 0, 5}, {28, Kind::precharge, 0, 5}, {45, Kind::activate, 0, 6}}},
        {"tRRD", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 3, 5}}},
        {"tCCD", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::read, 0, 5}, {33, Kind::read, 1, 5}}},
        {"tCCD", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::write, 0, 5}, {33, Kind::write, 1, 5}}},
        {"tCCDL", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 4, 5}, {30, Kind::read, 0, 5}, {35, Kind::read, 4, 5}}},
        {"tCCDL", {{0, Kind::activate, 0, 5}, {30, Kind::write, 0, 5}, {35, Kind::write, 0, 5}}},
        {"tRTP", {{0, Kind::activate, 0, 5}, {30, Kind::read, 0, 5}, {39, Kind::precharge, 0, 5}}},
        {"tWR", {{0, Kind::activate, 0, 5}, {30, Kind::write, 0, 5}, {30 + write_end + 12, Kind::precharge, 0, 5}}},
        {"tCDLR", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::write, 0, 5}, {30 + write_end + 11, Kind::read, 1, 5}}},
        {"tRTW", {{0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::read, 0, 5}, {44, Kind::write, 1, 5}}},
    };
}

std::vector<std::string> rules_broken(const DramSpec& spec, const std::vector<DramCommand>& commands) {
    std::vector<std::string> rules;
    for (const DramViolation& v : DramChecker(spec).check(commands)) rules.push_back(v.rule);
    return rules;
}

TEST(DramChecker, FindsACommandOneCycleEarlyAndAcceptsItInTime) {
    const DramSpec spec = planted_spec();
    for (const Planted& p : planted()) {
        EXPECT_EQ(rules_broken(spec, p.legal), std::vector<std::string>{}) << p.rule;
        std::vector<DramCommand> early = p.legal;
        --early.back().at;
        EXPECT_EQ(rules_broken(spec, early), std::vector<std::string>{p.rule});
    }
}

TEST(DramChecker, FindsEveryPlantedFaultInsideARealLog) {
    // Take a long legal log and pull single commands forward to one cycle before each rule's limit.
    DramSpec spec = gddr5();
    const std::vector<DramCommand> log = run_channel(spec, Traffic::mixed, 3000, 100).log;
    ASSERT_TRUE(DramChecker(spec).check(log).empty());
    std::size_t moved = 0;
    for (std::size_t i = 1; i + 1 < log.size(); i += 7) {
        if (log[i].kind != Kind::activate) continue;
        // The latest earlier precharge of the bank; one cycle too early after it is a tRP violation whatever else.
        std::size_t pre = i;
        while (pre-- > 0 && !(log[pre].bank == log[i].bank && log[pre].kind == Kind::precharge)) {
        }
        if (pre >= i) continue;
        std::vector<DramCommand> broken(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        DramCommand command = broken.back();
        command.at = log[pre].at + spec.timing.tRP - 1;
        broken.pop_back();
        const auto place = std::find_if(broken.begin(), broken.end(), [&](const DramCommand& c) { return c.at > command.at; });
        broken.insert(place, command);
        const std::vector<std::string> rules = rules_broken(spec, broken);
        EXPECT_NE(std::find(rules.begin(), rules.end(), "tRP"), rules.end()) << "command " << i;
        ++moved;
    }
    EXPECT_GT(moved, 20u);
}

TEST(DramChecker, FindsCommandsToBanksInTheWrongState) {
    const DramSpec spec = planted_spec();
    using Rules = std::vector<std::string>;
    EXPECT_EQ(rules_broken(spec, {{0, Kind::read, 0, 5}}), Rules{"column command to a closed bank"});
    EXPECT_EQ(rules_broken(spec, {{0, Kind::activate, 0, 5}, {50, Kind::precharge, 0, 5}, {90, Kind::write, 0, 5}}),
              Rules{"column command to a closed bank"});
    EXPECT_EQ(rules_broken(spec, {{0, Kind::activate, 0, 5}, {50, Kind::read, 0, 6}}), Rules{"column command to another row"});
    EXPECT_EQ(rules_broken(spec, {{0, Kind::activate, 0, 5}, {50, Kind::activate, 0, 6}}), Rules{"activate on an open bank"});
    EXPECT_EQ(rules_broken(spec, {{0, Kind::precharge, 0, 5}}), Rules{"precharge of a closed bank"});
    EXPECT_EQ(rules_broken(spec, {{9, Kind::activate, 0, 5}, {0, Kind::activate, 1, 5}}).front(), "time runs backwards");
}

TEST(DramChecker, FindsTwoCommandsOnOneBus) {
    DramSpec spec = planted_spec();
    const std::vector<DramCommand> row_and_column = {{0, Kind::activate, 0, 5}, {30, Kind::read, 0, 5}, {30, Kind::activate, 1, 5}};
    EXPECT_EQ(rules_broken(spec, row_and_column), std::vector<std::string>{"command bus"});
    spec.command_buses = 2;
    EXPECT_EQ(rules_broken(spec, row_and_column), std::vector<std::string>{});
    const std::vector<DramCommand> two_rows = {{0, Kind::activate, 0, 5}, {40, Kind::precharge, 0, 5}, {40, Kind::activate, 1, 5}};
    EXPECT_EQ(rules_broken(spec, two_rows), std::vector<std::string>{"command bus"});
}

TEST(DramChecker, FindsDataThatOverlapsOnTheBus) {
    // tRTW and tCDLR normally keep data apart; with short ones the bus itself must be watched.
    DramSpec spec = planted_spec();
    spec.timing.tRTW = 1;
    spec.timing.tCCD = 1;
    const auto read_then_write = [](Cycle write_at) {
        return std::vector<DramCommand>{
            {0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::read, 0, 5}, {write_at, Kind::write, 1, 5}};
    };
    // Read data at 42 and 43; write data two cycles from write_at + 4.
    EXPECT_EQ(rules_broken(spec, read_then_write(36)), std::vector<std::string>{});
    EXPECT_EQ(rules_broken(spec, read_then_write(37)), std::vector<std::string>{"data bus"});
    EXPECT_EQ(rules_broken(spec, read_then_write(39)), std::vector<std::string>{"data bus"});
    EXPECT_EQ(rules_broken(spec, read_then_write(40)), std::vector<std::string>{});
    EXPECT_EQ(rules_broken(spec, {{0, Kind::activate, 0, 5}, {6, Kind::activate, 1, 5}, {30, Kind::read, 0, 5}, {31, Kind::read, 1, 5}}),
              std::vector<std::string>{"data bus"});
}

TEST(DramSpecCheck, RefusesAReadToWriteTimeThatLetsDataCollide) {
    // Nothing else keeps write data from starting before read data has ended.
    MachineSpec s = gtx480_like();
    s.dram.timing.tRTW = s.dram.timing.tCL + 4 - s.dram.timing.tWL - 1;
    EXPECT_FALSE(check(s).empty());
    ++s.dram.timing.tRTW;
    EXPECT_TRUE(check(s).empty());
}

}  // namespace
}  // namespace mergelane::testing
