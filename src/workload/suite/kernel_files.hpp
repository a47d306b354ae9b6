// SPDX-License-Identifier: MIT
// Locates the PTX of the benchmarks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::suite {

/// $MERGELANE_KERNELS if set, otherwise the installed data directory next to the executable, otherwise kernels/ of the source tree.
std::vector<std::filesystem::path> default_kernel_dirs();

/// The checked-in modules of one directory.
class KernelFiles {
public:
    /// Uses the first directory that has a metadata.toml; throws InputError if there is none.
    explicit KernelFiles(const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

    std::filesystem::path path(std::string_view module) const;
    /// The PTX of a module; throws InputError if it cannot be read.
    std::string text(std::string_view module) const;
    /// Of several modules, separated by spaces.
    std::string texts(std::string_view modules) const;

private:
    std::filesystem::path dir_;
};

}  // namespace mergelane::suite
