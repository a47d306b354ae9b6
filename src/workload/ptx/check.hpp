// SPDX-License-Identifier: MIT
// Which kernels of PTX texts can be executed, and what refuses the others. Nothing is executed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane::ptx {

/// What was refused, and in which line.
struct Refusal {
    std::uint32_t line = 0;  ///< 0: none in particular
    std::string cause;       ///< empty: nothing was refused
    std::string remedy;      ///< may be empty

    bool any() const { return !cause.empty(); }
};

struct CheckedKernel {
    enum class Verdict : std::uint8_t {
        accepted,
        refused,
        stub  ///< accepted, but does no work: it is empty, or only calls printf, assert or trap
    };
    std::string name;
    Verdict verdict = Verdict::accepted;
    Refusal refusal;
};

struct CheckedFile {
    std::string name;
    std::vector<CheckedKernel> kernels;  ///< in text order
    Refusal refusal;                     ///< of the file as a whole: then all its kernels are refused for the same reason

    std::uint64_t count(CheckedKernel::Verdict verdict) const;
};

/// Parses a text and decodes every kernel; what is wrong with it is part of the result. `progress` gets the share that is done and may
/// throw.
CheckedFile check_ptx(std::string_view text, const std::string& name, const std::function<void(double)>& progress = {});
/// A file that could not be read as PTX.
CheckedFile refused_file(const std::string& name, std::string_view message);

/// Whether something was refused in one of the files.
bool any_refused(const std::vector<CheckedFile>& files);
/// A table of files, then the reasons by the number of kernels they refuse; with `kernels`, also every kernel by name.
std::string check_table(const std::vector<CheckedFile>& files, bool kernels);
/// docs/schema/ptx-check.json
std::string check_json(const std::vector<CheckedFile>& files, std::string_view version);

}  // namespace mergelane::ptx
