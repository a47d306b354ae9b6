// SPDX-License-Identifier: MIT
// Results under a name that the user gave: a file appears whole or not at all; anything else is written in place.
#pragma once

#include <filesystem>
#include <string_view>

namespace mergelane {

/// Throws InputError if write_result() could not write there. Changes nothing, so that a previous result survives work that fails.
void check_result(const std::filesystem::path& path);

/// Replaces a file, or the file that a link names, with an AtomicFile. Pipes, devices, whatever /dev and /proc name (/dev/stdout), and
/// files in folders that cannot be written are written in place. Throws InputError.
void write_result(const std::filesystem::path& path, std::string_view text);

}  // namespace mergelane
