// SPDX-License-Identifier: MIT
// Kernels whose addresses are arrays of the caller's, which are read in place: the access patterns of the Python package.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane {

/// The accesses of one CTA. The arrays have the shape [warp][instruction][lane].
struct ArrayCta {
    const Addr* addresses = nullptr;
    const std::uint8_t* active = nullptr;  ///< not 0: the lane is active; nullptr: all lanes are
    std::uint32_t warps = 0;               ///< the others of the CTA have no instructions
    std::uint64_t instructions = 0;        ///< of each warp, those that access memory
    std::uint32_t lanes = 0;
    std::shared_ptr<const void> owner = nullptr;  ///< keeps the arrays
};

/// Called when a CTA is opened, by any thread; an exception ends the run.
using ArraySource = std::function<ArrayCta(std::uint64_t cta)>;

struct ArrayParams {
    static constexpr std::uint32_t kMostInFlight = 64;
    static constexpr std::uint32_t kMostCompute = 1000;

    std::string name = "kernel";
    std::uint64_t ctas = 1;
    std::uint32_t warps = 1;         ///< of a CTA
    std::uint64_t instructions = 0;  ///< the most of any warp; 0: unknown
    std::uint32_t lane_bytes = 4;    ///< bytes one lane reads or writes
    std::uint32_t registers = 32;    ///< per thread, for residency
    std::uint32_t shared_bytes = 0;  ///< per CTA
    Space space = Space::global;
    std::uint32_t in_flight = 8;         ///< an access waits for the load so many accesses earlier
    std::vector<bool> write;             ///< per access; of one element: of all accesses
    std::vector<std::uint16_t> compute;  ///< arithmetic instructions after each access, in the same way
};

/// Throws InputError for parameters that are out of range.
std::shared_ptr<const KernelSource> make_array_kernel(ArrayParams params, ArraySource source);

/// Kernels that are launched one after the other.
std::unique_ptr<Workload> make_kernel_list(std::string name, std::vector<std::shared_ptr<const KernelSource>> kernels);

}  // namespace mergelane
