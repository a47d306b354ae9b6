// SPDX-License-Identifier: MIT
// Child processes: one way to start them, and two ways to wait for them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mergelane::study {

/// Argument array for execv(); valid as long as `words` is.
std::vector<char*> argument_list(const std::vector<std::string>& words);

/// How to start a process. Descriptors below 0 are inherited from this process.
struct ProcessStart {
    std::filesystem::path executable;  ///< searched in PATH if it contains no slash
    std::vector<std::string> words;    ///< its arguments, its own name first
    int input = -1, output = -1, errors = -1;
    bool own_group = false;  ///< and with no signal blocked, and ended by SIGINT
};
/// Throws InputError when it cannot be started.
pid_t start_process(const ProcessStart& start);

/// Output and exit code of a command.
struct Answer {
    std::string text;  ///< without the last line breaks
    int code = -1;     ///< -1: terminated by a signal; 127: command not found
};
enum class Complaints { shown, dropped, in_text };
/// Runs a command, searched in PATH, and waits for it.
Answer ask_command(const std::vector<std::string>& words, Complaints complaints);

/// A process in its own group, with collected output and a time limit.
class ChildProcess {
public:
    /// Throws InputError when it cannot be started.
    ChildProcess(const std::filesystem::path& executable, const std::vector<std::string>& arguments, double timeout_seconds);
    /// Kills it if it still runs.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Of its output and its errors, to wait on with poll(); -1 once closed.
    std::span<const int> fds() const { return fds_; }
    /// Takes what there is to read; kills the child if its time is over.
    void attend();
    bool ended() const { return ended_; }

    const std::string& output() const { return text_[0]; }
    bool timed_out() const { return timed_out_; }
    int exit_code() const { return exit_code_; }  ///< -1: ended by a signal
    int signal() const { return signal_; }
    /// Its error message, on one line.
    std::string complaint() const;

private:
    pid_t pid_ = -1;
    int fds_[2] = {-1, -1};
    std::string text_[2];
    std::chrono::steady_clock::time_point deadline_;
    bool timed_out_ = false;
    bool ended_ = false;
    int exit_code_ = -1;
    int signal_ = 0;
};

}  // namespace mergelane::study
