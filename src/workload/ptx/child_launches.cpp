// SPDX-License-Identifier: MIT
#include "workload/ptx/child_launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "workload/ptx/device_memory.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint64_t kLaunched = 0, kInvalidArgument = 1, kInvalidSize = 9;  ///< cudaError_t
constexpr std::uint32_t kMostChildThreads = 1024;

bool has_size(const Dim3& dim, std::uint32_t most) {
    return dim.x != 0 && dim.y != 0 && dim.z != 0 && dim.x <= most && dim.y <= most && dim.z <= most;
}

}  // namespace

Addr ChildLaunches::prepare(DeviceMemory& memory, const Module& module, Addr function, const LaunchConfig& config) {
    const Function* const kernel = module.function_at(function);
    if (kernel == nullptr || !kernel->entry)
        throw InputError(fmt::format("{}: a kernel launches {:#x}, which is no kernel of its program; launch one by its name",
                                     module.file_name(), function));
    if (prepared_.size() + launched_.size() + tail_.size() >= kMost) return 0;
    try {
        const Addr parameters = memory.allocate(std::max<std::uint64_t>(kernel->param_bytes(), 1));
        prepared_[parameters] = {kernel, config, parameters};
        return parameters;
    } catch (const InputError&) {
        return 0;
    }
}

std::uint64_t ChildLaunches::launch(Addr parameters, std::uint64_t stream) {
    const auto found = prepared_.find(parameters);
    if (found == prepared_.end()) return kInvalidArgument;
    const LaunchConfig& config = found->second.config;
    if (!has_size(config.grid, ~0u) || !has_size(config.block, kMostChildThreads) || config.block.count() > kMostChildThreads)
        return kInvalidSize;
    (stream == kTailStream ? tail_ : launched_).push_back(found->second);
    prepared_.erase(found);
    return kLaunched;
}

std::vector<ChildLaunch> ChildLaunches::take(DeviceMemory& memory) {
    for (const auto& [parameters, launch] : prepared_) memory.free(parameters);
    prepared_.clear();
    std::vector<ChildLaunch> all(tail_.rbegin(), tail_.rend());
    all.insert(all.end(), launched_.rbegin(), launched_.rend());
    tail_.clear();
    launched_.clear();
    return all;
}

}  // namespace mergelane::ptx
