// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace mergelane {

/// Whether one of the files is standard output; throws InputError if both are.
inline bool takes_stdout(const std::string& json_file, const std::string& csv_file) {
    if (json_file == "-" && csv_file == "-")
        throw InputError("--json - and --csv - cannot both write to standard output; give one of them a file name");
    return json_file == "-" || csv_file == "-";
}

/// A result file, opened before the work so that an invalid name is detected early. "-" is standard output, empty is none.
class Output {
public:
    explicit Output(std::string path) : path_(std::move(path)) {
        if (path_.empty() || path_ == "-") return;
        std::error_code ignored;
        existed_ = std::filesystem::exists(path_, ignored);
        if (!std::ofstream(path_, std::ios::binary | std::ios::app)) fail();
    }
    /// If the work fails, previous contents stay, and an empty file is removed.
    ~Output() {
        std::error_code ignored;
        if (!path_.empty() && path_ != "-" && !existed_ && !written_) std::filesystem::remove(path_, ignored);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    void write(const std::string& text) {
        if (path_.empty()) return;
        if (path_ == "-") {
            std::fwrite(text.data(), 1, text.size(), stdout);
            if (std::fflush(stdout) != 0) fail();
            return;
        }
        std::ofstream file(path_, std::ios::binary);
        file << text;
        file.close();
        if (!file) fail();
        written_ = true;
    }

private:
    [[noreturn]] void fail() const {
        throw InputError(fmt::format("cannot write '{}'; check that its directory exists, is writable and has free space", path_));
    }
    std::string path_;
    bool existed_ = false;
    bool written_ = false;
};

}  // namespace mergelane
