// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>

#include "campaign/campaign_file.hpp"
#include "campaign/estimate.hpp"
#include "campaign/merge.hpp"
#include "campaign/plan_file.hpp"
#include "campaign/run_table.hpp"
#include "core/error.hpp"
#include "runs/store.hpp"

namespace mergelane::study {
namespace {

namespace fs = std::filesystem;

const char* const kSweep = R"(machines = ["icc60", "gtx480"]
workloads = ["hotspot", { program = "atax", kernels = "1" }]
sizes = ["tiny", "paper"]
seeds = [1, "5-6"]
set = ["l1.ways=2"]
[grid]
l1.size_kib = [16, 32]
"gpu.noc_mhz" = [350, 700]
[[exclude]]
machine = "gtx480"
l1.size_kib = 32
)";

CampaignPlan planned(const std::string& text) {
    CampaignPlan plan;
    expand(parse_campaign(text, "sweep.toml"), plan.plan);
    plan.known.resize(plan.plan.size());
    return plan;
}

std::string complaint(const std::string& text) {
    try {
        planned(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

RunRecord finished(const std::string& key, std::uint64_t cycles = 100) {
    RunRecord r;
    r.key = key;
    r.spec = {"icc60", {"l1.ways=2"}, "hotspot", "tiny", 1};
    r.done = true;
    r.digest = "d" + std::to_string(cycles);
    r.cycles = cycles;
    r.stats = {{"l2.reads", cycles}};
    r.seconds = 0.5;
    return r;
}

TEST(CampaignFile, ExpandsInAFixedOrder) {
    const CampaignPlan plan = planned(kSweep);
    ASSERT_EQ(plan.plan.size(), (2 * 2 + 2) * 2 * 2 * 3u);
    const PlannedRun first = plan.plan.run(0);
    EXPECT_EQ(first.spec.overrides, (std::vector<std::string>{"l1.ways=2", "l1.size_kib=16", "gpu.noc_mhz=350"}));
    EXPECT_EQ((std::vector{plan.plan.run(1).spec.seed, plan.plan.run(2).spec.seed}), (std::vector<std::uint64_t>{5, 6}));
    EXPECT_EQ(plan.plan.run(3).spec.size, "paper");
    EXPECT_EQ(plan.plan.run(6).spec.kernels, "1");
    EXPECT_EQ(plan.plan.run(12).spec.overrides.back(), "gpu.noc_mhz=700") << "the last key changes fastest";
    for (std::size_t i = 0; i < plan.plan.size(); ++i) {
        const RunSpec spec = plan.plan.run(i).spec;
        EXPECT_FALSE(spec.gpu == "gtx480" && spec.overrides[1] == "l1.size_kib=32");
    }
    EXPECT_EQ(to_text(planned(kSweep)), to_text(plan));
}

TEST(CampaignFile, VariantsAreChangesMadeTogether) {
    const CampaignPlan plan = planned(R"(machines = "icc60"
workloads = ["bfs"]
sizes = "tiny"
[[variant]]
set = []
[[variant]]
set = ["l1.size_kib=96", "l1.ways=6"]
[[only]]
l1.ways = [6]
)");
    ASSERT_EQ(plan.plan.size(), 1u);
    EXPECT_EQ(plan.plan.run(0).spec.overrides.size(), 2u);
}

TEST(CampaignFile, MistakesNameFileAndLine) {
    const std::string rest = "workloads = [\"bfs\"]\nsizes = [\"tiny\"]\n";
    EXPECT_NE(complaint(rest).find("sweep.toml:1: the campaign has no 'machines'"), std::string::npos) << complaint(rest);
    EXPECT_NE(complaint("machines = [\"icc60\"]\nworkloads = [\"bfs\"]\nsizes = [\"huge\"]\n").find("sweep.toml:3: unknown size 'huge'"),
              std::string::npos);
    EXPECT_EQ(complaint("machines = [\"icc61\"]\n" + rest).find("sweep.toml:1: icc61: unknown GPU 'icc61'; did you mean 'icc60'?"), 0u);
    const std::string good = "machines = [\"icc60\"]\n" + rest;
    EXPECT_EQ(complaint(good), "");
    const std::pair<std::string, std::string> wrong[] = {
        {"[grid]\nl1.wayz = [2]\n", "did you mean"},
        {"[grid]\nl1.ways = []\n", "sweep.toml:5: has no value"},
        {"[grid]\nl1.ways = [[2]]\n", "sweep.toml:5: must be a number"},
        {"seeds = \"5-1\"\n", "sweep.toml:4: '5-1' is not a seed"},
        {"seeds = [\"1-600000\", \"7-600000\"]\n", "sweep.toml:4: has more than 1000000 seeds"},
        {"seeds = [\"18446744073709551615-18446744073709551615\", \"x\"]\n", "sweep.toml:4: 'x' is not a seed"},
        {"seedz = 3\n", "sweep.toml:4: unknown key of the campaign 'seedz'; did you mean 'seeds'?"},
        {"[[exclude]]\nl1.ways = 2\n", "sweep.toml:5: unknown field of [[exclude]] 'l1.ways'"},
        {"[[exclude]]\nworkload = \"bfs\"\n", "no runs are left"},
        {"seeds = \"1-1000000\"\n[grid]\nl1.ways = [1, 2, 4, 8]\nl1.mshrs = [1, 2, 3, 4, 5, 6, 7, 8]\n",
         "expands to 3.2e+07 runs; a campaign has at most 20000000; split it"},
        {"[grid]\nl1.size_kib = [16, 0]\n", "sweep.toml:5: l1.size_kib=0: l1.size_kib = 0 is out of range"},
        {"[grid]\nl1.size_kib = 1\nl1.ways = [1, 16]\n", "sweep.toml:6: l1.ways=16: l1.size_kib (1 KiB) is not a whole number of sets"},
        {"[grid]\nl1.size_kib = 1\nl1.ways = [1, 16]\n", "combined with 'l1.size_kib=1 l1.ways=16', which [[exclude]] can remove"},
        {"set = [\"l1.wayz=2\"]\n", "sweep.toml:4: l1.wayz=2: unknown key"},
        {"set = [\"l1.ways=2\"]\n[grid]\nl1.ways = [4, 8]\n", "sweep.toml:6: 'l1.ways' is in [grid] and in a 'set' (sweep.toml:4)"},
        {"seeds = \"1-2\"\n[[exclude]]\nseed = 3\n", "sweep.toml:5: the filter matches no run"},
        {"[sample]\nerror = \"2\"\n", "sweep.toml:5: '2' is no error from 0.05% to 50%; write for example error = \"2%\""},
        {"[sample]\nerror = [0.02]\n", "sweep.toml:5: must be a number"},
        {"[sample]\nby = \"pkb\"\n", "sweep.toml:5: unknown method of sampling 'pkb'"},
        {"[sample]\nseed = -1\n", "sweep.toml:5: 'seed' must be a whole number"},
        {"[sample]\nwave = 1\n", "sweep.toml:5: unknown key of [sample] 'wave'"}};
    for (const auto& [text, words] : wrong) EXPECT_NE(complaint(good + text).find(words), std::string::npos) << complaint(good + text);
}

std::string with_sample(const std::string& options) {
    return std::string(kSweep) + "[sample]\n" + options;
}

TEST(CampaignFile, SaysHowAllRunsAreSampled) {
    const CampaignPlan full = planned(kSweep), usual = planned(with_sample(""));
    ASSERT_EQ(usual.plan.size(), full.plan.size());
    std::set<std::string> keys;
    for (std::size_t i = 0; i < full.plan.size(); ++i) {
        keys.insert(full.plan.run(i).key);
        keys.insert(usual.plan.run(i).key);
        EXPECT_EQ(usual.plan.run(i).spec.sample, "error=0.02 seed=1 by=stratified");
    }
    EXPECT_EQ(keys.size(), 2 * full.plan.size());
    const auto sample_of = [](const std::string& options) { return planned(with_sample(options)).plan.run(0).spec.sample; };
    EXPECT_EQ(sample_of("error = \"5%\"\nseed = 7\nby = \"sieve\"\n"), "error=0.05 seed=7 by=sieve");
    EXPECT_EQ(sample_of("error = 0.05\n"), sample_of("error = \"5 %\"\n"));
    EXPECT_EQ(sample_of("segment = 3000\n"), "error=0.02 seed=1 by=stratified segment=3000");
}

TEST(CampaignPlanFile, SampledRunsComeBackAsTheyWere) {
    CampaignPlan plan = planned(kSweep);
    const std::string full = to_text(plan);
    EXPECT_NE(full.find("\"form\":1"), std::string::npos) << "programs that know no sampled runs read it";
    expand(parse_campaign(with_sample("error = 0.05\n"), "sampled.toml"), plan.plan);
    plan.known.resize(plan.plan.size());
    const std::string text = to_text(plan);
    EXPECT_NE(text.find("\"form\":2"), std::string::npos) << "they must not take its runs for full ones";
    const CampaignPlan back = parse_plan(text, "p");
    EXPECT_EQ(to_text(back), text);
    for (std::size_t i = 0; i < plan.plan.size(); ++i) EXPECT_EQ(back.plan.run(i).key, plan.plan.run(i).key);
    std::string wrong = text.substr(0, text.size() - 37);
    wrong.replace(wrong.find("error=0.05"), 10, "error=0.99");
    try {
        parse_plan(wrong + "end " + hash_text(wrong) + "\n", "p");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("are no options of sampling that this version knows"), std::string::npos) << error.what();
    }
}

TEST(CampaignPlanFile, ComesBackAsItWas) {
    CampaignPlan plan = planned(kSweep);
    plan.title = "a \"title\"";
    plan.known[0] = plan.known[1] = plan.known[7] = RunState::done;
    plan.known[3] = RunState::failed;
    plan.read = {{"a.jsonl", 17}};
    const std::string text = to_text(plan);
    const CampaignPlan back = parse_plan(text, "p");
    EXPECT_EQ(to_text(back), text);
    EXPECT_EQ(back.title, plan.title);
    EXPECT_EQ(back.known, plan.known);
    EXPECT_EQ(back.runs_id(), planned(kSweep).runs_id()) << "whatever the store had";
    EXPECT_NE(back.label(), planned(kSweep).label());
    for (std::size_t i = 0; i < plan.plan.size(); ++i) EXPECT_EQ(back.plan.run(i).key, plan.plan.run(i).key);
}

TEST(CampaignPlanFile, RefusesWhatIsDamagedOrOfAnotherProgram) {
    const std::string text = to_text(planned(kSweep));
    for (std::size_t cut = 0; cut < text.size(); cut += 41) EXPECT_THROW(parse_plan(text.substr(0, cut), "p"), InputError);
    std::string flipped = text;
    flipped[text.size() / 2] ^= 1;
    EXPECT_THROW(parse_plan(flipped, "p"), InputError);
    const std::string body = text.substr(0, text.size() - 37);
    for (const char* line : {"r 0 1 18446744073709551615\n", "d 1 18446744073709551615\n", "x\n", "\n"}) {
        const std::string more = body + line;
        EXPECT_THROW(parse_plan(more + "end " + hash_text(more) + "\n", "p"), InputError) << line;
    }
    std::string other = body;
    other.replace(other.find("\"model\":"), 9, "\"model\":99");
    try {
        parse_plan(other + "end " + hash_text(other) + "\n", "p");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("was created for model 99"), std::string::npos) << error.what();
    }
}

/// What parse_plan() says of a plan whose checksum is right.
std::string refusal(const std::string& body) {
    try {
        parse_plan(body + "end " + hash_text(body) + "\n", "p");
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(CampaignPlanFile, RefusesWhatNoMachineAccepted) {
    const std::string text = to_text(planned(kSweep));
    const std::string body = text.substr(0, text.size() - 37);
    const auto with = [&](std::string word) {
        std::string other = body;
        return other.replace(other.find("l1.ways=2"), 9, word);
    };
    EXPECT_EQ(refusal(body), "");
    EXPECT_EQ(refusal(with(" l1.ways = 2")), "") << "as on the command line";
    for (const char* word : {"x\\\" INTEGER); ATTACH 'other.db' AS o; --=1", "l1.ways", "=2", "", "a b=1", "a\\u0000=1"})
        EXPECT_NE(refusal(with(word)).find("p:2: '"), std::string::npos) << word << ": " << refusal(with(word));
}

TEST(CampaignPlanFile, TakesNoLongerThanItsRuns) {
    const std::string text = to_text(planned(kSweep));
    const std::string body = text.substr(0, text.size() - 37);
    EXPECT_NE(refusal(body + "r 0 0 2\n").find("lists a run twice"), std::string::npos);
    EXPECT_EQ(refusal(body + "d 0 2\nf 2 1\n"), "");
    EXPECT_NE(refusal(body + "d 0 2\nd 1 1\n").find("is corrupt"), std::string::npos);
}

TEST(CampaignPlanFile, RefusesDeepAndLongLines) {
    EXPECT_NE(refusal(std::string(1000, '[') + "\n").find("p:1: is nested more than 8 deep"), std::string::npos);
    EXPECT_NE(refusal(std::string((8 << 20) + 1, '[') + "\n").find("p:1: has a line of more than 8 MiB"), std::string::npos);
}

TEST(CampaignPlanFile, NamesThatAreNotUtf8AreMistakes) {
    CampaignPlan plan;
    plan.plan.restore({{"caf\xe9.toml", {}, "0"}}, {});
    try {
        to_text(plan);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(".toml\",[],\"0\"] is not valid UTF-8"), std::string::npos) << error.what();
    }
}

TEST(CampaignPlanFile, NoShardGetsAllTheLongRuns) {
    CampaignPlan plan = planned("machines = \"icc60\"\nworkloads = [\"nn\"]\nsizes = \"tiny\"\nseeds = \"1-128\"\n");
    for (const std::uint32_t period : {8u, 16u, 20u}) {
        for (const std::uint32_t shards : {4u, 8u, 16u, 24u}) {
            std::size_t most = 0;
            for (std::uint32_t i = 0; i < shards; ++i) {
                const std::vector<std::uint32_t> part = plan.shard(i, shards);
                most = std::max<std::size_t>(most,
                                             std::count_if(part.begin(), part.end(), [&](std::uint32_t run) { return run % period == 0; }));
            }
            const std::size_t fair = (128 / period + shards - 1) / shards;
            EXPECT_LE(most, 2 * fair) << "every " << period << "th in " << shards << " shards";
        }
    }
}

TEST(CampaignPlanFile, ShardsShareWhatIsNotDone) {
    CampaignPlan plan = planned(kSweep);
    for (std::size_t i = 0; i < plan.known.size(); i += 3) plan.known[i] = RunState::done;
    for (const std::uint32_t shards : {1u, 4u, 7u, 1000u}) {
        std::multiset<std::uint32_t> all;
        std::size_t least = ~std::size_t{0}, most = 0;
        for (std::uint32_t i = 0; i < shards; ++i) {
            const std::vector<std::uint32_t> part = plan.shard(i, shards);
            all.insert(part.begin(), part.end());
            least = std::min(least, part.size());
            most = std::max(most, part.size());
        }
        EXPECT_LE(most - least, 1u);
        EXPECT_EQ(all.size(), plan.plan.size() - (plan.plan.size() + 2) / 3);
        EXPECT_EQ(std::set<std::uint32_t>(all.begin(), all.end()).size(), all.size());
    }
}

class CampaignStore : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("mergelane_campaign_" + std::to_string(getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name, std::ios::binary) << text; }
    fs::path folder_;
};

TEST_F(CampaignStore, APlanThatCannotBeReadIsNotCalledMissing) {
    const auto complaint_of = [&] {
        try {
            read_plan(folder_);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(complaint_of().find("has no plan"), std::string::npos) << complaint_of();
    fs::create_symlink(kPlanName, folder_ / kPlanName);  // to itself
    EXPECT_NE(complaint_of().find("cannot be read ("), std::string::npos) << complaint_of();
    fs::remove(folder_ / kPlanName);
    fs::create_directory(folder_ / kPlanName);
    EXPECT_NE(complaint_of().find("is a directory"), std::string::npos) << complaint_of();
    fs::remove(folder_ / kPlanName);
    write(kPlanName, "");
    fs::resize_file(folder_ / kPlanName, (256 << 20) + 1);
    EXPECT_NE(complaint_of().find("has more than 256 MiB"), std::string::npos) << complaint_of();
}

TEST_F(CampaignStore, NamesOfColumnsAreNoStatements) {
    const std::string other = (folder_ / "other.db").string();
    const std::vector<std::string> names = {"x\" INTEGER); ATTACH '" + other + "' AS o; CREATE TABLE o.t (a); --", "\"", "a\"\"b", "';--"};
    std::vector<TableColumn> columns{{"run", "", "", TableColumn::Type::integer}};
    for (const std::string& name : names) columns.push_back({name, "", "", TableColumn::Type::integer});
    const std::vector<TableCell> row(columns.size(), std::uint64_t{7});
    const std::unique_ptr<TableWriter> writer = write_sqlite(folder_ / "runs.db", columns);
    writer->row(row);
    writer->finish();
    EXPECT_FALSE(fs::exists(other));
    EXPECT_TRUE(fs::exists(folder_ / "runs.db"));
    columns.push_back({"RUN", "", "", TableColumn::Type::integer});
    try {
        write_sqlite(folder_ / "runs.db", columns);
        ADD_FAILURE() << "a name stands twice";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("duplicate column name: RUN; the statistics of the store do not fit"), std::string::npos)
            << error.what();
    }
    columns.back() = {std::string("a\0b", 3), "", "", TableColumn::Type::integer};
    EXPECT_THROW(write_sqlite(folder_ / "runs.db", columns), InputError);
}

/// Keeps rows as texts, by column.
class KeptRows final : public TableWriter {
public:
    using Rows = std::vector<std::map<std::string, std::string>>;
    KeptRows(Rows& rows, const std::vector<TableColumn>& columns) : rows_(rows), columns_(columns) { rows_.clear(); }
    void row(std::span<const TableCell> cells) override {
        std::map<std::string, std::string>& row = rows_.emplace_back();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (const auto* integer = std::get_if<std::uint64_t>(&cells[i])) row[columns_[i].name] = std::to_string(*integer);
            if (const auto* real = std::get_if<double>(&cells[i])) row[columns_[i].name] = fmt::format("{}", *real);
            if (const auto* text = std::get_if<std::string_view>(&cells[i])) row[columns_[i].name] = *text;
        }
    }
    void failure(std::uint64_t, std::string_view) override {}
    void finish() override {}

private:
    Rows& rows_;
    const std::vector<TableColumn> columns_;
};

KeptRows::Rows rows_of(const Plan& plan, const fs::path& store, std::size_t& columns) {
    KeptRows::Rows rows;
    write_table(plan, read_index(store), {}, [&](const std::vector<TableColumn>& list) {
        columns = list.size();
        std::vector<std::unique_ptr<TableWriter>> writers;
        writers.push_back(std::make_unique<KeptRows>(rows, list));
        return writers;
    });
    return rows;
}

TEST_F(CampaignStore, TablesTellSampledRunsFromFullOnes) {
    const std::string full = "machines = \"icc60\"\nworkloads = [\"hotspot\"]\nsizes = \"tiny\"\n";
    CampaignPlan plan = planned(full);
    write("1.jsonl", to_line(finished(plan.plan.run(0).key)));
    std::size_t columns = 0;
    KeptRows::Rows rows = rows_of(plan.plan, folder_, columns);
    EXPECT_EQ(columns, first_columns().size() + 1) << "tables of full runs are as they were";

    expand(parse_campaign(full + "[sample]\n", "s.toml"), plan.plan);
    expand(parse_campaign(full + "[sample]\nby = \"pka\"\n", "p.toml"), plan.plan);
    const auto add = [&](std::size_t run, const std::map<std::string, double>& half_widths) {
        RunRecord record = finished(plan.plan.run(run).key, 99);
        record.spec.sample = plan.plan.run(run).spec.sample;
        record.sample = {{{"launches", 76}, {"simulated_launches", 32}}, half_widths};
        write(std::to_string(run) + "s.jsonl", to_line(record));
    };
    add(1, {{"cycles", 1.5}, {"l2.reads", 0}, {"l2.rare", 2}});  // the last one has a column only because of this
    add(2, {});
    rows = rows_of(plan.plan, folder_, columns);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0]["sample"], "");
    for (const char* name : {"sample.launches", "sample.requested_error", "cycles +-", "l2.reads +-"})
        EXPECT_FALSE(rows[0].contains(name)) << name;
    EXPECT_EQ(rows[1]["sample"], "error=0.02 seed=1 by=stratified");
    EXPECT_EQ(rows[1]["sample.requested_error"], "0.02");
    EXPECT_EQ(rows[1]["sample.simulated_launches"], "32");
    EXPECT_EQ(rows[1]["cycles"], "99");
    EXPECT_EQ(rows[1]["cycles +-"], "1.5");
    EXPECT_EQ(rows[1]["l2.reads +-"], "0");
    EXPECT_EQ(rows[1]["l2.rare +-"], "2");
    EXPECT_EQ(rows[2]["sample"], "error=0.02 seed=1 by=pka");
    EXPECT_FALSE(rows[2].contains("cycles +-")) << "the method states no error";
    EXPECT_FALSE(rows[2].contains("sample.requested_error"));
}

