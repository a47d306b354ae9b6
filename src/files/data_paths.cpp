// SPDX-License-Identifier: MIT
#include "files/data_paths.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "core/error.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

/// Of the shared library that this code is in, such as the Python module; empty: it is in a program.
fs::path library_folder() {
    static const char inside = 0;
    Dl_info library;
    if (dladdr(&inside, &library) == 0 || library.dli_fname == nullptr) return {};
    const fs::path file = library.dli_fname;
    return file.extension() == ".so" ? file.parent_path() : fs::path();
}

}  // namespace

std::vector<fs::path> data_paths(const char* variable, std::string_view installed, std::string_view source) {
    std::vector<fs::path> paths;
    std::error_code ignored;
    const auto add = [&](const fs::path& path) {
        if (!path.empty() && fs::exists(path, ignored)) paths.push_back(path);
    };
    if (const char* value = std::getenv(variable)) {
        std::string_view rest(value);
        while (!rest.empty()) {
            const std::size_t colon = std::min(rest.find(':'), rest.size());
            add(rest.substr(0, colon));
            rest.remove_prefix(std::min(colon + 1, rest.size()));
        }
    }
    if (const char* root = std::getenv("MERGELANE_DATA")) {
        if (!fs::is_directory(root, ignored))
            throw InputError("MERGELANE_DATA is set to '" + std::string(root) +
                             "', which is not a directory; set it to PREFIX/share/mergelane, or unset it");
        add(fs::path(root) / installed);
    }
    const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
    if (!executable.empty()) add((executable.parent_path() / "../share/mergelane" / installed).lexically_normal());
    if (const fs::path folder = library_folder(); !folder.empty()) add(folder / "share/mergelane" / installed);
#ifdef MERGELANE_SOURCE_TREE
    add(fs::path(MERGELANE_SOURCE_TREE) / source);
#else
    static_cast<void>(source);
#endif
    return paths;
}

std::vector<fs::path> entries_of(const fs::path& dir) {
    std::vector<fs::path> list;
    std::error_code error;
    for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) list.push_back(at->path());
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
        throw InputError(fmt::format("cannot read directory '{}': {}; check its permissions and the limit on open files", dir.string(),
                                     error.message()));
    return list;
}

std::map<std::string, fs::path> toml_files(const std::vector<fs::path>& dirs) {
    std::map<std::string, fs::path> found;
    for (const fs::path& dir : dirs) {
        for (const fs::path& path : entries_of(dir)) {
            std::error_code ignored;
            if (path.extension() == ".toml" && fs::is_regular_file(path, ignored)) found.try_emplace(path.stem().string(), path);
        }
    }
    return found;
}

}  // namespace mergelane
