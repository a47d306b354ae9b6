// SPDX-License-Identifier: MIT
// A workload of the user's own: a launch manifest (.toml), an Accel-Sim trace (kernelslist.g, .traceg, .traceg.xz, .tracez) or a trace file
// (.mlt).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.hpp"
#include "core/kernel.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane {

/// Whether a file of this name is a workload.
bool is_workload_file(std::string_view name);

/// Whether it is written like a program with its arguments, "./app 100": programs are given by their path.
bool is_program_command(std::string_view workload);
/// Its words; quotation marks enclose words with blanks. Throws InputError if one is missing.
std::vector<std::string> command_words(std::string_view command);

struct WorkloadFileOptions {
    std::string kernels;                                      ///< which of a trace: "3", "2-5" or "4-"; empty: all
    std::uint64_t max_instructions = ptx::kMostInstructions;  ///< of a launch of a manifest
    bool timed = false;                                       ///< a machine runs it: placement-dependent kernels can execute at placement
    bool only_read = false;                                   ///< neither timed nor recorded: traces may hold what has no timing
    const std::atomic<bool>* stop = nullptr;
    std::function<void(const std::string&)> warn;
    accelsim::ReadProgress progress;
};
/// Throws InputError.
std::unique_ptr<Workload> open_workload_file(const std::string& path, const WorkloadFileOptions& options);

/// Hash of all that the workload consists of, the files included that a manifest or a list of kernels names, but not of their names.
/// Throws InputError.
std::string content_hash(const std::string& path);
/// Content and length of one file. Throws InputError.
void add_file(Hasher& hash, const std::string& path);

}  // namespace mergelane
