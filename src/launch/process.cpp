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
#include <utility>

#include "core/error.hpp"

extern char** environ;  // NOLINT: POSIX leaves its declaration to us

namespace mergelane::study {

namespace {

constexpr std::size_t kMostText = std::size_t{64} << 20;  ///< output limit of a child

/// The other end of a pipe that a process writes into.
struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() {
        if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("cannot start a process: {}", std::strerror(errno)));
    }
    ~Pipe() {
        for (const int end : ends) {
            if (end >= 0) close(end);
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    /// Of the end to read from, which is then the caller's.
    int release() { return std::exchange(ends[0], -1); }
};

struct File {
    explicit File(int mode) : fd(open("/dev/null", mode | O_CLOEXEC)) {}
    ~File() { close(fd); }
    int fd;
};

/// False when there is nothing more to come now: `fd` is closed at the end.
bool read_more(int& fd, std::string& text) {
    char buffer[65536];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0) {
        if (text.size() < kMostText) text.append(buffer, static_cast<std::size_t>(got));
        return true;
    }
    if (got < 0 && errno == EINTR) return true;
    if (got == 0 || errno != EAGAIN) close(std::exchange(fd, -1));
    return false;
}

}  // namespace

std::vector<char*> argument_list(const std::vector<std::string>& words) {
    std::vector<char*> list;
    list.reserve(words.size() + 1);
    for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
    list.push_back(nullptr);
    return list;
}

pid_t start_process(const ProcessStart& start) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int wanted[] = {start.input, start.output, start.errors};
    for (int fd = 0; fd < 3; ++fd) {
        if (wanted[fd] >= 0) posix_spawn_file_actions_adddup2(&actions, wanted[fd], fd);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (start.own_group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t process = -1;
    const int problem = posix_spawnp(&process, start.executable.c_str(), &actions, &attributes, argument_list(start.words).data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0)
        throw InputError(
            fmt::format("cannot start '{}': {}; check that it is executable", start.executable.string(), std::strerror(problem)));
    return process;
}

Answer ask_command(const std::vector<std::string>& words, Complaints complaints) {
    Pipe pipe;
    const File nowhere(O_WRONLY);
    ProcessStart start{words.front(), words, -1, pipe.ends[1], -1, false};
    if (complaints == Complaints::in_text) start.errors = pipe.ends[1];
    if (complaints == Complaints::dropped) start.errors = nowhere.fd;
    Answer answer;
    pid_t process = -1;
    try {
        process = start_process(start);
    } catch (const InputError& error) {
        return {error.what(), 127};
    }
    close(std::exchange(pipe.ends[1], -1));
    while (pipe.ends[0] >= 0) read_more(pipe.ends[0], answer.text);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) answer.code = WEXITSTATUS(status);
    while (!answer.text.empty() && answer.text.back() == '\n') answer.text.pop_back();
    return answer;
}

ChildProcess::ChildProcess(const std::filesystem::path& executable, const std::vector<std::string>& arguments, double timeout_seconds)
    : deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000))) {
    Pipe out, err;
    const File nothing(O_RDONLY);
    std::vector<std::string> words{executable.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    pid_ = start_process({executable, std::move(words), nothing.fd, out.ends[1], err.ends[1], true});
    fds_[0] = out.release();
    fds_[1] = err.release();
    for (const int fd : fds_) fcntl(fd, F_SETFL, O_NONBLOCK);
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

void ChildProcess::attend() {
    if (ended_) return;
    for (int i = 0; i < 2; ++i) {
        while (fds_[i] >= 0 && read_more(fds_[i], text_[i])) {
        }
    }
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
