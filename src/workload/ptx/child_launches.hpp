// SPDX-License-Identifier: MIT
// Kernels that a kernel launches. No kernel can wait for them, so they execute when it has ended.
#pragma once

#include <map>
#include <vector>

#include "workload/ptx/module.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::ptx {

struct ChildLaunch {
    const Function* kernel = nullptr;
    LaunchConfig config;
    Addr parameters = 0;  ///< device memory that the launching thread fills
};

class ChildLaunches {
public:
    static constexpr std::size_t kMost = std::size_t{1} << 16;  ///< launches of one kernel
    static constexpr std::uint64_t kTailStream = 3;

    /// Memory for the parameters of a launch; 0: there is none left. Throws InputError unless `function` is the address of a kernel.
    Addr prepare(DeviceMemory& memory, const Module& module, Addr function, const LaunchConfig& config);
    /// Returns the error code of the CUDA runtime.
    std::uint64_t launch(Addr parameters, std::uint64_t stream);
    /// What was launched, last one first: in the order of the launches, those of the tail stream after all others. Releases the rest.
    std::vector<ChildLaunch> take(DeviceMemory& memory);

private:
    std::map<Addr, ChildLaunch> prepared_;  ///< by the address of their parameters
    std::vector<ChildLaunch> launched_, tail_;
};

}  // namespace mergelane::ptx
