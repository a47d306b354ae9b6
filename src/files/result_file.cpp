// SPDX-License-Identifier: MIT
#include "files/result_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "files/atomic_file.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

/// The file itself, where the name is a link.
fs::path target_of(const fs::path& path) {
    std::error_code none;
    const fs::path target = fs::canonical(path, none);
    return none ? path : target;
}

bool in_place(const fs::path& path) {
    std::error_code none;
    const fs::file_status status = fs::status(path, none);
    if (!fs::exists(status)) return false;
    const std::string name = path.string();
    if (!fs::is_regular_file(status) || name.starts_with("/dev/") || name.starts_with("/proc/")) return true;
    const fs::path folder = target_of(path).parent_path();
    return access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0;
}

}  // namespace

void check_result(const fs::path& path) {
    std::error_code none;
    if (fs::is_directory(path, none)) cannot_write(path, EISDIR);
    if (!in_place(path)) {
        AtomicFile(target_of(path), Durability::cached);  // and nothing is left
    } else if (access(path.c_str(), W_OK) != 0) {
        cannot_write(path, errno);
    }
}

void write_result(const fs::path& path, std::string_view text) {
    if (!in_place(path)) {
        AtomicFile file(target_of(path));
        file.write(text);
        file.commit();
        return;
    }
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) cannot_write(path, errno);
}

}  // namespace mergelane
