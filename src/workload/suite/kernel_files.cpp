// SPDX-License-Identifier: MIT
#include "workload/suite/kernel_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"
#include "workload/ptx/module.hpp"

namespace mergelane::suite {

namespace fs = std::filesystem;

std::vector<fs::path> default_kernel_dirs() {
    return data_paths("MERGELANE_KERNELS", "kernels", "kernels");
}

KernelFiles::KernelFiles(const std::vector<fs::path>& dirs) {
    std::error_code ignored;
    const auto dir =
        std::find_if(dirs.begin(), dirs.end(), [&](const fs::path& d) { return fs::is_regular_file(d / "metadata.toml", ignored); });
    if (dir == dirs.end())
        throw InputError("the suite's kernels were not found; set MERGELANE_KERNELS to the folder that holds their metadata.toml");
    dir_ = *dir;
}

fs::path KernelFiles::path(std::string_view module) const {
    return dir_ / (std::string(module) + ".ptx");
}

std::string KernelFiles::text(std::string_view module) const {
    std::string problem;
    const std::optional<std::string> text = read_input(path(module), ptx::kMostTextBytes, problem);
    if (!text || text->empty()) throw InputError(fmt::format("cannot read '{}'; run scripts/make_ptx or reinstall", path(module).string()));
    return *text;
}

std::string KernelFiles::texts(std::string_view modules) const {
    std::string all;
    while (!modules.empty()) {
        const std::string_view module = modules.substr(0, modules.find(' '));
        all += text(module);
        modules.remove_prefix(std::min(modules.size(), module.size() + 1));
    }
    return all;
}

}  // namespace mergelane::suite
