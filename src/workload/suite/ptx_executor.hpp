// SPDX-License-Identifier: MIT
// Executes the benchmark kernels from their PTX.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "workload/suite/kernel_files.hpp"
#include "workload/suite/stream.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::suite {

struct ExecutorOptions {
    std::uint32_t quantum = 20;      ///< warp instructions per turn of a warp; 0: until barrier or end
    bool record = true;              ///< keep launches for the timing model
    std::uint64_t first_launch = 1;  ///< of those to keep, 1-based; all are executed
    std::uint64_t last_launch = ~std::uint64_t{0};
    const std::atomic<bool>* stop = nullptr;  ///< once it is set, throw Interrupted
    std::uint32_t ahead = 0;                  ///< launches that may execute while earlier ones are read, in a thread of their own
};

/// Throws InputError if the kernels are not found.
std::unique_ptr<Executor> make_ptx_executor(const ExecutorOptions& options, const std::vector<std::filesystem::path>& dirs);

/// The name of the workload in results.
std::string suite_workload_name(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options);

/// A benchmark, ready for simulation. Throws InputError for an unknown name.
std::unique_ptr<SuiteStream> make_suite_workload(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options = {},
                                                 const std::vector<std::filesystem::path>& dirs = default_kernel_dirs());

}  // namespace mergelane::suite
