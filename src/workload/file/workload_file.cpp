// SPDX-License-Identifier: MIT
#include "workload/file/workload_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "files/input_file.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

bool is_accelsim_trace(std::string_view file) {
    const std::string_view name = file.substr(file.rfind('/') + 1);
    return name.starts_with("kernelslist") || name.ends_with(".g") || accelsim::is_trace_name(name);
}

accelsim::ReplayOptions replay_options(const WorkloadFileOptions& options) {
    accelsim::ReplayOptions replay;
    if (!options.kernels.empty()) accelsim::parse_kernel_range(options.kernels, replay);
    replay.timed = !options.only_read;
    replay.warn = options.warn;
    replay.progress = options.progress;
    return replay;
}

std::unique_ptr<Workload> open_manifest(const std::string& path, const WorkloadFileOptions& options) {
    if (!options.kernels.empty()) throw InputError("--kernels requires a trace or a benchmark; edit the launches of the manifest instead");
    ptx::ExecOptions execution;
    execution.budget = options.max_instructions;
    execution.stop = options.stop;
    execution.at_placement = options.timed;
    return ptx::load_manifest(path, options.warn, execution);
}

[[noreturn]] void refuse(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        throw InputError(fmt::format("no such file '{}'; check the path, or select a benchmark with --workload NAME", path));
    if (path.ends_with(".cu"))
        throw InputError(
            fmt::format("'{}' is source code; compile it to a program and run that with 'mergelane cuda --gpu GPU', or compile it to PTX "
                        "and give a launch manifest",
                        path));
    if (path.ends_with(".ptx"))
        throw InputError(
            fmt::format("'{}' does not say on which data its kernels run; write a launch manifest (.toml) that names it and its buffers, "
                        "and give that",
                        path));
    throw InputError(fmt::format(
        "'{}' is not a workload file; give a launch manifest (.toml) or a trace (kernelslist.g, .traceg, .traceg.xz, .tracez, .mlt), or "
        "select a workload by name with --workload or --synthetic",
        path));
}

std::vector<std::string> files_of(const std::string& path) {
    if (is_accelsim_trace(path)) return accelsim::trace_files(path);
    if (path.ends_with(".toml")) return ptx::manifest_files(path);
    return {path};
}

}  // namespace

bool is_workload_file(std::string_view name) {
    return name.ends_with(".toml") || name.ends_with(".mlt") || is_accelsim_trace(name);
}

bool is_program_command(std::string_view workload) {
    return workload.substr(0, workload.find(' ')).find('/') != std::string_view::npos;
}

std::vector<std::string> command_words(std::string_view command) {
    std::vector<std::string> words;
    char quote = 0;
    bool inside = false;
    for (const char c : command) {
        if (quote == 0 && c == ' ') {
            inside = false;
            continue;
        }
        if (!inside) words.emplace_back();
        inside = true;
        if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else if (c == quote)
            quote = 0;
        else
            words.back() += c;
    }
    if (quote != 0) throw InputError(fmt::format("'{}' lacks the second of two quotation marks ({}); add it", command, quote));
    return words;
}

std::unique_ptr<Workload> open_workload_file(const std::string& path, const WorkloadFileOptions& options) {
    if (is_accelsim_trace(path)) return accelsim::open_trace(path, replay_options(options));
    if (path.ends_with(".toml")) return open_manifest(path, options);
    if (!path.ends_with(".mlt")) refuse(path);
    const accelsim::ReplayOptions chosen = replay_options(options);
    return tracefile::open_trace_file(path, chosen.first_kernel, chosen.last_kernel);
}

void add_file(Hasher& hash, const std::string& path) {
    std::vector<char> chunk(std::size_t{1} << 20);
    const struct File {
        int number;
        ~File() { ::close(number); }
    } file{open_input(path)};
    std::uint64_t bytes = 0;
    while (const std::size_t got = read_at(file.number, bytes, chunk.data(), chunk.size(), path)) {
        hash.add(std::string_view(chunk.data(), got));
        bytes += got;
    }
    hash.add(bytes);  // where one file ends and the next begins
}

std::string content_hash(const std::string& path) {
    if (!is_workload_file(path)) refuse(path);
    Hasher hash;
    for (const std::string& file : files_of(path)) add_file(hash, file);
    return hash.hex();
}

}  // namespace mergelane
