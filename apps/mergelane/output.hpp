// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/result_file.hpp"

namespace mergelane {

/// Writes lines to standard error, with control characters replaced: names and texts may come from others. It is no error if that fails.
inline void tell(std::string_view text) noexcept try {
    std::string shown;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        shown += printable(text.substr(at, end - at)) + "\n";
    }
    std::fputs(shown.c_str(), stderr);
} catch (...) {  // there is no memory
}

/// Throws InputError if an output is also an input, or given twice. Pipes and devices may be.
inline void keep_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs = {}) {
    namespace fs = std::filesystem;
    for (auto at = outputs.begin(); at != outputs.end(); ++at) {
        std::error_code none;
        if (at->empty() || *at == "-" || (fs::exists(*at, none) && !fs::is_regular_file(*at, none))) continue;
        const auto same_file = [&](const std::string& other) { return fs::equivalent(*at, other, none); };
        const auto same_name = [&](const std::string& other) {
            return !other.empty() && fs::weakly_canonical(fs::absolute(*at), none) == fs::weakly_canonical(fs::absolute(other), none);
        };
        if (std::any_of(inputs.begin(), inputs.end(), same_file) || std::any_of(at + 1, outputs.end(), same_name))
            throw InputError(
                fmt::format("'{}' would be overwritten: it is also an input, or given as output twice; choose another output file", *at));
    }
}

/// Whether one of the files is standard output; throws InputError if two are. Pairs of option and file.
inline bool takes_stdout(std::initializer_list<std::pair<const char*, std::string>> files) {
    const char* taken_by = nullptr;
    for (const auto& [option, file] : files) {
        if (file != "-") continue;
        if (taken_by != nullptr)
            throw InputError(std::string(taken_by) + " - and " + option +
                             " - cannot both write to standard output; give one of them a file name");
        taken_by = option;
    }
    return taken_by != nullptr;
}

/// A result file; that it can be written is checked before the work. "-" is standard output, empty is none.
class Output {
public:
    explicit Output(std::string path) : path_(std::move(path)) {
        if (!path_.empty() && path_ != "-") check_result(path_);
    }
    bool wanted() const { return !path_.empty(); }
    void write(const std::string& text) {
        if (!wanted()) return;
        if (path_ != "-")
            write_result(path_, text);
        else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw InputError("cannot write to standard output; check that its target has free space");
    }

private:
    std::string path_;
};

}  // namespace mergelane
