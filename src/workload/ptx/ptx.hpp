// SPDX-License-Identifier: MIT
// Executes PTX kernels without a GPU: parse a module, prepare device memory, execute. The memory contents and the recorded kernel for the
// timing model depend only on the inputs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/kernel.hpp"
#include "workload/ptx/device_memory.hpp"
#include "workload/ptx/module.hpp"

namespace mergelane::ptx {

struct LaunchConfig {
    Dim3 grid, block;
    std::uint32_t dynamic_shared = 0;  ///< bytes
    bool cooperative = false;          ///< CTAs may wait for all others (%envreg1 and %envreg2 point to the barrier)
    Dim3 cluster{0, 0, 0};             ///< CTAs of a cluster, if the launch says so
};

struct ExecStats {
    std::uint64_t warp_instructions = 0;  ///< of PTX
    std::uint64_t thread_instructions = 0;
    std::uint64_t most_live_ctas = 0;  ///< more than one: CTAs waited for others
};

/// A kernel ended itself. what(): the reason; the messages of failed assertions, one line per thread.
struct KernelFault : InputError {
    enum class Kind : std::uint8_t { trap, assertion };
    Kind kind;
    KernelFault(Kind k, const std::string& text) : InputError(text), kind(k) {}
};

/// Default limit of a launch: a kernel that executes more is assumed never to end.
inline constexpr std::uint64_t kMostInstructions = 10'000'000'000;

struct ExecOptions {
    std::uint32_t quantum = 20;                ///< warp instructions per turn, 0: until barrier or end
    std::uint64_t budget = kMostInstructions;  ///< give up after this many warp instructions; 0: never
    const std::atomic<bool>* stop = nullptr;   ///< once it is set, throw Interrupted
    bool portable = false;                     ///< use only instructions that every host has; same results
    /// Kernels that read their SM id, warp slot or a clock execute CTA by CTA when the machine places them; otherwise as if on SM 0 at time
    /// 0. The module, the memory and `stats` must then outlive the returned kernel.
    bool at_placement = false;
    ExecStats* stats = nullptr;
    std::function<void(std::string_view)> print = {};      ///< receives what the kernel prints; empty: printing has no effect
    std::uint64_t most_recorded = std::uint64_t{4} << 30;  ///< bytes of a kernel's recording, which is held in memory
};

/// Executes the kernel functionally in canonical order: CTAs by number, the warps of a CTA taking turns. `params` is laid out as the .param
/// list (Module::pack). Returns the recorded kernel for the timing model, or nullptr without `record`. Throws InputError for unsupported
/// instructions. Warnings go to memory.warnings().
std::unique_ptr<KernelSource> execute(const Module& module, std::string_view kernel, const LaunchConfig& launch,
                                      const std::vector<std::byte>& params, DeviceMemory& memory, const ExecOptions& options, bool record);

}  // namespace mergelane::ptx
