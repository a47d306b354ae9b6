// SPDX-License-Identifier: MIT
// Files that appear complete or not at all.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "campaign/run_table.hpp"
#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("mergelane_atomic_" + std::to_string(getpid()));
        fs::create_directories(folder_);
        file_ = folder_ / "result.json";
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string text() const {
        std::ifstream in(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }
    /// A temporary that was last touched so long ago.
    fs::path leftover(const std::string& name, std::chrono::minutes age) const {
        const fs::path path = folder_ / name;
        std::ofstream(path) << "half";
        fs::last_write_time(path, fs::file_time_type::clock::now() - age);
        return path;
    }
    fs::path folder_, file_;
};

TEST_F(AtomicFileTest, AppearsWhenCommittedAndReplacesWhatWasThere) {
    std::ofstream(file_) << "before";
    AtomicFile file(file_);
    EXPECT_TRUE(is_temporary(file.temporary()));
    EXPECT_EQ(file.temporary().parent_path(), folder_);
    file.write("af");
    file.write(std::string(200'000, 't'));  // more than any buffer
    file.write("er");
    EXPECT_EQ(file.size(), 200'004u);
    EXPECT_EQ(text(), "before");
    file.commit();
    EXPECT_EQ(text(), "af" + std::string(200'000, 't') + "er");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, AFileThatIsReplacedKeepsItsMode) {
    for (const unsigned mode : {0600u, 0664u, 0444u}) {
        std::ofstream(file_) << "before";
        fs::permissions(file_, fs::perms(mode));
        AtomicFile file(file_);
        EXPECT_EQ(fs::status(file.temporary()).permissions() & fs::perms(~mode & 0077), fs::perms::none);
        file.write("after");
        file.commit();
        EXPECT_EQ(fs::status(file_).permissions(), fs::perms(mode));
        fs::remove(file_);
    }
}

TEST_F(AtomicFileTest, NothingIsLeftWithoutCommit) {
    { AtomicFile(file_).write("x"); }
    EXPECT_EQ(files(), 0u);
    EXPECT_THROW(AtomicFile(folder_ / "no" / "such"), InputError);
    fs::create_directory(file_);
    AtomicFile onto_a_folder(file_);
    EXPECT_THROW(onto_a_folder.commit(), InputError);
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, OfSeveralWhoCommitNewOneWins) {
    AtomicFile first(file_), second(file_);
    first.write("first");
    second.write("second");
    EXPECT_TRUE(second.commit_new());
    EXPECT_FALSE(first.commit_new());
    EXPECT_EQ(text(), "second");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, AFullDiskLeavesTheOldFile) {
    std::ofstream(file_) << "before";
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit little{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &little);
        try {
            AtomicFile file(file_);
            file.write(std::string(5000, 'x'));
            file.commit();
        } catch (const InputError& error) {
            _exit(std::string(error.what()).find("File too large") != std::string::npos ? 7 : 1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(text(), "before");
    EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, AForkedCopyDoesNotRemoveTheFile) {
    AtomicFile file(file_);
    const pid_t child = fork();
    if (child == 0) {
        file.~AtomicFile();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    file.write("whole");
    file.commit();
    EXPECT_EQ(text(), "whole");
}

TEST_F(AtomicFileTest, NothingIsWrittenThroughALinkThatReplacesTheTemporary) {
    std::ofstream(file_) << "mine";
    const fs::path shared = folder_ / "shared", recording = folder_ / "a.recording";
    fs::create_directory(shared);
    std::ofstream(recording) << std::string(5000, 'r');
    std::atomic<bool> end{false};
    std::thread other([&] {  // who replaces every temporary at once
        while (!end) {
            std::error_code gone;
            for (const fs::directory_entry& entry : fs::directory_iterator(shared, gone)) {
                if (!is_temporary(entry.path()) || fs::is_symlink(entry.path(), gone)) continue;
                fs::create_symlink(file_, folder_ / "link", gone);
                fs::rename(folder_ / "link", entry.path(), gone);
            }
        }
    });
    const auto start = std::chrono::steady_clock::now();
    while (text() == "mine" && std::chrono::steady_clock::now() - start < std::chrono::seconds(4)) {
        suite::local_copy(recording, shared);
        fs::remove(shared / "a.recording");
        try {
            study::write_sqlite(shared / "runs.db", {{"run", "", "", study::TableColumn::Type::integer}})->finish();
        } catch (const std::exception&) {  // it may refuse
        }
    }
    end = true;
    other.join();
    EXPECT_TRUE(text() == "mine");
}

TEST_F(AtomicFileTest, TablesAreWrittenToLinkedFolders) {
    fs::create_directory_symlink(folder_, folder_ / "link");
    study::write_sqlite(folder_ / "link" / "runs.db", {{"run", "", "", study::TableColumn::Type::integer}})->finish();
    EXPECT_GT(fs::file_size(folder_ / "runs.db"), 0u);
}

TEST_F(AtomicFileTest, LeftoversOfDeadWritersAreRemoved) {
    AtomicFile alive(file_);
    const std::string ours = alive.temporary().filename().string();
    const std::size_t process = ours.rfind("-" + std::to_string(getpid()) + "-");
    ASSERT_NE(process, std::string::npos);
    const std::string dead = ours.substr(0, process) + "-999999999-0123456789abcdef.unfinished";  // no host has so many processes
    const fs::path gone = leftover(dead, std::chrono::minutes(20));
    const fs::path elsewhere = leftover(".a.another.host-1-0123456789abcdef.unfinished", std::chrono::minutes(20));
    const fs::path forgotten = leftover(".b.another.host-1-0123456789abcdef.unfinished", std::chrono::hours(25));
    fs::last_write_time(alive.temporary(), fs::file_time_type::clock::now() - std::chrono::hours(100));
    EXPECT_EQ(remove_leftovers(folder_), 2u);
    EXPECT_TRUE(!fs::exists(gone) && !fs::exists(forgotten));
    EXPECT_TRUE(fs::exists(alive.temporary()) && fs::exists(elsewhere));
    EXPECT_EQ(remove_leftovers(folder_ / "no such folder"), 0u);
}

TEST_F(AtomicFileTest, FilesOfOthersStayHoweverOldTheyAre) {
    const std::string random = "-0123456789abcdef.unfinished";
    std::vector<fs::path> others;
    for (const std::string& name :
         {std::string("notes.unfinished"), std::string(".thesis.unfinished"), ".draft" + random, ".1" + random, ".a.host-x1" + random,
          ".a.host-1x" + random, ".a.host-" + random, ".a.host-0" + random, ".host-1" + random,
          std::string(".a.host-1-0123456789ABCDEF.unfinished"), std::string(".a.host-1-123456789abcdef.unfinished")})
        others.push_back(leftover(name, std::chrono::hours(100)));
    others.push_back(folder_ / (".folder.host-1" + random));
    fs::create_directory(others.back());
    fs::last_write_time(others.back(), fs::file_time_type::clock::now() - std::chrono::hours(100));
    others.push_back(folder_ / (".link.host-1" + random));
    fs::create_symlink(others.front(), others.back());
    EXPECT_EQ(remove_leftovers(folder_), 0u);
    for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

}  // namespace
}  // namespace mergelane
