// SPDX-License-Identifier: MIT
// Domains that no link connects run many windows before they synchronise. This must not be observable.
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/wiring.hpp"
#include "machines.hpp"
#include "mocks.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {
namespace {

/// Counts down, one step per cycle, then has nothing to do until it is told to go on. Throws at one cycle, if asked to.
class Worker final : public Component {
public:
    Worker(std::string name, Cycle last, Cycle throws_at = kNever) : Component(std::move(name)), last_(last), throws_at_(throws_at) {}
    Cycle step(Cycle now) override {
        if (now == throws_at_) throw std::runtime_error("worker");
        reached_ = now;
        return now < last_ ? now + 1 : kNever;
    }
    void stats(StatFields&, Cycle) const override {}
    bool busy() const { return reached_ < last_; }
    Cycle reached() const { return reached_; }

private:
    const Cycle last_;
    const Cycle throws_at_;
    Cycle reached_ = 0;
};

struct Workers {
    explicit Workers(const std::vector<Cycle>& last, std::uint32_t threads, Cycle second_throws_at = kNever) {
        for (std::size_t i = 0; i < last.size(); ++i) {
            domains.push_back(std::make_unique<Domain>("domain", Clock{}));
            workers.push_back(std::make_unique<Worker>("worker", last[i], i == 1 ? second_throws_at : kNever));
            domains.back()->add(*workers.back());
        }
        std::vector<Island> islands(last.size());
        for (std::size_t i = 0; i < last.size(); ++i) {
            islands[i].domains = {domains[i].get()};
            islands[i].busy = [worker = workers[i].get()] { return worker->busy(); };
        }
        engine = std::make_unique<Engine>(std::move(islands), EngineOptions{threads, kWindow, true});
        for (const auto& worker : workers) worker->wake(0);
    }
    static bool go_on(Time) { return true; }

    static constexpr Time kWindow = 8;
    std::vector<std::unique_ptr<Domain>> domains;
    std::vector<std::unique_ptr<Worker>> workers;
    std::unique_ptr<Engine> engine;
};

class Islands : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, Islands, ::testing::Values(1u, 2u));

TEST_P(Islands, StopWithTheWindowInWhichTheLastOneIsDone) {
    // The second needs several stretches, the first is done long before it.
    Workers w({100, 20'003, 9'000}, GetParam());
    EXPECT_EQ(w.engine->run_while_busy(kEndOfTime, Workers::go_on), Engine::End::stopped);
    EXPECT_FALSE(w.workers[1]->busy());
    EXPECT_GT(w.engine->time(), 20'003u);
    EXPECT_LE(w.engine->time(), 20'003u + Workers::kWindow) << "a kernel that follows may start a window later";
}

TEST_P(Islands, StopAtTheirLimit) {
    Workers w({100, 20'003, 9'000}, GetParam());
    EXPECT_EQ(w.engine->run_while_busy(6'000, Workers::go_on), Engine::End::limit);
    EXPECT_EQ(w.engine->time(), 6'000u);
    EXPECT_EQ(w.workers[0]->reached(), 100u);
    EXPECT_EQ(w.workers[1]->reached(), 5'999u);
    EXPECT_EQ(w.workers[2]->reached(), 5'999u);
    EXPECT_EQ(w.engine->run_until(7'000, Workers::go_on), Engine::End::limit);
    EXPECT_EQ(w.workers[2]->reached(), 6'999u);
}

TEST_P(Islands, AreIdleWhenAllAre) {
    Workers w({100, 20'003, 9'000}, GetParam());
    EXPECT_EQ(w.engine->run_until(kEndOfTime, Workers::go_on), Engine::End::idle);
    EXPECT_EQ(w.workers[1]->reached(), 20'003u);
    EXPECT_GT(w.engine->time(), 20'003u);
    EXPECT_LE(w.engine->time(), 20'003u + 2 * Workers::kWindow);
    // Whoever is woken later goes on from there.
    w.workers[0]->wake(30'000);
    EXPECT_EQ(w.engine->run_until(kEndOfTime, Workers::go_on), Engine::End::idle);
    EXPECT_EQ(w.workers[0]->reached(), 30'000u);
    EXPECT_GT(w.engine->time(), 30'000u);
}

TEST_P(Islands, AskWhetherToGoOnWhenTheyMeet) {
    Workers w({100'000, 100'000}, GetParam());
    Time asked_at = 0;
    const auto once = [&](Time now) {
        asked_at = now;
        return false;
    };
    EXPECT_EQ(w.engine->run_while_busy(kEndOfTime, once), Engine::End::stopped);
    EXPECT_EQ(w.engine->time(), asked_at);
    EXPECT_EQ(w.workers[0]->reached(), asked_at - 1);
    EXPECT_EQ(w.workers[1]->reached(), asked_at - 1);
}

TEST_P(Islands, PassOnWhatOneThrows) {
    Workers w({1'000, 1'000, 1'000}, GetParam(), 500);
    EXPECT_THROW(w.engine->run_until(kEndOfTime, Workers::go_on), std::runtime_error);
}

TEST(Wiring, FindsIslands) {
    Wiring wiring;
    std::vector<Worker*> workers;
    for (int i = 0; i < 5; ++i) {
        const std::string name = "d" + std::to_string(i);
        workers.push_back(&wiring.add<Worker>(wiring.domain(name, Clock{}), "work", name, Cycle{1}));
    }
    // 0 -> 3 -> 1, and 4 -> 2.
    wiring.link<Packet>("x", *workers[0], *workers[3], 4, 1, 1);
    wiring.link<Packet>("x", *workers[4], *workers[2], 4, 1, 1);
    wiring.link<Packet>("x", *workers[3], *workers[1], 4, 1, 1);
    const std::vector<Domain*> all = wiring.domains();
    const std::vector<std::vector<Domain*>> expected = {{all[0], all[1], all[3]}, {all[2], all[4]}};
    EXPECT_EQ(wiring.islands(), expected);
}

TEST(Machine, HasAnIslandPerGroup) {
    Machine machine(icc60_like(3));
    MachineSpec three = icc60_like(1);
    three.gpu.groups = 3;
    Machine groups(three);
    EXPECT_EQ(machine.islands().size(), 1u);
    EXPECT_EQ(groups.islands().size(), 3u);
    EXPECT_EQ(groups.islands()[1].domains.size() * 3, groups.domains().size());
}

/// Groups with unequal shares, kernel after kernel: whether they meet after every window must not show.
TEST(Simulation, GivesTheSameResultHoweverSeldomGroupsMeet) {
    MachineSpec spec = icc60_like(1);
    spec.gpu.groups = 3;
    SyntheticParams params;
    params.ctas = 10;
    params.kernels = 4;
    params.iterations = 2;
    const auto digest = [&](const RunOptions& options) { return run_on(spec, *make_synthetic("stream", params), options).digest; };
    RunOptions meets;
    meets.after_window = [](Machine&, Time) {};
    EXPECT_EQ(digest({}), digest(meets));
}

}  // namespace
}  // namespace mergelane::testing
