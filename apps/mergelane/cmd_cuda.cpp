// SPDX-License-Identifier: MIT
// `mergelane cuda`: starts an unmodified CUDA program with the replacement runtime library in front of the real one.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "workload/cuda/program_file.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;
constexpr const char* kLibrary = "libcudart.so.13";
constexpr const char* kDefaultGpu = "v100";

struct CudaArguments {
    std::string gpu;
    std::vector<std::string> overrides;
    bool time = false;
    std::uint32_t threads = 1;
    std::string json_file;
    std::string ptx_folder;
};

/// As the shell finds a command.
fs::path find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    std::error_code ignored;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
        if (fs::is_regular_file(candidate, ignored) && access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    throw InputError(fmt::format("there is no program '{}'; for one in this folder write ./{}", name, name));
}

void check_program(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw InputError(fmt::format("cannot read '{}': {}; check its name", path.string(), std::strerror(errno)));
    struct stat facts {};
    void* content = MAP_FAILED;
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0)
        content = mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (content == MAP_FAILED) throw InputError(fmt::format("'{}' is not a program; name an executable file", path.string()));
    const std::size_t size = static_cast<std::size_t>(facts.st_size);
    const std::string problem = cuda::why_not(cuda::inspect_program({static_cast<const std::byte*>(content), size}), path.string());
    munmap(content, size);
    if (!problem.empty()) throw InputError(problem);
}

/// The folder of the replacement: next to this command (as built) or ../lib/mergelane (as installed).
fs::path library_folder() {
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& folder : {here, here / ".." / "lib" / "mergelane"}) {
        if (fs::exists(folder / kLibrary, error)) return fs::canonical(folder);
    }
    throw InputError(
        fmt::format("{} is neither in '{}' nor in ../lib/mergelane; build or install Mergelane again", kLibrary, here.string()));
}

void pass_on(const char* name, const std::string& value) {
    if (value.empty()) {
        unsetenv(name);
    } else {
        setenv(name, value.c_str(), 1);
    }
}

int run(const CudaArguments& arguments, const std::vector<std::string>& program) {
    if (program.empty()) throw InputError("nothing to run; name a program, for example mergelane cuda --gpu v100 ./app");
    std::string gpu = arguments.gpu;
    if (gpu.empty() && arguments.time) gpu = kDefaultGpu;
    if (gpu.empty() && !arguments.json_file.empty()) throw InputError("--json writes what was timed; add --gpu v100 or another machine");
    if (gpu.empty() && !arguments.overrides.empty()) throw InputError("--set changes a machine; add --gpu v100 or another one");
    const fs::path path = find_program(program.front());
    check_program(path);

    // 1. What the program's process is to know; it finds neither our presets nor our current folder by itself.
    std::string presets;
    std::string overrides;
    if (!gpu.empty()) {
        const std::vector<fs::path> folders = default_preset_dirs();
        load_config(gpu, arguments.overrides, folders);  // says now what is wrong with it
        for (const fs::path& folder : folders) presets += fs::absolute(folder).string() + "\n";
        for (const std::string& assignment : arguments.overrides) overrides += assignment + "\n";
        if (gpu.ends_with(".toml") || gpu.find('/') != std::string::npos) gpu = fs::absolute(gpu).string();
    }
    if (!arguments.json_file.empty() && !std::ofstream(arguments.json_file, std::ios::binary))
        throw InputError(
            fmt::format("cannot write '{}'; does its folder exist, may you write there, and is there room?", arguments.json_file));
    if (!arguments.ptx_folder.empty() && !fs::is_directory(arguments.ptx_folder))
        throw InputError(fmt::format("there is no folder '{}' to keep PTX in; make it first", arguments.ptx_folder));
    pass_on("MERGELANE_CUDA_GPU", gpu);
    pass_on("MERGELANE_CUDA_PRESETS", presets);
    pass_on("MERGELANE_CUDA_SET", overrides);
    pass_on("MERGELANE_CUDA_THREADS", std::to_string(arguments.threads));
    pass_on("MERGELANE_CUDA_JSON", arguments.json_file.empty() ? "" : fs::absolute(arguments.json_file).string());
    pass_on("MERGELANE_CUDA_KEEP_PTX", arguments.ptx_folder.empty() ? "" : fs::absolute(arguments.ptx_folder).string());

    // 2. The replacement comes first; then this process becomes the program, with its exit code and its signals.
    const char* const known = std::getenv("LD_LIBRARY_PATH");
    const std::string rest = known == nullptr || *known == '\0' ? "" : std::string(":") + known;
    pass_on("LD_LIBRARY_PATH", library_folder().string() + rest);
    std::vector<char*> list;
    for (const std::string& argument : program) list.push_back(const_cast<char*>(argument.c_str()));
    list.push_back(nullptr);
    execv(path.c_str(), list.data());
    throw InputError(fmt::format("cannot start '{}': {}; is it executable?", path.string(), std::strerror(errno)));
}

}  // namespace

void add_cuda_command(CLI::App& app, int& exit_code) {
    auto arguments = std::make_shared<CudaArguments>();
    CLI::App* command =
        app.add_subcommand("cuda", "Run a CUDA program, PROGRAM [ARGUMENTS...], without a GPU, and time its kernels on a simulated one");
    CudaArguments& a = *arguments;
    command->add_option("-g,--gpu", a.gpu, "time every launch on this machine: a preset name (mergelane list gpus) or a .toml file");
    command->add_option("--set", a.overrides, "change one configuration value, key=value; may be repeated")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);  // the next word is the program
    command->add_flag("--time", a.time, fmt::format("time the launches also without --gpu, on {}", kDefaultGpu));
    command->add_option("-t,--threads", a.threads, "host threads of the simulation; the result does not depend on it")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command->add_option("--json", a.json_file, "write the whole result as JSON to this file instead of the table");
    command->add_option("--keep-ptx", a.ptx_folder, "write the program's PTX into this folder; messages name its lines");
    command->prefix_command();
    command->footer(
        "Examples:\n"
        "  nvcc -arch=sm_75 -cudart shared app.cu -o app          what it needs: CUDA 13, the shared runtime, PTX\n"
        "  mergelane cuda ./app                                   its output, no timing\n"
        "  mergelane cuda --gpu v100 --set l1.mshrs=64 ./app 100  and a table of its kernels on standard error\n"
        "  mergelane cuda --gpu v100 --json result.json ./app");
    command->callback([arguments, command, &exit_code] { exit_code = run(*arguments, command->remaining()); });
}

void drop_program_mark(const CLI::App& app, std::vector<std::string>& words) {
    if (words.empty() || words.front() != "cuda") return;
    const CLI::App* const command = app.get_subcommand("cuda");
    for (std::size_t i = 1; i < words.size() && words[i].starts_with('-'); ++i) {
        if (words[i] == "--") {
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
        const CLI::Option* const option = command->get_option_no_throw(words[i]);
        if (option != nullptr && option->get_expected_max() > 0) ++i;  // its value
    }
}

}  // namespace mergelane
