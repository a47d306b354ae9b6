// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace mergelane {

/// A result file, opened before the work so that a wrong name costs nothing. "-" is standard output, empty is none.
class Output {
public:
    explicit Output(std::string path) : path_(std::move(path)) {
        if (path_.empty() || path_ == "-") return;
        file_.open(path_, std::ios::binary);
        if (!file_) fail();
    }
    void write(const std::string& text) {
        if (path_.empty()) return;
        if (path_ == "-") {
            std::fwrite(text.data(), 1, text.size(), stdout);
            if (std::fflush(stdout) != 0) fail();
            return;
        }
        file_ << text;
        file_.close();
        if (!file_) fail();
    }

private:
    [[noreturn]] void fail() const {
        throw InputError(fmt::format("cannot write '{}'; does its folder exist, may you write there, and is there room?", path_));
    }
    std::string path_;
    std::ofstream file_;
};

}  // namespace mergelane
