// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "sim/simulation.hpp"

namespace mergelane::cudart {

namespace {

constexpr int kExitRefused = 2;
constexpr const char* kOneProcess =
    "kernels are launched by several processes of the program, or after its end, but a trace holds one process; record the process that "
    "launches them";

}  // namespace

Recording::Recording(std::string path, std::string program) : path_(std::move(path)), program_(std::move(program)), process_(getpid()) {}

void Recording::begin() {
    // Child processes of the program see the same path; the first one to launch something owns it.
    const int mark = open((path_ + ".begun").c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (mark >= 0) close(mark);
    if (mark < 0 && errno == EEXIST) refuse(kOneProcess);
    tracefile::WriteOptions options;
    options.writer = fmt::format("mergelane {}", version());
    recorder_ = std::make_unique<tracefile::TraceRecorder>(path_, program_, std::move(options));
}

void Recording::add(const KernelSource& kernel) {
    if (finished_ || process_ != getpid()) refuse(kOneProcess);
    try {
        if (recorder_ == nullptr) begin();
        recorder_->add(kernel);
    } catch (const InputError& error) {
        recorder_.reset();
        refuse(error.what());
    }
}

void Recording::finish() {
    finished_ = true;
    if (recorder_ == nullptr) return;
    try {
        recorder_->finish();
    } catch (const InputError& error) {
        leave_note(error.what());
    } catch (const std::bad_alloc&) {
        leave_note("out of memory");
    }
    recorder_.reset();
}

void Recording::leave_note(const std::string& why) const try {
    AtomicFile note(path_ + ".refused", Durability::cached);
    note.write(why);
    note.commit();
} catch (const std::exception&) {
    std::fputs(fmt::format("mergelane: {}\n", why).c_str(), stderr);
}

void Recording::refuse(const std::string& why) const {
    leave_note(why);
    std::fflush(stdout);  // flush the program's output so far
    std::_Exit(kExitRefused);
}

}  // namespace mergelane::cudart
