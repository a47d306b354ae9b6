// SPDX-License-Identifier: MIT
#include "launch/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.hpp"

extern char** environ;  // NOLINT: POSIX leaves its declaration to us

namespace mergelane::study {

namespace {
constexpr std::size_t kMostText = std::size_t{64} << 20;  ///< a child that says more than this is not heard
}

ChildProcess::ChildProcess(const std::filesystem::path& executable, const std::vector<std::string>& arguments, double timeout_seconds)
    : deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000))) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        throw InputError(fmt::format("cannot start a simulation: {}", std::strerror(errno)));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    std::vector<std::string> words = arguments;
    std::vector<char*> argv;
    std::string name = executable.string();
    argv.push_back(name.data());
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int problem = posix_spawn(&pid_, name.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    fds_[0] = out[0];
    fds_[1] = err[0];
    for (const int fd : fds_) fcntl(fd, F_SETFL, O_NONBLOCK);
    if (problem != 0) {
        close(fds_[0]);
        close(fds_[1]);
        throw InputError(fmt::format("cannot start '{}': {}", name, std::strerror(problem)));
    }
}

ChildProcess::~ChildProcess() {
    if (!ended_) {
        kill(-pid_, SIGKILL);
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    for (const int fd : fds_) {
        if (fd >= 0) close(fd);
    }
}

void ChildProcess::read_some(int which) {
    char buffer[65536];
    while (fds_[which] >= 0) {
        const ssize_t got = read(fds_[which], buffer, sizeof buffer);
        if (got > 0) {
            if (text_[which].size() < kMostText) text_[which].append(buffer, static_cast<std::size_t>(got));
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else {
            close(fds_[which]);
            fds_[which] = -1;
        }
    }
}

void ChildProcess::attend() {
    if (ended_) return;
    read_some(0);
    read_some(1);
    int status = 0;
    const bool silent = fds_[0] < 0 && fds_[1] < 0;
    if (!silent || waitpid(pid_, &status, WNOHANG) != pid_) {
        if (!timed_out_ && std::chrono::steady_clock::now() >= deadline_) {
            timed_out_ = true;
            kill(-pid_, SIGKILL);
            kill(pid_, SIGKILL);
        }
        return;
    }
    ended_ = true;
    if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
}

std::string ChildProcess::complaint() const {
    std::string text = text_[1];
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    constexpr std::size_t kEnough = 2000;
    if (text.size() > kEnough) text.resize(kEnough);
    return text;
}

}  // namespace mergelane::study
