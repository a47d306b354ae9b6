// SPDX-License-Identifier: MIT
// What comes before a CUDA program can start on the replacement runtime: it is found, looked into, and its environment made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mergelane {

/// What the runtime in the program's process is to know. Empty: not wanted.
struct CudaSettings {
    std::string gpu;
    std::vector<std::string> overrides;
    std::uint32_t threads = 1;
    std::string json_file;
    std::string ptx_folder;
    std::string trace_file;
};

/// As the shell finds a command.
std::filesystem::path find_program(const std::string& name);
/// Throws InputError with the remedy when the replacement runtime cannot serve it.
void check_program(const std::filesystem::path& path);
/// Changes this process's environment, which the program inherits. Throws InputError if the machine is none.
void prepare_environment(const CudaSettings& settings);

}  // namespace mergelane
