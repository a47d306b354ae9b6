// SPDX-License-Identifier: MIT
#include "workload/suite/kernel_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "files/data_paths.hpp"
#include "files/toml_file.hpp"

namespace mergelane::suite {

namespace fs = std::filesystem;

std::vector<fs::path> default_kernel_dirs() {
    return data_paths("MERGELANE_KERNELS", "kernels", "kernels");
}

KernelFiles::KernelFiles(const std::vector<fs::path>& dirs) {
    for (const fs::path& dir : dirs) {
        std::error_code ignored;
        if (!fs::is_regular_file(dir / "metadata.toml", ignored)) continue;
        dir_ = dir;
        break;
    }
    if (dir_.empty())
        throw InputError("the suite's kernels were not found; set MERGELANE_KERNELS to the folder that holds their metadata.toml");
    const TomlFile file(dir_ / "metadata.toml");
    const toml::table* modules = file.root()["module"].as_table();
    if (modules == nullptr) return;
    for (const auto& [module, record] : *modules) {
        auto& kernels = modules_[std::string(module.str())];
        const toml::table* entries = record.is_table() ? (*record.as_table())["kernel"].as_table() : nullptr;
        if (entries == nullptr) continue;
        for (const auto& [kernel, values] : *entries) {
            const toml::node_view<const toml::node> view(values);
            kernels[std::string(kernel.str())] = {view["registers"].value_or(0u), view["shared_bytes"].value_or(0u)};
        }
    }
}

fs::path KernelFiles::path(std::string_view module) const {
    return dir_ / (std::string(module) + ".ptx");
}

std::string KernelFiles::text(std::string_view module) const {
    std::ifstream file(path(module), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) throw InputError(fmt::format("cannot read '{}'; run scripts/make_ptx or reinstall", path(module).string()));
    return text;
}

KernelResources KernelFiles::resources(std::string_view module, std::string_view kernel) const {
    const auto at = modules_.find(module);
    if (at != modules_.end()) {
        const auto found = at->second.find(kernel);
        if (found != at->second.end()) return found->second;
    }
    throw InputError(
        fmt::format("{} knows no kernel '{}' of module '{}'; run scripts/make_ptx", (dir_ / "metadata.toml").string(), kernel, module));
}

std::vector<std::string> KernelFiles::kernels(std::string_view module) const {
    std::vector<std::string> names;
    const auto at = modules_.find(module);
    if (at == modules_.end()) return names;
    for (const auto& [name, ignored] : at->second) names.push_back(name);
    return names;
}

}  // namespace mergelane::suite
