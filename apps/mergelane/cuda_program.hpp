// SPDX-License-Identifier: MIT
// Preparation of a CUDA program for the replacement runtime: locates it, inspects it, and sets its environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workload/ptx/ptx.hpp"

namespace mergelane {

/// Settings for the runtime in the program's process. Empty: not requested.
struct CudaSettings {
    std::string gpu;
    std::vector<std::string> overrides;
    std::uint32_t threads = 1;
    bool by_instruction = false;
    std::uint64_t max_instructions = ptx::kMostInstructions;  ///< of a launch; 0: no limit
    std::string json_file;
    std::string html_file;
    std::string ptx_folder;
    std::string trace_file;
    bool load_first = false;  ///< the replacement, before any library of the program: check_program
};

/// Resolves a command like the shell.
std::filesystem::path find_program(const std::string& name);
/// Throws InputError with the remedy if the replacement runtime cannot serve the program. Whether the replacement must be loaded before
/// the program's other libraries, of which it changes one.
bool check_program(const std::filesystem::path& path);
/// Changes this process's environment, which the program inherits. Throws InputError if the machine is invalid.
void prepare_environment(const CudaSettings& settings);

}  // namespace mergelane
