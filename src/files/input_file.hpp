// SPDX-License-Identifier: MIT
// The one way to open an input: a regular file, and nothing is ever waited for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mergelane {

/// A descriptor for reading, or -1, errno, and the problem with its remedy. Refuses pipes, devices and directories.
int open_input(const std::filesystem::path& path, std::string& problem, std::uint64_t* bytes = nullptr);
/// The same, but throws InputError "PATH: PROBLEM".
int open_input(const std::filesystem::path& path, std::uint64_t* bytes = nullptr);

/// Returns fewer bytes than `bytes` only at the end of the file. Throws InputError.
std::size_t read_at(int file, std::uint64_t offset, char* to, std::size_t bytes, const std::string& name);

/// The content, or the problem. Of a file of more than `most` bytes only its beginning, a little more than `most`.
std::optional<std::string> read_input(const std::filesystem::path& path, std::uint64_t most, std::string& problem);
/// The same, but throws InputError, also for larger files.
std::string read_input(const std::filesystem::path& path, std::uint64_t most = std::uint64_t{64} << 20);

}  // namespace mergelane
