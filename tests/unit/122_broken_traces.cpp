// SPDX-License-Identifier: MIT
// Every malformed trace in tests/traces/broken is rejected with its message in expected.txt: where, what and, if possible, what to do. The
// command's exit code, time and memory are checked in tests/cli.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/error.hpp"
#include "traces.hpp"

namespace mergelane::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kBroken = fs::path(MERGELANE_SOURCE_DIR) / "tests/traces/broken";

/// File name -> message without folders.
std::map<std::string, std::string> expectations() {
    std::map<std::string, std::string> list;
    std::ifstream file(kBroken / "../expected.txt");
    for (std::string line; std::getline(file, line);) {
        const std::size_t end = line.find(": ");
        if (end != std::string::npos) list[line.substr(0, end)] = line.substr(end + 2);
    }
    return list;
}

/// Reads everything there is; returns what it was refused with, without the corpus' folder.
std::string refusal(const std::string& path) {
    try {
        const auto workload = accelsim::open_trace(path, {});
        while (const KernelSource* kernel = workload->next_kernel()) read_kernel(*kernel);
    } catch (const InputError& error) {
        std::string message = error.what();
        const std::string folder = kBroken.string() + "/";
        for (std::size_t at; (at = message.find(folder)) != std::string::npos;) message.erase(at, folder.size());
        return message;
    }
    return {};
}

bool is_case(const fs::path& path) {
    return std::isdigit(static_cast<unsigned char>(path.filename().string().front())) != 0;
}

TEST(BrokenTraces, CorpusAndExpectationsMatch) {
    std::map<std::string, std::string> expected = expectations();
    EXPECT_GE(expected.size(), 55u);
    for (const auto& entry : fs::directory_iterator(kBroken)) {
        if (!is_case(entry.path())) continue;
        const std::string name = entry.path().filename().string();
        EXPECT_EQ(expected.erase(name), 1u) << name << " is not in expected.txt; it is refused with\n"
                                            << name << ": " << refusal(entry.path().string());
    }
    for (const auto& [name, text] : expected) ADD_FAILURE() << name << " has no file";
}

TEST(BrokenTraces, AreRefusedInOneSentenceWithPlaceAndCause) {
    for (const auto& [name, text] : expectations()) {
        const std::string message = refusal((kBroken / name).string());
        EXPECT_EQ(message, text) << name;
        EXPECT_EQ(message.find('\n'), std::string::npos) << name;
        EXPECT_LT(message.size(), 400u) << name;
        for (const char c : message) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20) << name << " shows control characters";
        // "FILE:LINE: " in front; the trace of a list is named itself.
        const std::size_t colon = message.find(':');
        ASSERT_NE(colon, std::string::npos) << name;
        const std::size_t end = message.find_first_not_of("0123456789", colon + 1);
        EXPECT_TRUE(end != std::string::npos && end > colon + 1 && message.compare(end, 2, ": ") == 0) << message;
    }
}

TEST(BrokenTraces, MissingFilesAndDirectories) {
    EXPECT_NE(refusal("no/such/kernelslist.g").find("no such file; check the path"), std::string::npos);
    EXPECT_NE(refusal("no/such/kernel-1.traceg").find("no such file; check the path"), std::string::npos);
    EXPECT_NE(refusal(kBroken.string()).find("is a directory; give a file in it"), std::string::npos);
    EXPECT_NE(refusal((kBroken / "kernel-folder.traceg").string()).find("is a directory"), std::string::npos);
    EXPECT_NE(refusal("/dev/null").find("is not a regular file"), std::string::npos);
    EXPECT_NE(refusal("").find("no such file"), std::string::npos);
    EXPECT_NE(refusal(std::string(100'000, 'x')).find("cannot be read (File name too long)"), std::string::npos);
    EXPECT_NE(refusal(std::string(100'000, 'x') + ".traceg").find("cannot be read (File name too long)"), std::string::npos);
}

TEST(BrokenTraces, NoTemporaryFolder) {
    const char* const before = ::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", "/no/such/folder", 1);
    const std::string message = refusal((kBroken / "136-xz-broken-text.traceg.xz").string());
    if (before == nullptr)
        ::unsetenv("TMPDIR");
    else
        ::setenv("TMPDIR", kept.c_str(), 1);
    EXPECT_NE(message.find("set TMPDIR to one"), std::string::npos) << message;
}

/// One place of the program with ever new instructions would make every search longer than the one before.
TEST(BrokenTraces, EndlesslyManyInstructionsOfOnePlaceAreRefused) {
    std::vector<std::string> lines;
    for (int i = 0; i < 3000; ++i) lines.push_back("0010 ffffffff 0 FADD.X" + std::to_string(i) + " 0 0 0");
    const std::string message = refusal(TraceText().cta("0,0,0", {lines}).write("kernel-places.traceg"));
    EXPECT_NE(message.find("more than 1024 different instructions at one place of the program; is the file damaged?"), std::string::npos)
        << message;
}

TEST(BrokenTraces, ThePipeIsNotWaitedFor) {
    const std::string path = write_temporary("unused", "") + "-pipe.traceg";
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_NE(refusal(path).find("is not a regular file"), std::string::npos);
    fs::remove(path);
}

}  // namespace
}  // namespace mergelane::testing
