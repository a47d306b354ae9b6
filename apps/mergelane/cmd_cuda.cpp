// SPDX-License-Identifier: MIT
// `mergelane cuda`: runs an unmodified CUDA program with the replacement runtime library.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "core/error.hpp"
#include "cuda_program.hpp"
#include "exit_codes.hpp"
#include "files/result_file.hpp"
#include "launch/process.hpp"
#include "output.hpp"
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
        throw InputError(fmt::format("'{}' does not end in .mlt, which marks trace files; add the suffix", settings.trace_file));
    const ProgramEnd end = record_program(program, settings, settings.trace_file, false);
    if (!end.problem.empty()) {
        tell(fmt::format("error: no trace was written: {}", end.problem));
        return end.exit_code == 0 ? kWrongInput : end.exit_code;
    }
    tell(fmt::format("{}: {} launch{}", settings.trace_file, end.launches, end.launches == 1 ? "" : "es"));
    return end.exit_code;
}

int run(const CudaArguments& arguments, const std::vector<std::string>& program) {
    CudaSettings settings = arguments.settings;
    const bool traced = !settings.trace_file.empty();
    if (program.empty()) throw InputError("no program was given; write for example: mergelane cuda --gpu v100 ./app");
    const bool result_wanted = !settings.json_file.empty() || !settings.html_file.empty();
    if (traced && (arguments.time || settings.by_instruction || result_wanted))
        throw InputError(
            fmt::format("--trace records without timing and excludes --time, --by-instruction, --json and --html; simulate the trace "
                        "afterwards: mergelane run --gpu v100 {}",
                        settings.trace_file));
    if (settings.gpu.empty() && arguments.time) settings.gpu = kDefaultGpu;
    if (settings.gpu.empty() && (result_wanted || settings.by_instruction))
        throw InputError(fmt::format("{} requires timing; add --gpu v100 or another GPU", !settings.json_file.empty() ? "--json"
                                                                                          : !settings.html_file.empty()
                                                                                              ? "--html"
                                                                                              : "--by-instruction"));
    if (settings.html_file == "-")
        throw InputError("--html - is not possible here, because programs own their standard output; give a file name");
    if (settings.gpu.empty() && !settings.overrides.empty()) throw InputError("--set requires a GPU; add --gpu v100 or another one");
    const fs::path path = find_program(program.front());
    keep_apart({settings.json_file, settings.html_file, settings.trace_file}, {settings.gpu, path.string()});
    settings.load_first = check_program(path);
    if (!settings.json_file.empty() && settings.json_file != "-") check_result(settings.json_file);
    if (!settings.html_file.empty()) check_result(settings.html_file);
    if (!settings.ptx_folder.empty() && !fs::is_directory(settings.ptx_folder))
        throw InputError(fmt::format("--keep-ptx: no such directory '{}'; create it first", settings.ptx_folder));
    if (traced) return record(settings, program);

    // This process is replaced by the program and takes its exit code and signals.
    prepare_environment(settings);
    execv(path.c_str(), study::argument_list(program).data());
    throw InputError(fmt::format("cannot start '{}': {}; is it executable?", path.string(), std::strerror(errno)));
}

}  // namespace

void add_cuda_command(CLI::App& app, int& exit_code) {
    auto arguments = std::make_shared<CudaArguments>();
    CLI::App* command = app.add_subcommand("cuda", "Run a CUDA program without a GPU, and optionally simulate its kernels");
    CudaSettings& a = arguments->settings;
    command->add_option("-g,--gpu", a.gpu,
                        "GPU to simulate the launches on: preset name (see 'mergelane list gpus') or .toml file (default: launches "
                        "are executed but not timed; see --time)");
    add_set_option(*command, a.overrides);
    command->add_flag("--time", arguments->time, fmt::format("simulate the launches on {} if --gpu is not given", kDefaultGpu));
    add_number_option(*command, "-t,--threads", a.threads, 1, 256, "number of host threads; does not affect the result");
    add_by_instruction_option(*command, a.by_instruction);
    command
        ->add_option("--max-instructions", a.max_instructions,
                     "limit on the warp instructions of a launch, to stop infinite loops; 0: no limit")
        ->capture_default_str();
    command->add_option("--json", a.json_file,
                        "write the full result as JSON to this file instead of printing the table (- for standard output; what the "
                        "program prints then goes to standard error)");
    command->add_option("--html", a.html_file, "write the result as an HTML page that starts with the bottleneck to this file");
    command->add_option("--trace", a.trace_file,
                        "record every launch to this trace file (.mlt) without timing, for mergelane run, profile and advise; with --gpu, "
                        "device queries of the program return the properties of that GPU");
    command->add_option("--keep-ptx", a.ptx_folder,
                        "write the program's PTX to this existing directory; error messages refer to lines of these files");
    command->prefix_command();
    command->footer(
        "The program and its arguments follow the options: mergelane cuda [OPTIONS] PROGRAM [ARGUMENTS...]\n"
        "Examples:\n"
        "  nvcc -arch=sm_75 -cudart shared app.cu -o app          compile first; requires CUDA 13, the shared runtime and embedded PTX\n"
        "  mergelane cuda ./app                                   run without timing\n"
        "  mergelane cuda --gpu v100 --set l1.mshrs=64 ./app 100  print a table of kernels to standard error\n"
        "  mergelane cuda --gpu v100 --json result.json ./app\n"
        "  mergelane cuda --gpu v100 --by-instruction ./app       show which lines wait for memory; compile with -lineinfo\n"
        "  mergelane cuda --gpu v100 --html result.html ./app\n"
        "  mergelane cuda --trace app.mlt ./app                   record a trace, for example for mergelane advise");
    command->callback([arguments, command, &exit_code] { exit_code = run(*arguments, command->remaining()); });
}

}  // namespace mergelane
