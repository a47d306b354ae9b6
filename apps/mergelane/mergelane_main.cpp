// SPDX-License-Identifier: MIT
// The command line.
#include <fmt/format.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/model_version.hpp"
#include "core/text.hpp"
#include "exit_codes.hpp"
#include "files/atomic_file.hpp"
#include "interrupt.hpp"
#include "mergelane_main.hpp"
#include "output.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

namespace {

/// The parser only reports that a command is missing; this suggests the one that was probably meant.
std::string unknown_command(CLI::App& app, int argc, char** argv) {
    CLI::App* at = &app;
    for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
        std::vector<std::string_view> known;
        CLI::App* next = nullptr;
        for (CLI::App* command : at->get_subcommands([](CLI::App*) { return true; })) {
            known.push_back(command->get_name());
            if (command->get_name() == argv[i]) next = command;
        }
        const bool takes_files = !at->get_options([](const CLI::Option* option) { return option->get_positional(); }).empty();
        if (known.empty() || (next == nullptr && takes_files)) return "";
        if (next == nullptr) return unknown_word("command", argv[i], known);
        at = next;
    }
    return "";
}

/// A machine's state is tens of megabytes, accessed throughout in every window. Huge pages reduce TLB misses (4 to 17 % less time). The
/// heap is requested as one block, so that they can be used.
void prefer_large_pages() {
#if defined(__GLIBC__)
    constexpr std::size_t kHeap = std::size_t{256} << 20;  // of address space; memory is committed on use
    rlimit limit{};                                        // the block must not take most of a limited address space
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < 8 * kHeap) return;
    constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, kHeap);
    // The next request that does not fit grows the heap by the whole block.
    const std::unique_ptr<char[]> probe(new char[std::size_t{1} << 20]);
    const auto begin = (reinterpret_cast<std::uintptr_t>(probe.get()) + kLargePage - 1) / kLargePage * kLargePage;
    const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) / kLargePage * kLargePage;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advisory: failure changes nothing
#endif
}

/// Version of product and model, and of user additions.
std::string version_text(const Registry& registry) {
    std::string text = fmt::format("mergelane {}, model {}", version(), kModelVersion);
    if (!registry.edition().empty()) text += fmt::format(", with {}", registry.edition());
    return text;
}

/// What CLI11 says of a wrong command line, as an error like all others.
std::string usage_error(const CLI::App*, const CLI::Error& error) {
    const std::string what = error.what();
    return fmt::format(
        "error: {}; {}\n", what,
        what == "--gpu is required" ? "add for example --gpu a100 ('mergelane list gpus' shows all)" : "see --help of the command");
}

/// Options and commands are read, and the command is executed.
int execute(int argc, char** argv, const Registry& registry) {
    CLI::App app{"Mergelane: a cycle-level simulator of the GPU memory path", "mergelane"};
    app.set_version_flag("--version", version_text(registry));
    app.footer(
        "Getting started:\n"
        "  mergelane list gpus                              list GPU presets\n"
        "  mergelane run --gpu icc60 --synthetic stream     simulate a synthetic workload\n"
        "  mergelane describe l1                            describe the configuration keys of the L1\n"
        "Every command has --help with examples.");
    app.require_subcommand(1);
    app.failure_message(usage_error);
    int exit_code = 0;
    ProgramWords program;
    add_run_command(app, exit_code, registry);
    add_cuda_command(app, exit_code);
    add_ptx_command(app, exit_code);
    add_diff_command(app);
    add_trace_command(app, exit_code, registry);
    add_explain_command(app, exit_code, registry, program);
    add_profile_command(app, exit_code, registry);
    add_advise_command(app, exit_code, registry, program);
    add_microbench_command(app, exit_code, registry);
    add_config_commands(app, exit_code, registry);
    add_energy_commands(app, registry);
    add_study_commands(app, exit_code, registry);
    add_campaign_command(app, exit_code, registry);
    add_search_command(app);
    add_store_command(app, exit_code, registry);
    add_bench_command(app, exit_code, registry);
    try {
        if (argc == 3 && argv[1] == study::kChildArgument) {  // one run of a study, see launch/runner.hpp
            fmt::print("{}", study::run_child(argv[2], registry));
            return 0;
        }
        if (const std::string problem = unknown_command(app, argc, argv); !problem.empty()) throw InputError(problem);
        std::vector<std::string> words(argv + 1, argv + argc);
        program = take_program_words(app, words);
        std::reverse(words.begin(), words.end());  // CLI11 expects reverse order
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        // CLI11 handles help and version requests itself (code 0); everything else is invalid input.
        if (app.exit(error) == 0) return 0;
        if (!program.arguments.empty()) tell("Arguments after a program are passed to it; put options of mergelane before the program.");
        return kWrongInput;
    }
    return exit_code;
}

constexpr const char* kOutOfMemory =
    "error: out of memory; use a smaller problem or machine, fewer jobs or threads, or a higher memory limit\n";

/// Libraries allocate in functions that must not throw; then this is the last place to say so.
[[noreturn]] void end_without_memory() {
    try {
        if (std::current_exception() != nullptr) throw;
        // In flight, but not caught: it left a noexcept function of the standard library, where only memory can fail.
        if (std::uncaught_exceptions() != 0) throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        AtomicFile::discard_all();
        std::fputs(kOutOfMemory, stderr);
        std::_Exit(kWrongInput);
    } catch (...) {
    }
    std::abort();
}

/// What a full disk kept from being written is known only now.
void finish_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.flush())
        throw InputError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

/// The exit code of `command`, or that of its failure, which is reported.
template <typename Command>
int exit_code_of(const Command& command) {
    try {
        const int code = command();
        finish_output();
        return code;
    } catch (const Interrupted&) {
        tell("interrupted; no result was written");
        return kInterrupted;
    } catch (const study::ProgramChanged& error) {
        tell(error.what());
        return kProgramChanged;
    } catch (const InputError& error) {
        tell(fmt::format("error: {}", error.what()));
        return kWrongInput;
    } catch (const SimulationError& error) {
        tell(fmt::format("error: {}", error.what()));
        return kRunFailed;
    } catch (const std::bad_alloc&) {
        std::fputs(kOutOfMemory, stderr);
        return kWrongInput;
    } catch (const std::system_error& error) {  // a stream that cannot be written, a thread that cannot be started
        tell(fmt::format("error: {}", error.what()));
        return kWrongInput;
    } catch (const std::exception& error) {
        tell(fmt::format("internal error: {}\nPlease report this with the command line.", error.what()));
        return kInternalError;
    }
}

int start(int argc, char** argv, const Registry& registry) {
    std::set_terminate(end_without_memory);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of writing, in children too
    // No result file may get the number of a standard stream that is closed: messages go there.
    int fd = STDERR_FILENO;
    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDONLY);
    close(fd);
    prefer_large_pages();
    return execute(argc, argv, registry);
}

}  // namespace

int mergelane_main(int argc, char** argv, const Registry& registry) {
    return exit_code_of([&] { return start(argc, argv, registry); });
}
int mergelane_main(int argc, char** argv) {
    return exit_code_of([&] { return start(argc, argv, built_in()); });
}

}  // namespace mergelane