TEST_F(CampaignStore, SampledRunsDoNotSayWhatFullOnesCost) {
    const std::string full = "machines = [\"icc60\", \"v100\"]\nworkloads = [\"hotspot\"]\nsizes = \"tiny\"\n";
    CampaignPlan plan = planned(full);
    expand(parse_campaign(full + "[sample]\n", "s.toml"), plan.plan);
    RunRecord record = finished(plan.plan.run(0).key);
    record.seconds = 100;
    write("1.jsonl", to_line(record));
    CampaignCount count = count_runs(plan.plan, read_index(folder_));
    EXPECT_EQ(count.left, 100) << "the full run on the other machine";
    EXPECT_EQ(count.unknown, 2u) << "the sampled ones";
    record = finished(plan.plan.run(2).key);
    record.spec.sample = plan.plan.run(2).spec.sample;
    record.seconds = 7;
    write("2.jsonl", to_line(record));
    count = count_runs(plan.plan, read_index(folder_));
    EXPECT_EQ(count.left, 107);
    EXPECT_EQ(count.unknown, 0u);
}

TEST_F(CampaignStore, WorkOfFinishedRunsIsRemoved) {
    write("1.jsonl", to_line(finished("a")));
    const std::string done = to_hex(key_of("a")), left = to_hex(key_of("b"));
    for (const std::string& key : {done, left, std::string("notes")}) fs::create_directories(folder_ / "unfinished" / key);
    remove_finished_work(folder_, read_index(folder_), true);
    EXPECT_FALSE(fs::exists(folder_ / "unfinished" / done));
    EXPECT_TRUE(fs::exists(folder_ / "unfinished" / left));
    EXPECT_TRUE(fs::exists(folder_ / "unfinished" / "notes"));
    fs::remove(folder_ / "unfinished" / left);
    fs::remove(folder_ / "unfinished" / "notes");
    remove_finished_work(folder_, read_index(folder_), false);
    EXPECT_TRUE(fs::exists(folder_ / "unfinished")) << "a run may be about to use it";
    remove_finished_work(folder_, read_index(folder_), true);
    EXPECT_FALSE(fs::exists(folder_ / "unfinished"));
}

