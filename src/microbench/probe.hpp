// SPDX-License-Identifier: MIT
// Kernels of a few instructions whose addresses are given by a function: what a microbenchmark measures is one number of one access
// pattern.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::microbench {

/// Who accesses memory: the `round`-th execution of the body by a warp.
struct Where {
    std::uint64_t cta = 0;
    std::uint32_t sm = 0;
    std::uint32_t warp = 0;
    std::uint64_t round = 0;
};

/// One kernel: every active CTA's warps execute the body `rounds` times.
struct Probe {
    std::uint64_t ctas = 1;
    std::uint32_t cluster = 1;  ///< CTAs of a cluster
    std::uint32_t warps = 1;    ///< per CTA
    std::uint32_t shared_bytes = 0;
    std::uint64_t rounds = 1;
    std::vector<StaticInst> body;  ///< their pc numbers the memory instructions
    /// Addresses of the instruction with this pc.
    std::function<void(const Where& where, std::uint32_t pc, LaneAddresses& out)> addresses;
    std::function<bool(std::uint64_t cta, std::uint32_t sm)> active = [](std::uint64_t, std::uint32_t) { return true; };
};

/// A load that depends on the previous one.
StaticInst dependent_load(Space space, bool bypass_l1);
/// The number-th independent memory instruction of a body. A store stores what load number `of` returned, if it is not itself.
StaticInst independent(OpClass op, std::uint32_t number, std::uint8_t lane_bytes, bool bypass_l1, std::uint32_t of);

std::unique_ptr<Workload> probe_workload(std::string name, std::vector<Probe> kernels);

}  // namespace mergelane::microbench
