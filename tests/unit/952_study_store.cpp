// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.hpp"
#include "runs/store.hpp"

namespace mergelane::study {
namespace {

namespace fs = std::filesystem;

RunRecord finished(const std::string& key, std::uint64_t cycles = 100) {
    RunRecord r;
    r.key = key;
    r.spec = {"icc60", {"l1.ways=2", "a=\"b\""}, "hotspot", "tiny", 7};
    r.done = true;
    r.version = "1";
    r.model = 3;
    r.config_hash = "c";
    r.digest = "d" + std::to_string(cycles);
    r.cycles = cycles;
    r.warp_instructions = 10;
    r.stats = {{"l2.reads", ~std::uint64_t{0}}, {"l2.writes", 0}};
    r.highest = {{"l2.reads", 17}};
    r.kernels = {{"first", 3, 4}, {"second", 5, 6}};
    r.spec.kernels = "2-3";
    r.seconds = 0.5;
    return r;
}

RunRecord failed(const std::string& key) {
    RunRecord r;
    r.key = key;
    r.spec = {"icc60", {}, "hotspot", "tiny", 1};
    r.message = "terminated by signal 11";
    return r;
}

class StudyStore : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("mergelane_store_" + std::to_string(getpid()));
        fs::remove_all(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) {
        fs::create_directories(folder_);
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    fs::path folder_;
};

TEST_F(StudyStore, RecordsComeBackAsTheyWere) {
    const RunRecord record = finished("k");
    const std::string line = to_line(record);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const std::optional<RunRecord> back = from_line(line);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->agrees_with(record));
    EXPECT_EQ(back->spec.overrides, record.spec.overrides);
    EXPECT_EQ(back->spec.seed, 7u);
    EXPECT_EQ(back->model, 3u);
    EXPECT_EQ(back->spec.kernels, "2-3");
    EXPECT_EQ(back->highest, record.highest);
    ASSERT_EQ(back->kernels.size(), 2u);
    EXPECT_EQ(back->kernels[1].name, "second");
    EXPECT_EQ(back->kernels[1].cycles, 5u);
    EXPECT_EQ(back->kernels[1].warp_instructions, 6u);
    EXPECT_EQ(back->kernel_cycles(), 8u) << "without the launch overhead that cycles include";
    RunRecord old = record;
    old.kernels.clear();
    EXPECT_EQ(old.kernel_cycles(), std::nullopt) << "unknown, not zero";
    EXPECT_EQ(back->stat("l2.reads"), ~std::uint64_t{0});
    EXPECT_TRUE(back->has_stat("l2.writes"));
    EXPECT_FALSE(back->has_stat("l2.atomics"));
    try {
        static_cast<void>(back->stat("l2.raeds"));
        FAIL() << "what was not counted is not zero";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("hotspot on icc60: unknown statistic 'l2.raeds'; did you mean 'l2.reads'?"),
                  std::string::npos)
            << error.what();
    }
    EXPECT_EQ(to_line(*back), line);
    const std::optional<RunRecord> failure = from_line(to_line(failed("f")));
    ASSERT_TRUE(failure);
    EXPECT_FALSE(failure->done);
    EXPECT_EQ(failure->message, "terminated by signal 11");
    for (const char* other : {"", "{", "{}", "[]", "12", "{\"schema\":99,\"key\":\"k\"}"}) EXPECT_FALSE(from_line(other)) << other;
}

RunRecord sampled(const std::string& key) {
    RunRecord r = finished(key);
    r.kernels.clear();
    r.spec.sample = "error=0.02 seed=1 by=stratified";
    r.sample.facts = {{"launches", 76}, {"simulated_launches", 32}, {"kernel_cycles", 90}};
    r.sample.half_widths = {{"cycles", 1.25}, {"l2.reads", 0}, {"l2.writes", 1e20}, {"sample.kernel_cycles", 0.5}};
    return r;
}

TEST_F(StudyStore, SampledRunsKeepTheirIntervals) {
    const RunRecord record = sampled("k");
    const std::optional<RunRecord> back = from_line(to_line(record));
    ASSERT_TRUE(back);
    EXPECT_EQ(to_line(*back), to_line(record));
    EXPECT_EQ(back->sample, record.sample);
    EXPECT_EQ(back->spec.sample, record.spec.sample);
    EXPECT_EQ(back->kernel_cycles(), 90u) << "an estimate, as no kernels are listed";
    EXPECT_EQ(back->half_width("cycles"), 1.25);
    EXPECT_EQ(back->half_width("l2.reads"), 0);
    EXPECT_EQ(back->half_width("dram.reads"), std::nullopt) << "unknown, not zero";
    EXPECT_EQ(finished("k").half_width("dram.reads"), 0) << "all launches were simulated";
    RunRecord without = record;  // pka and sieve state no error
    without.sample.half_widths.clear();
    EXPECT_EQ(to_line(from_line(to_line(without)).value()), to_line(without));
    RunRecord failure = failed("f");
    failure.spec.sample = record.spec.sample;
    EXPECT_EQ(to_line(from_line(to_line(failure)).value()), to_line(failure));
}

