// SPDX-License-Identifier: MIT
// Every invalid configuration in tests/config/broken is rejected with a message that says where, what and what to do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "config/config.hpp"
#include "core/error.hpp"

namespace mergelane {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = MERGELANE_SOURCE_DIR;
const std::vector<fs::path> kPresets = {kSource / "gpus"};

std::map<std::string, std::string> expectations() {
    std::map<std::string, std::string> list;
    std::ifstream file(kSource / "tests/config/expected.txt");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) list[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return list;
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::vector<std::string> lines;
    std::ifstream file(path, std::ios::binary);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

std::string refusal(const std::string& gpu, const std::vector<std::string>& overrides) {
    try {
        load_config(gpu, overrides, kPresets);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

/// Messages are "place: cause; remedy"; a word that is not known is answered with those that are.
bool has_remedy(const std::string& message) {
    return message.find("; ") != std::string::npos || message.find(": raise ") != std::string::npos ||
           message.find("known: ") != std::string::npos;
}

/// "NAME.toml:LINE: " somewhere in the message.
bool names_line(const std::string& message) {
    for (std::size_t at = message.find(".toml:"); at != std::string::npos; at = message.find(".toml:", at + 1)) {
        const std::size_t digits = message.find_first_not_of("0123456789", at + 6);
        if (digits != std::string::npos && digits > at + 6 && message[digits] == ':') return true;
    }
    return false;
}

std::string write_file(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(testing::TempDir()) / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
}

TEST(BrokenConfigs, CorpusAndExpectationsMatch) {
    std::map<std::string, std::string> expected = expectations();
    EXPECT_GE(expected.size(), 45u);
    for (const auto& entry : fs::directory_iterator(kSource / "tests/config/broken")) {
        EXPECT_EQ(expected.erase(entry.path().stem().string()), 1u) << entry.path() << " is not in expected.txt";
    }
    for (const auto& [name, text] : expected) ADD_FAILURE() << name << " has no file";
}

TEST(BrokenConfigs, FilesAreRefusedWithPlaceCauseAndRemedy) {
    for (const auto& [name, text] : expectations()) {
        const fs::path path = kSource / "tests/config/broken" / (name + ".toml");
        if (!fs::exists(path)) continue;
        const std::string message = refusal(path.string(), {});
        ASSERT_FALSE(message.empty()) << name << " was accepted";
        EXPECT_NE(message.find(text), std::string::npos) << name << ": " << message;
        EXPECT_TRUE(names_line(message)) << name << ": " << message;
        EXPECT_TRUE(has_remedy(message)) << name << ": " << message;
        EXPECT_LT(message.size(), 2000u) << name;
        // A problem of a base is reported at the base.
        const bool of_a_base = name.find("-base-") != std::string::npos;
        EXPECT_TRUE(of_a_base || message.find(name + ".toml:") != std::string::npos) << message;
    }
}

TEST(BrokenConfigs, OverridesAreRefusedWithPlaceCauseAndRemedy) {
    for (const auto& [name, text] : expectations()) {
        const fs::path path = kSource / "tests/config/broken" / (name + ".args");
        if (!fs::exists(path)) continue;
        const std::string message = refusal("icc60", lines_of(path));
        ASSERT_FALSE(message.empty()) << name << " was accepted";
        EXPECT_NE(message.find(text), std::string::npos) << name << ": " << message;
        EXPECT_EQ(message.find("--set "), 0u) << name << ": " << message;
        EXPECT_TRUE(has_remedy(message)) << name << ": " << message;
        EXPECT_LT(message.size(), 2000u) << name;
    }
}

TEST(BrokenConfigs, LineIsTheOneOfTheValue) {
    const std::string message = refusal(write_file("line.toml", "# one\n[l1]\n\nsize_kib = 0 # four\n"), {});
    EXPECT_NE(message.find("line.toml:4: "), std::string::npos) << message;
}

TEST(BrokenConfigs, AllProblemsOfAnInputAreReportedTogether) {
    const std::vector<std::string> overrides = {"noc.flits=3"};
    const std::string message = refusal(write_file("several.toml", "[l1]\nsize_kib = 0\nways = \"4\"\n[sm]\nwraps = 3\n"), overrides);
    for (const char* part : {"several.toml:2: ", "several.toml:3: ", "several.toml:5: ", "--set noc.flits=3: "}) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
}

TEST(BrokenConfigs, HugeFileIsRefused) {
    std::string text;
    while (text.size() <= (1u << 20)) text += "# padding that makes the file larger than any configuration\n";
    const std::string message = refusal(write_file("huge.toml", text), {});
    EXPECT_NE(message.find("larger than 1 MiB"), std::string::npos) << message;
}

TEST(BrokenConfigs, ManyUnknownKeysAreCheap) {
    std::string text = "[l1]\n";
    for (int i = 0; text.size() < 1'000'000; ++i) text += "k" + std::to_string(i) + "=1\n";
    EXPECT_LT(refusal(write_file("many.toml", text), {}).size(), 2000u);
}

TEST(BrokenConfigs, DirectoryMissingFileAndEmptyNameAreRefused) {
    EXPECT_NE(refusal(testing::TempDir(), {}).find("is a directory"), std::string::npos);
    EXPECT_NE(refusal("no/such/file.toml", {}).find("no such file"), std::string::npos);
    EXPECT_NE(refusal("", {}).find("unknown GPU"), std::string::npos);
    EXPECT_NE(refusal(std::string(100'000, 'x'), {}).find("unknown GPU"), std::string::npos);
    EXPECT_NE(refusal(std::string(100'000, 'x') + ".toml", {}).find("cannot be read"), std::string::npos);
}

TEST(BrokenConfigs, DeepAndWideBasesAreRefused) {
    for (int i = 0; i < 12; ++i) write_file("deep" + std::to_string(i) + ".toml", "base = \"deep" + std::to_string(i + 1) + ".toml\"\n");
    const std::string deep = refusal((fs::path(testing::TempDir()) / "deep0.toml").string(), {});
    EXPECT_NE(deep.find("nested more than 8 deep"), std::string::npos) << deep;
    // Each file twice names the next: two to the eighth power of files, were it not limited.
    for (int i = 0; i < 8; ++i) {
        const std::string next =
            i == 7 ? "" : "base = [\"wide" + std::to_string(i + 1) + ".toml\", \"wide" + std::to_string(i + 1) + ".toml\"]\n";
        write_file("wide" + std::to_string(i) + ".toml", next);
    }
    const std::string wide = refusal((fs::path(testing::TempDir()) / "wide0.toml").string(), {});
    EXPECT_NE(wide.find("more than 64 files"), std::string::npos) << wide;
}

}  // namespace
}  // namespace mergelane
