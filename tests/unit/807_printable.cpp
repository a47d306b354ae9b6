// SPDX-License-Identifier: MIT
// Texts of files must not control the terminal they are shown on.
#include <gtest/gtest.h>

#include "core/text.hpp"
#include "machines.hpp"
#include "report/report.hpp"
#include "run.hpp"

namespace mergelane {
namespace {

TEST(Printable, TextStays) {
    for (const char* text : {"", "saxpy(float*, int)", "Überlauf, 漢字, \xF0\x9F\x99\x82", "no-break\xC2\xA0space"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAndBrokenUtf8DoNot) {
    EXPECT_EQ(printable("a\x1b[31mb\x7f\n"), "a?[31mb??");
    EXPECT_EQ(printable("\xC2\x9B"
                        "31m"),
              "??31m");  // CSI in one character
    EXPECT_EQ(printable("\x9B"
                        "31m"),
              "?31m");  // or in one byte
    EXPECT_EQ(printable("\xC2"), "?");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Printable, Limit) {
    EXPECT_EQ(printable("12345", 5), "12345");
    EXPECT_EQ(printable("123456", 5), "12345...");
    EXPECT_EQ(printable("1234\xC3\xBC", 5), "1234...");
}

TEST(Printable, KernelNamesAndTitlesInTables) {
    EXPECT_EQ(readable_name("\x1b]0;title\x07"), "?]0;title?");
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 1;
    RunResult result = testing::run_on(testing::icc60_like(1), *make_synthetic("stream", params));
    result.workload = "w\x1b[2J";
    result.kernels.front().name = "k\x1b[2J";
    const std::string text = summary(result);
    EXPECT_NE(text.find("w?[2J"), std::string::npos) << text;
    EXPECT_NE(text.find("kernel k?[2J"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace mergelane