/// What from_line() makes of a line in which `from` is `to`.
std::optional<RunRecord> changed(const RunRecord& record, const std::string& from, const std::string& to) {
    std::string line = to_line(record);
    line.erase(line.find(",\"sum\":"));
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    line.replace(at, from.size(), to);
    return from_line(line + checksum_member(line));
}

TEST_F(StudyStore, EstimatesAreNotTakenForCounts) {
    const RunRecord record = sampled("k");
    EXPECT_TRUE(changed(record, "\"cycles\":1.25", "\"cycles\":1.5"));
    EXPECT_FALSE(changed(record, ",\"sample\":\"error=0.02 seed=1 by=stratified\"", ""))
        << "as a program that does not know sampled runs reads it";
    EXPECT_FALSE(changed(record, "error=0.02 seed=1 by=stratified", ""));
    for (const char* value : {"-1", "nan", "inf", "\"1\"", "1e999", ""})
        EXPECT_FALSE(changed(record, "\"cycles\":1.25", std::string("\"cycles\":") + value)) << value;
    EXPECT_FALSE(changed(record, "\"launches\":76", "\"launches\":0.5"));
    const std::string full = to_line(finished("k"));
    EXPECT_EQ(full.find("sample"), std::string::npos) << "records of full runs are as they were";
    EXPECT_FALSE(changed(finished("k"), ",\"launched\":", ",\"sampled\":{},\"half_widths\":{},\"launched\":"));
}

TEST_F(StudyStore, AnyTextComesBack) {
    RunRecord record = finished("k");
    const std::string texts[] = {"", "a\"b", "ends in \\", "\\\"", "],[{}", "\n\t\x01", "caf\xc3\xa9", "\",\"seconds\":7"};
    for (const std::string& text : texts) {
        record.spec.gpu = record.spec.workload = record.spec.size = record.version = record.digest = record.kernels[0].name = text;
        record.spec.overrides = {text, "x", text};
        const std::optional<RunRecord> back = from_line(to_line(record));
        ASSERT_TRUE(back) << text;
        EXPECT_EQ(to_line(*back), to_line(record));
        EXPECT_EQ(back->spec.gpu, text);
        EXPECT_EQ(back->spec.overrides[2], text);
        EXPECT_EQ(back->kernels[0].name, text);
        RunRecord failure = failed("f");
        failure.message = text;
        EXPECT_EQ(from_line(to_line(failure))->message, text);
    }
}

TEST_F(StudyStore, OtherLinesAreNoRecordsWhateverTheirChecksum) {
    const std::string line = to_line(finished("k"));
    const std::string body = line.substr(0, line.find(",\"sum\""));
    ASSERT_TRUE(from_line(body + checksum_member(body)));
    for (std::size_t cut = 0; cut < body.size(); cut += 3) {
        const std::string less = body.substr(0, cut) + body.substr(cut + 1);
        const std::string whole = less + checksum_member(less);  // a RecordLine refers to its text
        const std::optional<RecordLine> parsed = RecordLine::parse(whole);
        if (const auto result = parsed ? parsed->result() : std::nullopt)
            RecordLine::each_counter(result->stats, [](std::string_view, std::uint64_t) {});
        EXPECT_FALSE(from_line(body.substr(0, cut) + checksum_member(body.substr(0, cut)))) << cut;
        EXPECT_FALSE(from_line(less + line.substr(body.size()))) << "its checksum is another's";
    }
}

TEST_F(StudyStore, RecordsThatCannotBeDecodedAreDamagedWhateverTheirChecksum) {
    const auto with = [](const RunRecord& record, const std::string& before, const std::string& after) {
        std::string body = to_line(record);
        body.resize(body.find(",\"sum\""));
        const std::size_t at = body.find(before);
        EXPECT_NE(at, std::string::npos) << before;
        body.replace(at, before.size(), after);
        return body + checksum_member(body) + "\n";
    };
    fs::create_directories(folder_);
    std::ofstream(folder_ / "1.jsonl", std::ios::binary)
        << with(finished("a"), "\"gpu\":\"", "\"gpu\":\"\\q") << with(finished("b"), "\"stats\":{", "\"stats\":{garbage,")
        << with(finished("c"), "\"highest\":{", "\"highest\":{garbage,") << with(finished("d"), "\"digest\":\"", "\"digest\":\"\\ud800")
        << with(finished("e"), "\"launched\":[[\"", "\"launched\":[[\"\\q") << with(failed("f"), "\"message\":\"", "\"message\":\"\\x")
        << to_line(finished("g"));
    const StoreIndex index = read_index(folder_);
    EXPECT_EQ(index.damaged.size(), 6u);
    EXPECT_EQ(index.runs.size(), 1u);
    EXPECT_EQ(read_store(folder_).runs.size(), 1u);
    EXPECT_FALSE(covered_files("{\"merged\":[[\"\\q\",1]]}"));
}

