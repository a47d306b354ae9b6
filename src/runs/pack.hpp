// SPDX-License-Identifier: MIT
// A store in one file: the finished runs, by key, one record per line, compressed as .xz. Small enough to be kept beside the study, and
// readable by anything that reads .xz and JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runs/store.hpp"

namespace mergelane::study {

/// How the name of such a file ends. read_store() takes files of this name in a directory, too.
inline constexpr std::string_view kPackSuffix = ".jsonl.xz";

std::string packed(const StoreContents& contents);
/// The lines. Throws InputError when the bytes are no such file, are damaged, or would take more than a gigabyte.
std::string unpacked(std::string_view bytes, const std::string& name);

}  // namespace mergelane::study
