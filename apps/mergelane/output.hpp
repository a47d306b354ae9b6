// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "files/result_file.hpp"

namespace mergelane {

/// Whether one of the files is standard output; throws InputError if both are.
inline bool takes_stdout(const std::string& json_file, const std::string& csv_file) {
    if (json_file == "-" && csv_file == "-")
        throw InputError("--json - and --csv - cannot both write to standard output; give one of them a file name");
    return json_file == "-" || csv_file == "-";
}

/// A result file; that it can be written is checked before the work. "-" is standard output, empty is none.
class Output {
public:
    explicit Output(std::string path) : path_(std::move(path)) {
        if (!path_.empty() && path_ != "-") check_result(path_);
    }
    void write(const std::string& text) {
        if (path_.empty()) return;
        if (path_ != "-")
            write_result(path_, text);
        else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw InputError("cannot write to standard output; check that its target has free space");
    }

private:
    std::string path_;
};

}  // namespace mergelane