TEST_F(CampaignStore, IndexAndContentsSayTheSame) {
    RunRecord slower = finished("a");
    slower.seconds = 9;
    RunRecord failure = finished("c");
    failure.done = false;
    const std::string torn = to_line(finished("d"));
    write("1.jsonl", to_line(finished("a")) + "garbage\n" + to_line(finished("b")) + to_line(failure));
    write("2.jsonl", to_line(slower) + to_line(finished("b", 101)) + torn.substr(0, torn.size() / 2));
    const StoreIndex index = read_index(folder_);
    const StoreContents contents = read_store(folder_);
    EXPECT_EQ(index.runs.size(), contents.runs.size());
    EXPECT_EQ(index.duplicates, 2u);
    EXPECT_EQ(index.torn, 1u);
    EXPECT_EQ(index.damaged.size(), 1u);
    EXPECT_EQ(index.conflicts, contents.conflicts);
    EXPECT_EQ(index.conflicts.size(), 1u);
    EXPECT_TRUE(index.find(key_of("a"))->done);
    EXPECT_FALSE(index.find(key_of("c"))->done);
    EXPECT_EQ(index.find(key_of("d")), nullptr);
}

TEST_F(CampaignStore, AFlippedBitIsFound) {
    const std::string line = to_line(finished("a"));
    for (std::size_t at = 0; at + 1 < line.size(); at += 3) {
        std::string bad = line;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        if (bad[at] == '\n') continue;
        write("1.jsonl", bad + to_line(finished("b")));
        EXPECT_EQ(read_index(folder_).runs.size(), 1u) << at;
    }
}

