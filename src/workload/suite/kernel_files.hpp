// SPDX-License-Identifier: MIT
// Locates the PTX of the benchmarks and what their kernels need from an SM.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::suite {

/// $MERGELANE_KERNELS if set, otherwise the installed data directory next to the executable, otherwise kernels/ of the source tree.
std::vector<std::filesystem::path> default_kernel_dirs();

struct KernelResources {
    std::uint32_t registers = 0;     ///< per thread
    std::uint32_t shared_bytes = 0;  ///< static, per CTA
};

/// The checked-in modules of one directory with their metadata.
class KernelFiles {
public:
    /// Uses the first directory that has a metadata.toml; throws InputError if there is none or it cannot be read.
    explicit KernelFiles(const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

    std::filesystem::path path(std::string_view module) const;
    /// The PTX of a module; throws InputError if it cannot be read.
    std::string text(std::string_view module) const;
    /// Throws InputError for a kernel that is not in the metadata.
    KernelResources resources(std::string_view module, std::string_view kernel) const;
    std::vector<std::string> kernels(std::string_view module) const;

private:
    std::filesystem::path dir_;
    std::map<std::string, std::map<std::string, KernelResources, std::less<>>, std::less<>> modules_;
};

}  // namespace mergelane::suite
