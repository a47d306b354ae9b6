// SPDX-License-Identifier: MIT
// `mergelane cuda`: runs an unmodified CUDA program with the replacement runtime library.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.hpp"
#include "core/error.hpp"
#include "cuda_program.hpp"
#include "exit_codes.hpp"
#include "launch/process.hpp"
#include "program_trace.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;
constexpr const char* kDefaultGpu = "v100";

struct CudaArguments {
    CudaSettings settings;
    bool time = false;
};

/// Programs own their standard output, so messages of the recording go to standard error.
int record(const CudaSettings& settings, const std::vector<std::string>& program) {
    if (!settings.trace_file.ends_with(".mlt"))
        throw InputError(fmt::format("'{}' does not end in .mlt, by which trace files are recognised; name it so", settings.trace_file));
    const ProgramEnd end = record_program(program, settings, settings.trace_file, false);
    if (!end.problem.empty()) {
        fmt::print(stderr, "error: no trace was written: {}\n", end.problem);
        return end.exit_code == 0 ? kWrongInput : end.exit_code;
    }
    fmt::print(stderr, "{}: {} launch{}\n", settings.trace_file, end.launches, end.launches == 1 ? "" : "es");
    return end.exit_code;
}

int run(const CudaArguments& arguments, const std::vector<std::string>& program) {
    CudaSettings settings = arguments.settings;
    const bool traced = !settings.trace_file.empty();
    if (program.empty()) throw InputError("nothing to run; name a program, for example mergelane cuda --gpu v100 ./app");
    if (traced && (arguments.time || !settings.json_file.empty()))
        throw InputError(
            fmt::format("--trace records without timing; time the trace afterwards: mergelane run --gpu v100 {}", settings.trace_file));
    if (settings.gpu.empty() && arguments.time) settings.gpu = kDefaultGpu;
    if (settings.gpu.empty() && !settings.json_file.empty())
        throw InputError("--json writes what was timed; add --gpu v100 or another machine");
    if (settings.gpu.empty() && !settings.overrides.empty()) throw InputError("--set changes a machine; add --gpu v100 or another one");
    const fs::path path = find_program(program.front());
    check_program(path);
    if (!settings.json_file.empty() && !std::ofstream(settings.json_file, std::ios::binary))
        throw InputError(
            fmt::format("cannot write '{}'; does its folder exist, may you write there, and is there room?", settings.json_file));
    if (!settings.ptx_folder.empty() && !fs::is_directory(settings.ptx_folder))
        throw InputError(fmt::format("there is no folder '{}' to keep PTX in; make it first", settings.ptx_folder));
    if (traced) return record(settings, program);

    // This process is replaced by the program and takes its exit code and signals.
    prepare_environment(settings);
    execv(path.c_str(), study::argument_list(program).data());
    throw InputError(fmt::format("cannot start '{}': {}; is it executable?", path.string(), std::strerror(errno)));
}

}  // namespace

void add_cuda_command(CLI::App& app, int& exit_code) {
    auto arguments = std::make_shared<CudaArguments>();
    CLI::App* command =
        app.add_subcommand("cuda", "Run a CUDA program, PROGRAM [ARGUMENTS...], without a GPU, and time its kernels on a simulated one");
    CudaSettings& a = arguments->settings;
    command->add_option("-g,--gpu", a.gpu, "time every launch on this machine: a preset name (mergelane list gpus) or a .toml file");
    add_set_option(*command, a.overrides);
    command->add_flag("--time", arguments->time, fmt::format("time the launches also without --gpu, on {}", kDefaultGpu));
    command->add_option("-t,--threads", a.threads, "host threads of the simulation; the result does not depend on it")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command->add_option("--json", a.json_file, "write the whole result as JSON to this file instead of the table");
    command->add_option("--trace", a.trace_file,
                        "record every launch into this trace file (.mlt), untimed, for mergelane run, profile and advise; with --gpu the "
                        "program sees that machine");
    command->add_option("--keep-ptx", a.ptx_folder, "write the program's PTX into this folder; messages name its lines");
    command->prefix_command();
    command->footer(
        "Examples:\n"
        "  nvcc -arch=sm_75 -cudart shared app.cu -o app          what it needs: CUDA 13, the shared runtime, PTX\n"
        "  mergelane cuda ./app                                   its output, no timing\n"
        "  mergelane cuda --gpu v100 --set l1.mshrs=64 ./app 100  and a table of its kernels on standard error\n"
        "  mergelane cuda --gpu v100 --json result.json ./app\n"
        "  mergelane cuda --trace app.mlt ./app                   its launches as a trace: mergelane advise --gpu v100 app.mlt");
    command->callback([arguments, command, &exit_code] { exit_code = run(*arguments, command->remaining()); });
}

}  // namespace mergelane
