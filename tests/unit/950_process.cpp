// SPDX-License-Identifier: MIT
// Processes are started, heard and ended.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "launch/process.hpp"

namespace mergelane::study {
namespace {

TEST(Process, ACommandAnswers) {
    const Answer answer = ask_command({"sh", "-c", "echo said; echo complained >&2; echo; exit 3"}, Complaints::dropped);
    EXPECT_EQ(answer.text, "said");
    EXPECT_EQ(answer.code, 3);
    EXPECT_EQ(ask_command({"sh", "-c", "echo 1; echo 2 >&2"}, Complaints::in_text).text, "1\n2");
    EXPECT_EQ(ask_command({"sh", "-c", "kill -9 $$"}, Complaints::dropped).code, -1);
    EXPECT_EQ(ask_command({"sh", "-c", "head -c 300000 /dev/zero"}, Complaints::dropped).text.size(), 300'000u) << "more than a pipe holds";
    EXPECT_EQ(ask_command({"echo", "two words", "$HOME"}, Complaints::dropped).text, "two words $HOME") << "no shell looks at it";
}

TEST(Process, WhatIsNotThereIsSaid) {
    const Answer answer = ask_command({"no-such-command-anywhere"}, Complaints::dropped);
    EXPECT_EQ(answer.code, 127);
    EXPECT_NE(answer.text.find("no-such-command-anywhere"), std::string::npos);
    EXPECT_THROW(start_process({"/no/such/program", {"program"}}), InputError);
    EXPECT_THROW(ChildProcess("/no/such/program", {}, 1), InputError);
}

TEST(Process, AChildIsHeardAndEndedInTime) {
    ChildProcess quick("/bin/sh", {"-c", "echo out; echo err >&2; exit 4"}, 60);
    while (!quick.ended()) quick.attend();
    EXPECT_EQ(quick.output(), "out\n");
    EXPECT_EQ(quick.complaint(), "err");
    EXPECT_EQ(quick.exit_code(), 4);
    ChildProcess slow("/bin/sh", {"-c", "sleep 100"}, 0.05);
    while (!slow.ended()) {
        slow.attend();
        usleep(1000);
    }
    EXPECT_TRUE(slow.timed_out());
    EXPECT_EQ(slow.signal(), SIGKILL);
}

}  // namespace
}  // namespace mergelane::study
