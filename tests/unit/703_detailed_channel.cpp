// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "core/rng.hpp"
#include "dram_checker.hpp"
#include "dram_run.hpp"
#include "machines.hpp"

namespace mergelane::testing {
namespace {

using Kind = DramCommand::Kind;
using Page = DramControllerSpec::Page;
using Refresh = DramControllerSpec::Refresh;

DramControllerSpec detailed() {
    DramControllerSpec controller;
    controller.on = true;
    return controller;
}

std::vector<std::string> lines_of(const std::vector<DramCommand>& log) {
    std::vector<std::string> lines;
    for (const DramCommand& c : log) lines.push_back(fmt::format("{} {} bank {} row {}", c.at, static_cast<int>(c.kind), c.bank, c.row));
    return lines;
}

TEST(DetailedChannel, IssuesTheCommandsOfThePlainChannelWhileItsConstraintsAreOff) {
    for (const DramSpec& spec : {gtx480_like().dram, v100_like().dram, icc60_like(1).dram}) {
        for (const Traffic traffic : {Traffic::streaming, Traffic::random, Traffic::mixed}) {
            for (const std::uint32_t percent : {100u, 30u, 4u}) {
                const ChannelLoad load{traffic, 6000, percent, 2, percent};
                const ChannelRun plain = run_channel({spec}, load), same = run_channel({spec, detailed()}, load);
                ASSERT_GT(plain.log.size(), 6000u);
                EXPECT_EQ(lines_of(plain.log), lines_of(same.log)) << "traffic " << static_cast<int>(traffic) << ", load " << percent;
                EXPECT_EQ(plain.answers, same.answers);
            }
        }
    }
}

/// Values that are neither equal to each other nor implied by each other, with everything on.
DramSetup everything(Refresh refresh = Refresh::all_bank) {
    DramSetup s{gtx480_like().dram, detailed()};
    DramTiming& t = s.spec.timing;
    s.spec.bus_bytes = 64, s.spec.access_bytes = 64, s.spec.bank_groups = 4, s.spec.banks = 16;
    t.tRCD = 14, t.tRP = 13, t.tRAS = 29, t.tRC = 44, t.tRRD = 4, t.tCCD = 2, t.tCCDL = 4, t.tCL = 15, t.tWL = 5, t.tWR = 16;
    t.tRTP = 4, t.tCDLR = 4, t.tRTW = 14;
    DramControllerSpec& c = s.controller;
    c.queue = 64;
    c.tRCDWR = 10, c.tRRDL = 7, c.tFAW = 25, c.tWTRL = 9, c.tRTPL = 6, c.tREFI = 1900, c.tRFC = 130, c.tRFCpb = 50, c.tRREFD = 8;
    c.refresh = refresh, c.refresh_postpone = 0;
    return s;
}

void expect_legal(const DramSetup& setup, const ChannelRun& run) {
    EXPECT_EQ(run.reads, run.replies);
    const auto violations = DramChecker(setup.spec, setup.controller).check(run.log);
    EXPECT_EQ(violations.size(), 0u);
    for (std::size_t i = 0; i < violations.size() && i < 3; ++i) {
        const DramCommand& c = run.log[violations[i].index];
        ADD_FAILURE() << violations[i].rule << " at cycle " << c.at << ", bank " << c.bank;
    }
}

/// A random choice of everything a channel can be set to.
DramSetup random_setup(Rng& rng) {
    DramSetup s = everything(static_cast<Refresh>(rng.below(3)));
    DramControllerSpec& c = s.controller;
    s.spec.command_buses = 1 + rng.below(2);
    s.spec.bank_groups = 1u << rng.below(3);
    s.spec.bank_hash = rng.below(2) == 0;
    s.spec.scheduler = std::vector<std::string>{"fr_fcfs", "fr_fcfs_cap", "fr_fcfs_bank"}[rng.below(3)];
    c.queue = 1u << rng.below(10);
    c.write_queue = rng.below(2) == 0 ? 0 : 2 + rng.below(100);
    c.write_high = 1 + rng.below(std::max(1u, c.write_queue));
    c.write_low = rng.below(c.write_high);
    c.hit_cap = 1 + rng.below(8);
    c.page = static_cast<Page>(rng.below(3));
    c.page_timeout = 1 + rng.below(200);
    c.refresh_postpone = rng.below(9);
    c.pseudo_channels = 1 + rng.below(2);
    c.activate_cycles = 1 + rng.below(s.spec.command_buses);
    c.tREFI = c.refresh == Refresh::per_bank ? 3000 : 500;
    for (std::uint32_t* const optional : {&c.tRCDWR, &c.tRRDL, &c.tFAW, &c.tWTRL, &c.tRTPL}) {
        if (rng.below(3) == 0) *optional = 0;
    }
    s.spec.timing.tRTW += 4;
    return s;
}

TEST(DetailedChannel, BreaksNoRuleWithAnySettings) {
    Rng rng(33);
    for (int k = 0; k < 120; ++k) {
        const DramSetup setup = random_setup(rng);
        Problems problems;
        setup.controller.check(setup.spec, {.queue_per_bank = false, .plain = false, .detailed = true}, problems);
        ASSERT_TRUE(problems.none()) << problems.list().front().text;
        const ChannelLoad load{static_cast<Traffic>(rng.below(3)), 2000, 5 + rng.below(96), 1 + rng.below(3), rng.next()};
        SCOPED_TRACE(k);
        expect_legal(setup, run_channel(setup, load));
    }
}

TEST(DramDevice, CountsTheCyclesWithOpenRowsOfEachBank) {
    const DramSetup setup{{}, detailed()};
    DramDevice device(setup.spec, setup.controller);
    device.activate(3, 1, 10);
    device.activate(5, 1, 20);
    EXPECT_EQ(device.stats(25).open_cycles, 15u + 5u);
    device.precharge(3, 50);
    EXPECT_EQ(device.stats(100).open_cycles, 40u + 80u);
    device.precharge(5, 100);
    EXPECT_EQ(device.stats(1000).open_cycles, 40u + 80u);
}

TEST(DetailedChannel, DoesTheSameWhenItIsSteppedInEveryCycle) {
    Rng rng(34);
    for (int k = 0; k < 40; ++k) {
        const DramSetup setup = random_setup(rng);
        ChannelLoad load{static_cast<Traffic>(rng.below(3)), 600, 1 + rng.below(60), 2, rng.next()};
        const ChannelRun asleep = run_channel(setup, load);
        load.sleep = false;
        const ChannelRun awake = run_channel(setup, load);
        // Awake, the refreshes after the last request are in the log as well.
        ASSERT_LE(asleep.log.size(), awake.log.size());
        const std::vector<DramCommand> shared(awake.log.begin(), awake.log.begin() + static_cast<std::ptrdiff_t>(asleep.log.size()));
        EXPECT_EQ(lines_of(asleep.log), lines_of(shared)) << k;
        EXPECT_EQ(asleep.answers, awake.answers) << k;
    }
}

TEST(DetailedChannel, ServesAnOlderReadOfABankThatWasOpenedForAWrite) {
    // Hits of bank 1 keep the write from its turn, a read of its row reaches the cap, and an older read wants another row of the bank.
    DramSetup setup = everything(Refresh::none);
    setup.spec.scheduler = "fr_fcfs_cap";
    setup.spec.address_map = "RBBBBCCCCCSSSSSS";
    setup.controller.hit_cap = 1;
    setup.controller.write_queue = 64, setup.controller.write_high = 64, setup.controller.write_low = 1;
    ChannelLoad load;
    load.slices = 1;
    const auto add = [&](Cycle at, std::uint64_t bank, std::uint64_t row, bool write) {
        load.items.push_back({DramRequest{row << 15 | bank << 11, 3, static_cast<std::uint16_t>(load.items.size()), 0, write}, 1, at});
    };
    add(0, 1, 0, false);
    add(60, 0, 0, true);
    add(62, 0, 1, false);
    add(63, 0, 0, false);
    for (Cycle at = 64; at < 110; at += 2) add(at, at == 96 ? 0 : 1, 0, false);
    const ChannelRun run = run_channel(setup, load);
    expect_legal(setup, run);
    EXPECT_LT(run.end, 400u);
}

/// A parameter that a planted bug makes one cycle too short, and where the rule shows.
struct Planted {
    const char* rule;
    std::function<std::uint32_t&(DramSetup&)> value;
    Refresh refresh = Refresh::all_bank;
    std::uint32_t offset = 0;  ///< of the distance between the commands
};

std::vector<Planted> planted() {
    const auto timing = [](std::uint32_t DramTiming::*member) {
        return [member](DramSetup& s) -> std::uint32_t& { return s.spec.timing.*member; };
    };
    const auto own = [](std::uint32_t DramControllerSpec::*member) {
        return [member](DramSetup& s) -> std::uint32_t& { return s.controller.*member; };
    };
    const std::uint32_t written = 5 + 1;
    return {
        {"tRCD", timing(&DramTiming::tRCD)},
        {"tRCDWR", own(&DramControllerSpec::tRCDWR)},
        {"tRP", timing(&DramTiming::tRP)},
        {"tRP before a refresh", timing(&DramTiming::tRP)},
        {"tRAS", timing(&DramTiming::tRAS)},
        {"tRC", timing(&DramTiming::tRC)},
        {"tRC before a refresh", timing(&DramTiming::tRC)},
        {"tRC before a refresh", timing(&DramTiming::tRC), Refresh::per_bank},
        {"tRRD", timing(&DramTiming::tRRD)},
        {"tRRD before a refresh", timing(&DramTiming::tRRD), Refresh::per_bank},
        {"tRRDL", own(&DramControllerSpec::tRRDL)},
        {"tFAW", own(&DramControllerSpec::tFAW)},
        {"tCCD", timing(&DramTiming::tCCD)},
        {"tCCDL", timing(&DramTiming::tCCDL)},
        {"tRTP", timing(&DramTiming::tRTP)},
        {"tRTPL", own(&DramControllerSpec::tRTPL)},
        {"tWR", timing(&DramTiming::tWR), Refresh::all_bank, written},
        {"tCDLR", timing(&DramTiming::tCDLR), Refresh::all_bank, written},
        {"tWTRL", own(&DramControllerSpec::tWTRL), Refresh::all_bank, written},
        {"tRTW", timing(&DramTiming::tRTW)},
        {"tRFC", own(&DramControllerSpec::tRFC)},
        {"tRFCpb", own(&DramControllerSpec::tRFCpb), Refresh::per_bank},
        {"tRREFD", own(&DramControllerSpec::tRREFD), Refresh::per_bank},
    };
}

/// Loads under which every rule decides when some command comes.
std::vector<ChannelLoad> telling_loads() {
    return {{Traffic::mixed, 20'000, 100, 2, 1}, {Traffic::random, 8000, 100, 2, 2}, {Traffic::mixed, 4000, 12, 2, 3}};
}

TEST(DramConstraints, AllowACommandAtTheirDistanceAndItComesThen) {
    for (const Planted& p : planted()) {
        DramSetup setup = everything(p.refresh);
        if (p.rule == std::string("tRTP")) setup.controller.tRTPL = 0;  // otherwise implied
        std::uint64_t smallest = ~std::uint64_t{0};
        for (const ChannelLoad& load : telling_loads()) {
            DramChecker checker(setup.spec, setup.controller);
            EXPECT_TRUE(checker.check(run_channel(setup, load).log).empty()) << p.rule;
            smallest = std::min(smallest, checker.smallest(p.rule));
        }
        EXPECT_EQ(smallest, p.value(setup) + p.offset) << p.rule;
    }
}

TEST(DramConstraints, AreFoundBrokenWhenAPlantedBugShortensThem) {
    for (const Planted& p : planted()) {
        DramSetup setup = everything(p.refresh);
        if (p.rule == std::string("tRTP")) setup.controller.tRTPL = 0;
        DramSetup broken = setup;
        --p.value(broken);
        std::map<std::string, int> found;
        for (const ChannelLoad& load : telling_loads()) {
            for (const DramViolation& v : DramChecker(setup.spec, setup.controller).check(run_channel(broken, load).log)) ++found[v.rule];
        }
        EXPECT_GT(found[p.rule], 0) << p.rule;
    }
}

std::uint64_t count(const ChannelRun& run, Kind kind) {
    return static_cast<std::uint64_t>(std::count_if(run.log.begin(), run.log.end(), [&](const DramCommand& c) { return c.kind == kind; }));
}

TEST(DramRefresh, ComesOncePerIntervalOnAverageAndIsPostponedAtMostEightTimes) {
    for (const Refresh refresh : {Refresh::all_bank, Refresh::per_bank}) {
        for (const std::uint32_t postpone : {0u, 1u, 8u}) {
            DramSetup setup = everything(refresh);
            setup.controller.refresh_postpone = postpone;
            const ChannelRun run = run_channel(setup, {Traffic::mixed, 30'000, 100, 2, 5});
            const bool all = refresh == Refresh::all_bank;
            const std::uint32_t interval = setup.controller.refresh_interval(setup.spec);
            std::vector<Cycle> at;
            for (const DramCommand& c : run.log) {
                if (c.kind == (all ? Kind::refresh : Kind::refresh_bank)) at.push_back(c.at);
            }
            ASSERT_GT(at.size(), 10u);
            for (std::size_t n = 0; n < at.size(); ++n) {
                const Cycle due = (n + 1) * Cycle{interval};
                EXPECT_GE(at[n], due);
                // Closing the rows takes no longer than a write and its recovery; postponed refreshes follow each other.
                EXPECT_LE(at[n], due + Cycle{postpone} * (interval + setup.controller.tRFC) + 150) << n << " of " << at.size();
            }
        }
    }
}

TEST(DramRefresh, OfOneBankVisitsAllBanksInTurn) {
    const DramSetup setup = everything(Refresh::per_bank);
    const ChannelRun run = run_channel(setup, {Traffic::random, 20'000, 100, 2, 5});
    std::uint32_t expected = 0;
    for (const DramCommand& c : run.log) {
        if (c.kind != Kind::refresh_bank) continue;
        EXPECT_EQ(c.bank, expected);
        expected = (expected + 1) % setup.spec.banks;
    }
    EXPECT_GT(count(run, Kind::refresh_bank), 40u);
}

/// Column commands per cycle.
double bandwidth(const DramSetup& setup) {
    const ChannelRun run = run_channel(setup, {Traffic::mixed, 40'000, 100, 2, 5});
    const std::uint64_t columns = count(run, Kind::read) + count(run, Kind::write);
    return static_cast<double>(columns) / static_cast<double>(run.log.back().at - run.log.front().at);
}

TEST(DramWriteQueue, DrainsBetweenItsWatermarks) {
    DramSetup setup = everything(Refresh::none);
    const double shared = bandwidth(setup);
    setup.controller.write_queue = 64, setup.controller.write_high = 48, setup.controller.write_low = 16;
    const ChannelRun run = run_channel(setup, {Traffic::mixed, 40'000, 100, 2, 5});
    expect_legal(setup, run);
    // Writes come in long runs, so the bus turns around less often and more data flows.
    std::uint64_t turns = 0, columns = 0;
    Kind last = Kind::read;
    for (const DramCommand& c : run.log) {
        if (c.kind != Kind::read && c.kind != Kind::write) continue;
        turns += c.kind != last ? 1 : 0;
        last = c.kind;
        ++columns;
    }
    EXPECT_GT(columns, turns * 20);
    EXPECT_GT(bandwidth(setup), shared);
}

TEST(DramPagePolicy, ClosedPagesAnswerRandomReadsSooner) {
    DramSetup setup = everything(Refresh::none);
    const ChannelLoad load{Traffic::random, 3000, 3, 2, 5};
    const ChannelRun open = run_channel(setup, load);
    setup.controller.page = Page::closed;
    const ChannelRun closed = run_channel(setup, load);
    expect_legal(setup, closed);
    // The precharge has been done when a request to another row arrives.
    const auto sum = [](const ChannelRun& run) {
        Cycle all = 0;
        for (const auto& [at, tag] : run.answers) all += at;
        return all;
    };
    // Nearly every row is another one, so that each read saves about a precharge.
    EXPECT_LT(sum(closed) + closed.replies * setup.spec.timing.tRP / 2, sum(open));
    EXPECT_GE(count(closed, Kind::precharge) + 1, count(closed, Kind::activate)) << "all but the last, whose time has not come";
}

TEST(DramPagePolicy, AdaptivePagesLearnWhetherRowsAreUsedAgain) {
    for (const Traffic traffic : {Traffic::streaming, Traffic::random}) {
        DramSetup setup = everything(Refresh::none);
        const ChannelLoad load{traffic, 6000, 4, 2, 5};
        const std::uint64_t open = count(run_channel(setup, load), Kind::activate);
        setup.controller.page = Page::closed;
        const std::uint64_t closed = count(run_channel(setup, load), Kind::activate);
        setup.controller.page = Page::adaptive;
        const std::uint64_t adaptive = count(run_channel(setup, load), Kind::activate);
        EXPECT_LE(open, adaptive);
        EXPECT_LE(adaptive, closed);
        if (traffic == Traffic::streaming) {
            EXPECT_LT(adaptive - open, (closed - open) / 2);
        }
    }
}

TEST(DramOrders, ALowerCapOnRowHitsOpensMoreRows) {
    DramSetup setup = everything(Refresh::none);
    const ChannelLoad load{Traffic::mixed, 20'000, 100, 2, 5};
    setup.spec.scheduler = "fr_fcfs";
    const std::uint64_t free = count(run_channel(setup, load), Kind::activate);
    std::uint64_t more = free;
    for (const std::uint32_t cap : {16u, 4u, 1u}) {
        setup.spec.scheduler = "fr_fcfs_cap";
        setup.controller.hit_cap = cap;
        const ChannelRun run = run_channel(setup, load);
        expect_legal(setup, run);
        EXPECT_GE(count(run, Kind::activate), more) << cap;
        more = count(run, Kind::activate);
    }
    EXPECT_GT(more, free);
}

TEST(DramOrders, StayingOnABankTakesItsHitsTogether) {
    DramSetup setup = everything(Refresh::none);
    const auto runs_of_a_bank = [&] {
        std::uint64_t changes = 0, columns = 0, last = 0;
        for (const DramCommand& c : run_channel(setup, {Traffic::mixed, 20'000, 100, 2, 5}).log) {
            if (c.kind != Kind::read && c.kind != Kind::write) continue;
            changes += c.bank != last ? 1 : 0;
            last = c.bank;
            ++columns;
        }
        return double(columns) / double(changes);
    };
    const double oldest = runs_of_a_bank();
    setup.spec.scheduler = "fr_fcfs_bank";
    EXPECT_GT(runs_of_a_bank(), oldest);
}

TEST(DramPseudoChannels, HaveTheirOwnDataBusAndShareTheCommandBuses) {
    DramSetup setup{v100_like().dram, detailed()};
    setup.spec.banks = 32, setup.spec.address_map = "RBBBBCCCBCCCSSSSS";
    setup.spec.timing.tCCD = 2, setup.spec.timing.tCCDL = 3, setup.spec.timing.tRTW += 1;
    setup.controller.pseudo_channels = 2;
    setup.controller.activate_cycles = 2;
    const ChannelRun run = run_channel(setup, {Traffic::streaming, 20'000, 100, 2, 5});
    expect_legal(setup, run);
    std::uint64_t together = 0;
    for (std::size_t i = 1; i < run.log.size(); ++i) {
        const DramCommand &a = run.log[i - 1], &b = run.log[i];
        together += a.kind == Kind::read && b.kind == Kind::read && b.at == a.at + 1 && a.bank / 16 != b.bank / 16 ? 1 : 0;
    }
    EXPECT_GT(together, 1000u) << "the two halves transfer at the same time";
}

TEST(DramControllerSpec, NamesSettingsThatDoNotFit) {
    const auto problem = [](const std::function<void(MachineSpec&, DramControllerSpec&)>& change) {
        MachineSpec s = gtx480_like();
        DramControllerSpec& c = s.sections.get<DramControllerSpec>();
        c = everything(Refresh::none).controller;
        change(s, c);
        const auto problems = check(s);
        return problems.empty() ? std::string() : problems.front().text;
    };
    EXPECT_EQ(problem([](auto&, auto&) {}), "");
    EXPECT_NE(problem([](auto& s, auto&) { s.dram.scheduler = "fifo"; }).find("does not work in the detailed"), std::string::npos);
    EXPECT_NE(problem([](auto& s, auto& c) { c.on = false, s.dram.scheduler = "fr_fcfs_cap"; }).find("controller.enabled"),
              std::string::npos);
    EXPECT_NE(problem([](auto&, auto& c) { c.write_queue = 8, c.write_high = 9; }).find("write_low < write_high"), std::string::npos);
    EXPECT_NE(problem([](auto&, auto& c) { c.refresh = Refresh::all_bank, c.tREFI = 0; }).find("tREFI"), std::string::npos);
    EXPECT_NE(problem([](auto&, auto& c) { c.refresh = Refresh::per_bank, c.tRFCpb = 0; }).find("tRFCpb"), std::string::npos);
    EXPECT_NE(problem([](auto&, auto& c) { c.activate_cycles = 2; }).find("command_buses"), std::string::npos);
    EXPECT_NE(problem([](auto&, auto& c) { c.tRRDL = 1; }).find("tRRD"), std::string::npos);
    EXPECT_NE(problem([](auto& s, auto& c) { c.pseudo_channels = 2, s.dram.bank_groups = 16; }).find("pseudo-channels"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