TEST_F(CampaignStore, LinesWithoutChecksumsAreDamaged) {
    std::string line = to_line(finished("a"));
    line.erase(line.find(",\"sum\""));
    write("1.jsonl", line + "}\n" + to_line(finished("b")));
    const StoreIndex index = read_index(folder_);
    EXPECT_EQ(index.runs.size(), 1u);
    EXPECT_EQ(index.damaged.size(), 1u);
}

TEST_F(CampaignStore, OfSchema2ItSaysHowToConvert) {
    std::string line = to_line(finished("a"));
    line.replace(line.find("\"schema\":3"), 10, "\"schema\":2");
    write("1.jsonl", to_line(finished("b")) + line);
    const auto complaint = [&] {
        try {
            read_index(folder_);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(complaint().find("mergelane store convert"), std::string::npos) << complaint();
    write("1.jsonl", to_line(finished("b")));
    EXPECT_EQ(complaint(), "");
    write("old.jsonl.xz", "");
    EXPECT_NE(complaint().find("mergelane store convert"), std::string::npos) << complaint();
}

TEST_F(CampaignStore, ShardsDoNotReadEachOther) {
    write("p.s0of2.h.1.0.jsonl", to_line(finished("a")));
    write("p.s1of2.h.1.0.jsonl", to_line(finished("b")));
    write("p.s1of3.h.1.0.jsonl", to_line(finished("c")));
    write("q.s1of2.h.1.0.jsonl", to_line(finished("d")));
    const std::string known = to_line(finished("e"));
    write("old.jsonl", known + to_line(finished("f")));
    const StoreIndex index = read_index(folder_, {{{"old.jsonl", known.size()}}, "p", 0, 2});
    std::set<bool> found;
    for (const char* key : {"a", "c", "d", "f"}) EXPECT_NE(index.find(key_of(key)), nullptr) << key;
    for (const char* key : {"b", "e"}) EXPECT_EQ(index.find(key_of(key)), nullptr) << key;
}

TEST_F(CampaignStore, MergedFilesHoldEachRunOnce) {
    const CampaignPlan plan = planned(kSweep);
    std::string even, odd;
    for (std::size_t i = 0; i < plan.plan.size(); ++i) {
        if (i % 2 == 0 || i == 3) even += to_line(finished(plan.plan.run(i).key, i));
        if (i % 2 == 1) odd += to_line(finished(plan.plan.run(i).key, i));
    }
    write("1.jsonl", even + "{\"torn");
    write("2.jsonl", odd + to_line(finished("of another campaign")));
    const fs::path merged = merge_store(plan.plan, read_index(folder_), folder_);
    StoreIndex index = read_index(folder_);
    EXPECT_EQ(index.runs.size(), plan.plan.size() + 1);
    EXPECT_EQ(index.duplicates, 0u) << "what is merged is not read twice";
    // What comes later is found, and parts can go.
    std::ofstream(folder_ / "2.jsonl", std::ios::app) << to_line(finished("late"));
    EXPECT_EQ(read_index(folder_).runs.size(), plan.plan.size() + 2);
    EXPECT_EQ(read_store(folder_).runs.size(), plan.plan.size() + 2);
    EXPECT_EQ(remove_merged_parts(folder_, index, merged, true), 0u) << "both have more than was merged";
    index = read_index(folder_);
    const fs::path again = merge_store(plan.plan, index, folder_);
    EXPECT_NE(again, merged);
    EXPECT_EQ(remove_merged_parts(folder_, index, again, true), 2u) << "the merged file of before, and 2.jsonl";
    index = read_index(folder_);
    EXPECT_EQ(index.runs.size(), plan.plan.size() + 2);
    EXPECT_EQ(merge_store(plan.plan, index, folder_), again) << "nothing came since";
    LineReader reader(index);
    for (std::size_t i = 0; i < plan.plan.size(); ++i) EXPECT_EQ(from_line(reader.line(*index.find(plan.plan.key(i))))->cycles, i);
}

TEST_F(CampaignStore, PartsStayUnlessTheMergedFileHoldsThem) {
    const CampaignPlan plan = planned(kSweep);
    write("1.jsonl", to_line(finished("a")));
    write("2.jsonl", to_line(finished("b")));
    const StoreIndex index = read_index(folder_);
    const fs::path merged = merge_store(plan.plan, index, folder_);
    const auto replace_by = [&](std::initializer_list<std::string> lines) {
        PackedWriter writer(merged);
        for (const std::string& line : lines) writer.add(line.substr(0, line.find('\n')));
        writer.finish();
    };
    const std::string cover = cover_line(index.read);
    replace_by({cover, to_line(finished("a"))});
    EXPECT_THROW(remove_merged_parts(folder_, index, merged, true), InputError) << "a run is not there";
    replace_by({cover, to_line(finished("a")), to_line(finished("b", 101))});
    EXPECT_THROW(remove_merged_parts(folder_, index, merged, true), InputError) << "another result";
    replace_by({cover, to_line(finished("a")), to_line(finished("b")), "garbage"});
    EXPECT_THROW(remove_merged_parts(folder_, index, merged, true), InputError) << "not a record";
    // Someone's first line says that a part was merged which was not.
    replace_by({cover, to_line(finished("a"))});
    const StoreIndex believed = read_index(folder_);
    EXPECT_EQ(believed.runs.size(), 1u);
    EXPECT_THROW(remove_merged_parts(folder_, believed, merged, true), InputError);
    // Or it was, but with another result than the part has, which only reading the part shows.
    replace_by({cover, to_line(finished("a")), to_line(finished("b", 101))});
    const StoreIndex forged = read_index(folder_);
    EXPECT_TRUE(forged.runs.size() == 2 && forged.conflicts.empty());
    EXPECT_EQ(merge_store(plan.plan, forged, folder_), merged);
    EXPECT_THROW(remove_merged_parts(folder_, forged, merged, true), SimulationError);
    EXPECT_TRUE(fs::exists(folder_ / "1.jsonl") && fs::exists(folder_ / "2.jsonl"));
    replace_by({cover, to_line(finished("a")), to_line(finished("b"))});
    EXPECT_EQ(remove_merged_parts(folder_, index, merged, true), 2u);
    EXPECT_EQ(read_index(folder_).runs.size(), 2u);
}

TEST_F(CampaignStore, APartOnItsWayOutComesBack) {
    write(".removed.1.jsonl", to_line(finished("a")));
    write(".removed.2.jsonl", to_line(finished("b")));
    write("2.jsonl", to_line(finished("c")));
    restore_parts(folder_);
    EXPECT_TRUE(fs::exists(folder_ / "1.jsonl"));
    EXPECT_EQ(read_index(folder_).runs.size(), 3u);
    EXPECT_NE(read_index(folder_).find(key_of("c")), nullptr) << "a file of this name is not replaced";
}

TEST_F(CampaignStore, ACutMergedFileIsAnError) {
    const CampaignPlan plan = planned(kSweep);
    write("1.jsonl", to_line(finished("a")));
    const fs::path merged = merge_store(plan.plan, read_index(folder_), folder_);
    fs::resize_file(merged, fs::file_size(merged) - 5);
    EXPECT_THROW(read_index(folder_), InputError);
}

TEST_F(CampaignStore, AFileThatWasRemovedIsBegunAnew) {
    Store store(folder_);
    store.append(finished("a"));
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    store.append(finished("b"));
    EXPECT_NE(read_store(folder_).finished("b"), nullptr);
}

TEST(CampaignEstimate, ComesFromRunsOfTheSameWorkload) {
    const CampaignPlan plan =
        planned("machines = \"icc60\"\nworkloads = [\"hotspot\", \"bfs\"]\nsizes = [\"tiny\", \"paper\"]\nseeds = \"1-10\"\n");
    StoreIndex index;
    CampaignCount count = count_runs(plan.plan, index);
    EXPECT_EQ(count.missing, 40u);
    EXPECT_EQ(count.unknown, 40u);
    index.runs[plan.plan.key(0)] = {{}, 0, 0, 2.0f, true};
    index.runs[plan.plan.key(1)] = {{}, 0, 0, 4.0f, true};
    count = count_runs(plan.plan, index);
    EXPECT_EQ(count.done, 2u);
    EXPECT_EQ(count.unknown, 20u) << "of size paper nothing ran";
    EXPECT_GT(count.left, 8 * 3.0) << "and bfs by its threads";
}

}  // namespace
}  // namespace mergelane::study
