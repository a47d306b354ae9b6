// SPDX-License-Identifier: MIT
// One child process: started in a group of its own, its output collected, ended when it takes too long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace mergelane::study {

class ChildProcess {
public:
    /// Throws InputError when it cannot be started.
    ChildProcess(const std::filesystem::path& executable, const std::vector<std::string>& arguments, double timeout_seconds);
    /// Kills it if it still runs.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// To wait on with poll(); -1 once closed.
    int output_fd() const { return fds_[0]; }
    int errors_fd() const { return fds_[1]; }
    /// Takes what there is to read; kills the child if its time is over.
    void attend();
    bool ended() const { return ended_; }

    const std::string& output() const { return text_[0]; }
    bool timed_out() const { return timed_out_; }
    int exit_code() const { return exit_code_; }  ///< -1: ended by a signal
    int signal() const { return signal_; }
    /// What it said when it failed, on one line.
    std::string complaint() const;

private:
    void read_some(int which);

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
