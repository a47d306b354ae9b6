// SPDX-License-Identifier: MIT
// Accel-Sim's kernelslist.g: the kernels of a traced application in launch order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "workload/accelsim/trace_file.hpp"

namespace mergelane::accelsim {

struct ReplayOptions {
    std::uint64_t first_kernel = 1;  ///< 1-based, over the kernels of the list
    std::uint64_t last_kernel = ~std::uint64_t{0};
    bool timed = false;                            ///< the trace is to be timed: kernels that need what has no timing are refused by name
    std::function<void(const std::string&)> warn;  ///< warnings for the user; called between kernels
    ReadProgress progress;                         ///< while a trace is being indexed
};

/// "3", "2-5", "4-" (to the end); throws InputError for anything else.
void parse_kernel_range(std::string_view text, ReplayOptions& options);

/// Whether the name is that of a kernel's trace: .traceg, .traceg.xz or .tracez.
bool is_trace_name(std::string_view name);

/// The trace files of a kernelslist.g in launch order; of a single trace, itself. Throws InputError.
std::vector<std::string> trace_files(const std::string& path, const ReplayOptions& options = {});

/// A kernelslist.g, or a single .traceg, .traceg.xz or .tracez. Throws InputError if the list is wrong or a file is missing;
/// errors inside a trace appear when its kernel is reached.
std::unique_ptr<Workload> open_trace(const std::string& path, const ReplayOptions& options);

}  // namespace mergelane::accelsim
