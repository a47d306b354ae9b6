// SPDX-License-Identifier: MIT
#include "cuda_program.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <sstream>

#include "config/config.hpp"
#include "core/error.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"
#include "workload/cuda/program_file.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;
constexpr const char* kLibrary = "libcudart.so.13";

/// A folder in which the library has all of its names: this one, or, as a Python wheel cannot hold links, one of links in the cache. The
/// loader looks for the libraries that ours needs where the link is, so those that a wheel brings have links there, too.
fs::path with_all_names(const fs::path& folder) {
    std::istringstream names(MERGELANE_CUDA_NAMES);
    std::vector<std::string> all{std::istream_iterator<std::string>(names), {}};
    std::error_code error;
    if (fs::exists(folder / all.front(), error)) return folder;
    all.emplace_back(kLibrary);
    const fs::path cache = suite::default_cache_dir();
    if (cache.empty()) throw InputError("there is no place for links to the CUDA library; set MERGELANE_CACHE to a folder");
    const fs::path links = cache / fmt::format("cuda-{:016x}", std::hash<std::string>()(folder.string()));
    fs::create_directories(links, error);
    std::map<std::string, fs::path> targets;
    for (const fs::path& file : entries_of(folder)) targets[file.filename().string()] = file;
    for (const std::string& name : all) targets[name] = folder / kLibrary;
    for (const auto& [name, target] : targets) {
        if (fs::read_symlink(links / name, error) == target) continue;
        // Renamed into place, because other processes may be doing the same.
        const fs::path temporary = links / fmt::format("{}.{}", name, getpid());
        fs::create_symlink(target, temporary, error);
        if (!error) fs::rename(temporary, links / name, error);
        if (error)
            throw InputError(fmt::format("cannot create '{}': {}; set MERGELANE_CACHE to a folder that can be written",
                                         (links / name).string(), error.message()));
    }
    return links;
}

/// The folder of the replacement library: next to this command (build tree) or ../lib/mergelane (installed).
fs::path library_folder() {
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& folder : {here, here / ".." / "lib" / "mergelane"}) {
        if (fs::exists(folder / kLibrary, error)) return with_all_names(fs::canonical(folder));
    }
    throw InputError(
        fmt::format("{} was found neither in '{}' nor in ../lib/mergelane; rebuild or reinstall Mergelane", kLibrary, here.string()));
}

void pass_on(const char* name, const std::string& value) {
    if (value.empty()) {
        unsetenv(name);
    } else if (setenv(name, value.c_str(), 1) != 0) {
        throw std::bad_alloc();  // the program would run without what it was asked for
    }
}

/// Puts an entry before those of a list.
void pass_before(const char* name, const std::string& entry) {
    const char* const known = std::getenv(name);
    pass_on(name, entry + (known == nullptr || *known == '\0' ? "" : std::string(":") + known));
}

/// Standard output under another number: it belongs to the result alone, and what the program prints goes to standard error.
std::string result_descriptor() {
    const int result = dup(STDOUT_FILENO);
    if (result < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        throw InputError(fmt::format("cannot write the result to standard output: {}", std::strerror(errno)));
    return std::to_string(result);
}

std::string absolute_or_empty(const std::string& path) {
    return path.empty() ? "" : fs::absolute(path).string();
}

}  // namespace

std::filesystem::path find_program(const std::string& name) {
    if (name.ends_with(".cu") && access(name.c_str(), X_OK) != 0)
        throw InputError(fmt::format("'{}' is source code; compile it first: nvcc -arch=sm_75 -cudart shared {} -o app", name, name));
    if (name.find('/') != std::string::npos) return name;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    std::error_code ignored;
    for (std::string folder; std::getline(folders, folder, ':');) {
        fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
        if (fs::is_regular_file(candidate, ignored) && access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    if (name.starts_with("-"))
        throw InputError(fmt::format(
            "'{}' is not an option of this command (see --help); for a trace, record one with --trace NAME.mlt and use 'mergelane run'",
            name));
    throw InputError(fmt::format("program '{}' not found; for a program in the current directory, write ./{}", name, name));
}

bool check_program(const fs::path& path) {
    std::uint64_t size = 0;
    const int file = open_input(path, &size);
    void* const content = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (content == MAP_FAILED) throw InputError(fmt::format("'{}' is not a program; give an executable file", path.string()));
    const cuda::ProgramFacts facts = cuda::inspect_program({static_cast<const std::byte*>(content), size});
    munmap(content, size);
    if (const std::string problem = cuda::why_not(facts, path.string()); !problem.empty()) throw InputError(problem);
    return cuda::compiles_code(facts);
}

void prepare_environment(const CudaSettings& settings) {
    // 1. The program can find neither our presets nor our current folder.
    std::string gpu = settings.gpu;
    std::string presets;
    std::string overrides;
    if (!gpu.empty()) {
        const std::vector<fs::path> folders = default_preset_dirs();
        load_config(gpu, settings.overrides, folders);  // report errors now
        for (const fs::path& folder : folders) presets += fs::absolute(folder).string() + "\n";
        for (const std::string& assignment : settings.overrides) overrides += assignment + "\n";
        if (gpu.ends_with(".toml") || gpu.find('/') != std::string::npos) gpu = fs::absolute(gpu).string();
    }
    pass_on("MERGELANE_CUDA_GPU", gpu);
    pass_on("MERGELANE_CUDA_PRESETS", presets);
    pass_on("MERGELANE_CUDA_SET", overrides);
    pass_on("MERGELANE_CUDA_BY_INSTRUCTION", settings.by_instruction ? "1" : "");
    pass_on("MERGELANE_CUDA_THREADS", std::to_string(settings.threads));
    const bool to_stdout = settings.json_file == "-";
    pass_on("MERGELANE_CUDA_JSON", to_stdout ? "-" : absolute_or_empty(settings.json_file));
    pass_on("MERGELANE_CUDA_JSON_DESCRIPTOR", to_stdout ? result_descriptor() : "");
    pass_on("MERGELANE_CUDA_HTML", absolute_or_empty(settings.html_file));
    pass_on("MERGELANE_CUDA_MAX_INSTRUCTIONS", std::to_string(settings.max_instructions));
    pass_on("MERGELANE_CUDA_KEEP_PTX", absolute_or_empty(settings.ptx_folder));
    pass_on("MERGELANE_CUDA_TRACE", absolute_or_empty(settings.trace_file));

    // 2. The replacement comes before the real runtime in the library path.
    pass_before("LD_LIBRARY_PATH", library_folder().string());
    if (settings.load_first) pass_before("LD_PRELOAD", (library_folder() / kLibrary).string());
}

}  // namespace mergelane
