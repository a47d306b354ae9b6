// SPDX-License-Identifier: MIT
// What kernels/metadata.toml says about the kernels of a module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "files/toml_file.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::suite {

struct KernelResources {
    std::uint32_t registers = 0;     ///< per thread
    std::uint32_t shared_bytes = 0;  ///< static, per CTA
};

inline std::map<std::string, KernelResources> kernel_metadata(const std::filesystem::path& folder, std::string_view module) {
    const TomlFile file(folder / "metadata.toml");
    std::map<std::string, KernelResources> kernels;
    if (const toml::table* entries = file.root()["module"][module]["kernel"].as_table()) {
        for (const auto& [name, values] : *entries) {
            const toml::node_view<const toml::node> view(values);
            kernels[std::string(name.str())] = {view["registers"].value_or(0u), view["shared_bytes"].value_or(0u)};
        }
    }
    return kernels;
}

/// Of all modules whose kernels a workload launches.
inline std::map<std::string, KernelResources> kernel_metadata(const std::filesystem::path& folder, const SuiteWorkload& workload) {
    std::map<std::string, KernelResources> kernels = kernel_metadata(folder, workload.module);
    for (std::string_view left = workload.others; !left.empty();) {
        const std::string_view module = left.substr(0, left.find(' '));
        kernels.merge(kernel_metadata(folder, module));
        left.remove_prefix(std::min(left.size(), module.size() + 1));
    }
    return kernels;
}

}  // namespace mergelane::suite
