// SPDX-License-Identifier: MIT
#include "program_trace.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "files/input_file.hpp"
#include "interrupt.hpp"
#include "launch/process.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

/// A new folder `prefix`XXXXXX that is removed with its contents.
class ScratchFolder {
public:
    explicit ScratchFolder(const std::string& prefix) : path_(prefix + "XXXXXX") {
        if (mkdtemp(path_.data()) == nullptr) problem_ = errno;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        if (problem_ == 0) fs::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    int problem() const { return problem_; }  ///< a value of errno
    fs::path operator/(const char* name) const { return fs::path(path_) / name; }

private:
    std::string path_;
    int problem_ = 0;
};

std::atomic<pid_t> running_program{0};
std::atomic<int> passed_signal{0};
std::atomic<bool> program_interrupted{false};

/// The terminal also sends its signals to the program; signals sent to this process alone are forwarded.
void pass_signal_on(int number, siginfo_t* facts, void*) {
    if (number == SIGINT) program_interrupted = true;
    if (facts->si_code > 0) return;  // from the kernel
    passed_signal = number;
    if (const pid_t program = running_program; program > 0) kill(program, number);
}

/// While a program runs, signals that would end this process end the program instead, so that this process can clean up.
class SignalsToProgram {
public:
    SignalsToProgram() {
        running_program = 0;
        passed_signal = 0;
        program_interrupted = false;
        struct sigaction action {};
        action.sa_sigaction = pass_signal_on;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], nullptr, &before_[i]);
            if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
        }
    }
    ~SignalsToProgram() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    }
    SignalsToProgram(const SignalsToProgram&) = delete;
    SignalsToProgram& operator=(const SignalsToProgram&) = delete;

private:
    static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    std::array<struct sigaction, kSignals.size()> before_{};
};

/// The status returned by waitpid.
int run_to_end(const fs::path& path, const std::vector<std::string>& words, bool output_to_stderr) {
    const pid_t process = study::start_process({path, words, -1, output_to_stderr ? STDERR_FILENO : -1, -1, false});
    running_program = process;
    if (const int early = passed_signal; early != 0) kill(process, early);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    running_program = 0;
    return status;
}

/// Why there is no trace in the folder.
std::string why_no_trace(const std::string& trace, const std::string& program, int status) {
    std::string ignored;
    if (const std::optional<std::string> note = read_input(trace + ".refused", 1 << 16, ignored)) return *note;
    if (WIFSIGNALED(status))
        return fmt::format("'{}' was terminated by signal {} ({})", program, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (fs::exists(trace + ".begun"))
        return fmt::format("'{}' ended with exit code {} without calling exit() (for example by _exit); let it return from main", program,
                           WEXITSTATUS(status));
    if (WEXITSTATUS(status) != 0)
        return fmt::format("'{}' ended with exit code {} before it launched a kernel", program, WEXITSTATUS(status));
    return fmt::format("'{}' launched no kernel; check its arguments, and that it is a CUDA program linked with -cudart shared", program);
}

}  // namespace

bool is_program(const std::string& file) {
    std::string ignored;
    const std::optional<std::string> begin = read_input(file, 0, ignored);
    return begin && begin->starts_with("\177ELF");
}

bool names_program(const std::string& word) {
    return word.find('/') != std::string::npos && !is_workload_file(word) && is_program(word);
}

ProgramWords take_program_words(const CLI::App& app, std::vector<std::string>& words) {
    ProgramWords program;
    if (words.empty() || (words.front() != "cuda" && words.front() != "advise" && words.front() != "explain")) return program;
    const bool keep_arguments = words.front() == "cuda";  // its parser stops at the first word that is not an option
    const CLI::App* const command = app.get_subcommand(words.front());
    std::size_t at = 1;
    for (; at < words.size() && words[at].starts_with('-') && !program.marked; ++at) {
        if (words[at] == "--") {
            program.marked = true;
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(at--));
            continue;
        }
        const CLI::Option* const option = command->get_option_no_throw(words[at]);
        if (option != nullptr && option->get_expected_max() > 0) ++at;  // its value
    }
    if (keep_arguments || at >= words.size() || !(program.marked || names_program(words[at]))) return program;
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    program.arguments.assign(first, words.end());
    words.erase(first, words.end());
    return program;
}

ProgramEnd record_program(const std::vector<std::string>& words, CudaSettings settings, const fs::path& file, bool output_to_stderr) {
    const fs::path program = find_program(words.front());
    settings.load_first = check_program(program);
    // 1. A folder next to the file, so that it can be renamed. Permission to create the folder implies permission to create the file.
    if (fs::is_directory(file)) cannot_write(file, EISDIR);
    const ScratchFolder folder(file.string() + ".");
    if (folder.problem() != 0) cannot_write(file, folder.problem());
    const fs::path trace = fs::absolute(folder / "trace.mlt");
    settings.trace_file = trace.string();
    prepare_environment(settings);

    // 2. The program.
    const SignalsToProgram signals;
    const int status = run_to_end(program, words, output_to_stderr);
    ProgramEnd end;
    end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    end.interrupted = program_interrupted;

    // 3. A trace counts if it is complete, there is no message, and no signal came after the end.
    if (WIFSIGNALED(status) || !fs::exists(trace) || fs::exists(trace.string() + ".refused")) {
        end.problem = why_no_trace(trace.string(), words.front(), status);
        return end;
    }
    end.launches = tracefile::TraceFile(trace.string()).index().kernels.size();
    rename_durably(trace, file);
    return end;
}

TemporaryTrace::~TemporaryTrace() {
    if (descriptor_ >= 0) close(descriptor_);
}

void TemporaryTrace::replace_program(WorkloadArguments& workload, const ProgramWords& program, const std::string& gpu,
                                     const std::vector<std::string>& overrides) {
    const bool another = !workload.program.empty() || !workload.synthetic.empty();
    if (workload.file.empty() || another || !(program.marked || names_program(workload.file))) return;
    std::vector<std::string> words = {workload.file};
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());

    catch_interrupts();  // cleanup must also happen between program and advice
    const char* const wanted = std::getenv("TMPDIR");
    const std::string place = wanted == nullptr || *wanted == '\0' ? "/tmp" : wanted;
    const ScratchFolder folder(place + "/mergelane.");
    if (folder.problem() != 0)
        throw InputError(fmt::format("cannot create a temporary trace in '{}' ({}); set TMPDIR to a writable directory", place,
                                     std::strerror(folder.problem())));
    const fs::path trace = folder / "trace.mlt";
    CudaSettings settings;
    settings.gpu = gpu;
    settings.overrides = overrides;
    const ProgramEnd end = record_program(words, settings, trace, true);
    if (end.interrupted) throw Interrupted{};
    if (!end.problem.empty()) throw InputError(end.problem);
    if (end.exit_code != 0)
        throw InputError(fmt::format("'{}' failed with exit code {}; the program must succeed", words.front(), end.exit_code));
    tell("note: the program ran to record its launches; times measured by the program itself are not those of the simulated GPU");
    descriptor_ = open_input(trace);
    workload.recording = descriptor_;
}

}  // namespace mergelane