TEST_F(StudyStore, PackedFilesAreReadInAnyOrder) {
    for (const auto density : {PackedWriter::Density::quick, PackedWriter::Density::dense}) {
        fs::create_directories(folder_);
        PackedWriter writer(folder_ / "all.jsonl.zst", density);
        for (std::uint64_t i = 0; i < 3000; ++i) {
            const std::string line = to_line(finished("k" + std::to_string(i), i));
            writer.add(std::string_view(line).substr(0, line.size() - 1));
        }
        writer.finish();
        const StoreIndex index = read_index(folder_);
        ASSERT_EQ(index.runs.size(), 3000u);
        LineReader reader(index);
        for (const std::uint64_t i : {2999u, 0u, 1500u, 1u}) {
            const KnownRun* run = index.find(key_of("k" + std::to_string(i)));
            ASSERT_NE(run, nullptr);
            EXPECT_EQ(from_line(reader.line(*run))->cycles, i);
            EXPECT_EQ(RecordFile(folder_ / "all.jsonl.zst").number_of(run->place), i + 1);
        }
        EXPECT_EQ(read_store(folder_).runs.size(), 3000u);
    }
}

TEST_F(StudyStore, KeepsWhatIsAppended) {
    {
        Store store(folder_);
        EXPECT_TRUE(read_store(folder_).runs.empty());
        store.append(finished("a"));
        store.append(failed("b"));
        EXPECT_EQ(read_store(folder_).runs.size(), 2u) << "at once";
    }
    Store again(folder_);
    again.append(finished("b"));
    const StoreContents contents = read_store(folder_);
    EXPECT_EQ(contents.runs.size(), 2u);
    EXPECT_NE(contents.finished("a"), nullptr);
    EXPECT_NE(contents.finished("b"), nullptr) << "a success hides a failure";
    EXPECT_EQ(contents.finished("c"), nullptr);
    EXPECT_EQ(read_index(folder_).duplicates, 0u);
    EXPECT_TRUE(read_store(folder_ / "not there").runs.empty());
}

TEST_F(StudyStore, AFailureNeverHidesASuccess) {
    write("1.jsonl", to_line(finished("a")));
    write("2.jsonl", to_line(failed("a")));
    EXPECT_NE(read_store(folder_).finished("a"), nullptr);
}

TEST_F(StudyStore, DropsATornLastLineWhereverItBreaks) {
    const std::string whole = to_line(finished("a"));
    const std::string next = to_line(finished("b"));
    for (std::size_t cut = 1; cut < next.size(); cut += 13) {
        write("1.jsonl", whole + next.substr(0, cut));
        const StoreIndex index = read_index(folder_);
        EXPECT_EQ(index.runs.size(), 1u);
        EXPECT_EQ(index.torn, 1u);
        EXPECT_TRUE(index.damaged.empty());
    }
    write("1.jsonl", whole + next.substr(0, next.size() - 1));
    EXPECT_EQ(read_index(folder_).torn, 1u) << "without its end a line is not trusted";
}

TEST_F(StudyStore, SaysWhichLinesAreDamaged) {
    write("1.jsonl", to_line(finished("a")) + "garbage\n" + to_line(finished("b")));
    const StoreIndex index = read_index(folder_);
    EXPECT_EQ(index.runs.size(), 2u);
    ASSERT_EQ(index.damaged.size(), 1u);
    EXPECT_NE(index.damaged.kept()[0].find("1.jsonl:2"), std::string::npos);
}

TEST_F(StudyStore, CountsDuplicatesAndReportsConflicts) {
    write("1.jsonl", to_line(finished("a")) + to_line(finished("b")));
    RunRecord slower = finished("a");
    slower.seconds = 99;  // the host may be slow
    write("2.jsonl", to_line(slower));
    StoreIndex index = read_index(folder_);
    EXPECT_EQ(index.duplicates, 1u);
    EXPECT_TRUE(index.conflicts.empty());
    write("3.jsonl", to_line(finished("x")) + to_line(finished("b", 101)));
    index = read_index(folder_);
    ASSERT_EQ(index.conflicts.size(), 1u);
    for (const char* part : {"run b", "digest d100, 100 cycles (1.jsonl:2)", "digest d101, 101 cycles (3.jsonl:2)"})
        EXPECT_NE(index.conflicts[0].find(part), std::string::npos) << index.conflicts[0];
    EXPECT_EQ(read_store(folder_).conflicts, index.conflicts) << "one rule for all who read";
    RunRecord one_counter = finished("c");
    write("4.jsonl", to_line(one_counter));
    one_counter.stats["l2.writes"] = 1;
    write("5.jsonl", to_line(one_counter));
    EXPECT_EQ(read_store(folder_).conflicts.size(), 2u);
}

TEST_F(StudyStore, AnyNumberOfProcessesMayWrite) {
    Store first(folder_), second(folder_);
    first.append(finished("a"));
    second.append(finished("b"));
    first.append(finished("c"));
    EXPECT_EQ(read_store(folder_).runs.size(), 3u);
}

}  // namespace
}  // namespace mergelane::study
