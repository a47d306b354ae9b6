// SPDX-License-Identifier: MIT
// Timelines are of limited size: requests are sampled, and what does not fit is left out and counted. tests/timeline decodes whole ones.
#include <gtest/gtest.h>

#include <set>

#include "machines.hpp"
#include "report/report.hpp"
#include "run.hpp"
#include "sim/work_recorder.hpp"
#include "sm/load_table.hpp"

namespace mergelane::testing {
namespace {

constexpr Stage kQueue{1, 1}, kLookup{1, 2}, kFlight{1, 3}, kReply{1, 4}, kWait{1, 5}, kOther{1, 6};

LoadStages stages() {
    LoadStages all{kQueue, kLookup, {}};
    all.flight.fill(kFlight);
    return all;
}

/// Stage and length of each step of a load that is issued in cycle 10, starts in 12, asks in 15 and has its value in 40.
std::vector<std::pair<std::uint8_t, Time>> steps_of(const Journey& journey) {
    const StaticInst inst;
    Load load{&inst, 10, 40, 0, 0};
    load.started = 12;
    const Arrival arrival{40, 15, &journey, kReply};
    const LoadStages all = stages();
    const LoadHistory history(load, arrival, nullptr, all, 38);
    std::vector<std::pair<std::uint8_t, Time>> list;
    Time at = history.issued();
    history.steps([&](std::uint8_t stage, Time until) {
        list.emplace_back(stage, until - at);
        at = until;
    });
    EXPECT_EQ(at, history.available());
    return list;
}

/// Keeps the account of the loads that finish.
class Listening final : public MemoryListener {
public:
    void load_finished(const Load&, const LoadHistory*, Cycle) override {}
    void store_split(std::uint32_t, std::uint32_t) override {}
    void store_answered(std::uint32_t, Cycle) override {}
};

/// Waits for the same reason before and after the start of a load count for their own part of its time; the rest is not negative.
TEST(LoadTable, WaitsBeforeTheStartStayThere) {
    Listening listener;
    LoadTable loads(4, listener);
    loads.set_stages(stages());
    const StaticInst inst;
    const Stage credits{1, 20}, mshrs{1, 21};
    const std::uint16_t load = loads.open(inst, 0, 0, 1);
    loads.start(load, 50);
    loads.delay(load, credits, 5, 50);  // behind others
    loads.delay(load, credits, 58, 60);
    loads.delay(load, mshrs, 50, 58);
    loads.resolve(load, {70, 60, nullptr, kReply}, 60);
    const LatencyAccount& account = loads.account();
    EXPECT_EQ(account.total, 70u);
    EXPECT_EQ(account.spent[credits.number], 47u);
    EXPECT_EQ(account.spent[mshrs.number], 8u);
    EXPECT_EQ(account.spent[stages().queue.number], 5u);
    EXPECT_EQ(account.spent[stages().lookup.number], 0u);
    EXPECT_EQ(account.spent[kReply.number], 10u);
}

using Steps = std::vector<std::pair<std::uint8_t, Time>>;

TEST(LoadSteps, FillTheTimeOfALoad) {
    Journey journey;
    journey.begin(15, 1);
    EXPECT_EQ(steps_of(journey), (Steps{{1, 2}, {2, 3}, {3, 23}, {4, 2}}));
    journey.wait(kWait, 20, 25);
    journey.wait(kOther, 25, 38);
    EXPECT_EQ(steps_of(journey), (Steps{{1, 2}, {2, 3}, {3, 5}, {5, 5}, {6, 13}, {4, 2}}));
}

TEST(LoadSteps, KeepTheLengthsOfWaitsThatWereNotedByReason) {
    Journey journey;
    journey.begin(15, 1);
    journey.wait(kWait, 30, 36);   // the head of the queue was stalled
    journey.wait(kOther, 22, 36);  // and before that moved on
    EXPECT_EQ(steps_of(journey), (Steps{{1, 2}, {2, 3}, {3, 3}, {5, 6}, {6, 14}, {4, 2}}));
}

TEST(WorkRecorder, SamplesRequestsWithAllOfTheirLoads) {
    Timeline::Sm record;
    WorkRecorder recorder(record, WorkRecorder::kMostRequests);  // 16 of each SM
    const StaticInst inst;
    const LoadStages all = stages();
    const auto add = [&](std::uint64_t request) {
        Journey journey;
        journey.begin(request, request);
        const Load load{&inst, request, request + 9, 0, 0};
        const Arrival arrival{request + 9, request, &journey, kReply};
        recorder.request_finished(load, LoadHistory(load, arrival, nullptr, all, request + 9));
    };
    for (std::uint64_t request = 1; request <= 1000; ++request) {
        add(request);
        add(request);  // merged with it
    }
    EXPECT_LT(record.requests.size(), 16u);
    EXPECT_GT(record.requests.size(), 3u);
    EXPECT_GE(recorder.sampled_one_of(), 64u);
    std::multiset<std::uint64_t> requests;
    std::size_t steps = 0;
    for (const Timeline::Request& request : record.requests) {
        requests.insert(request.served_by);
        EXPECT_EQ(record.steps[steps + request.steps - 1].until, request.issued + 9);
        steps += request.steps;
    }
    EXPECT_EQ(steps, record.steps.size());
    for (const std::uint64_t request : requests) EXPECT_EQ(requests.count(request), 2u);
}

TEST(WorkRecorder, CountsTheCtasItLeavesOut) {
    Timeline::Sm record;
    WorkRecorder recorder(record, WorkRecorder::kMostCtas);  // 64 of each SM
    for (std::uint32_t cta = 0; cta < 100; ++cta) {
        recorder.cta_started(cta, cta % 3, 10 * cta);
        if (cta != 99) recorder.cta_finished(cta % 3, 10 * cta + 9);
    }
    EXPECT_EQ(record.ctas.size(), 64u);
    EXPECT_EQ(record.ctas_left_out, 35u);
    recorder.finish(5000);  // the last one never finished
    EXPECT_EQ(record.ctas_left_out, 36u);
}

TEST(TimelineFile, EndsInTimeAndSaysWhatIsMissing) {
    Timeline timeline;
    RunOptions options;
    options.timeline = &timeline;
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 60;
    params.iterations = 4;
    const auto workload = make_synthetic("stream", params);
    const RunResult result = run_on(icc60_like(2), *workload, options);
    EXPECT_EQ(result.intervals.size(), 0u);  // not asked for
    const TimelineFile whole = to_perfetto(result, timeline);
    EXPECT_EQ(whole.left_out, "");
    for (const std::size_t most : {std::size_t{0}, whole.bytes.size() / 2, whole.bytes.size() - 1}) {
        const TimelineFile part = to_perfetto(result, timeline, most);
        EXPECT_NE(part.left_out, "");
        EXPECT_NE(part.bytes.find(part.left_out), std::string::npos);
        if (most != 0) {
            EXPECT_LE(part.bytes.size(), most);
        }
    }
    EXPECT_EQ(to_perfetto(result, timeline, 0).left_out.substr(0, 20), "left out: 1 kernel, ");
}

}  // namespace
}  // namespace mergelane::testing
