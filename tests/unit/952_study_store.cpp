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
    r.message = "ended by signal 11";
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
    EXPECT_EQ(failure->message, "ended by signal 11");
    for (const char* other : {"", "{", "{}", "[]", "12", "{\"schema\":99,\"key\":\"k\"}"}) EXPECT_FALSE(from_line(other)) << other;
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
    EXPECT_EQ(contents.duplicates, 0u);
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
        const StoreContents contents = read_store(folder_);
        EXPECT_EQ(contents.runs.size(), 1u);
        EXPECT_EQ(contents.torn, 1u);
        EXPECT_TRUE(contents.damaged.empty());
    }
    write("1.jsonl", whole + next.substr(0, next.size() - 1));
    EXPECT_EQ(read_store(folder_).torn, 1u) << "without its end a line is not trusted";
}

TEST_F(StudyStore, SaysWhichLinesAreDamaged) {
    write("1.jsonl", to_line(finished("a")) + "garbage\n" + to_line(finished("b")));
    const StoreContents contents = read_store(folder_);
    EXPECT_EQ(contents.runs.size(), 2u);
    ASSERT_EQ(contents.damaged.size(), 1u);
    EXPECT_NE(contents.damaged[0].find("1.jsonl:2"), std::string::npos);
}

TEST_F(StudyStore, CountsDuplicatesAndReportsConflicts) {
    write("1.jsonl", to_line(finished("a")) + to_line(finished("b")));
    RunRecord slower = finished("a");
    slower.seconds = 99;  // the host may be slow
    write("2.jsonl", to_line(slower));
    StoreContents contents = read_store(folder_);
    EXPECT_EQ(contents.duplicates, 1u);
    EXPECT_TRUE(contents.conflicts.empty());
    write("3.jsonl", to_line(finished("b", 101)));
    contents = read_store(folder_);
    ASSERT_EQ(contents.conflicts.size(), 1u);
    EXPECT_NE(contents.conflicts[0].find("run b"), std::string::npos);
    EXPECT_NE(contents.conflicts[0].find("3.jsonl:1"), std::string::npos);
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
