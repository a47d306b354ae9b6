// SPDX-License-Identifier: MIT
// What a workload asks of any machine, counted while it runs: lines per access, passes of shared memory, atomics per word.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::explain {

/// Accesses of warps to memory of one kind, and the sectors of 32 bytes they touch.
struct Coalescing {
    std::uint64_t accesses = 0;
    std::uint64_t sectors = 0;
    std::uint64_t least = 0;  ///< if neighbouring lanes had accessed neighbouring words; never more than `sectors`
    std::uint64_t lines = 0;  ///< of 128 bytes
    std::uint64_t least_lines = 0;
};

struct AccessFacts {
    Coalescing loads, stores;  ///< of global and local memory
    std::uint64_t shared_accesses = 0;
    std::uint64_t shared_passes = 0;           ///< with 32 banks of 4 bytes
    std::uint64_t least_shared_passes = 0;     ///< without conflicts
    std::uint64_t atomics = 0;                 ///< of lanes
    std::uint64_t hottest_atomics = 0;         ///< of them to the word that has most
    std::uint64_t barriers = 0;                ///< of warps
    std::vector<std::uint32_t> warps_per_cta;  ///< of each kernel
};

/// Passes everything on. Counts are complete when the machine that ran the workload is gone.
class WatchedWorkload final : public Workload {
public:
    explicit WatchedWorkload(std::unique_ptr<Workload> inner);
    ~WatchedWorkload() override;
    const std::string& name() const override { return inner_->name(); }
    const KernelSource* next_kernel() override;
    AccessFacts facts() const;

private:
    class Sink;
    class Stream;
    class Kernel;

    std::unique_ptr<Workload> inner_;
    std::shared_ptr<Sink> sink_;
    std::unique_ptr<Kernel> kernel_;
    std::vector<std::uint32_t> warps_per_cta_;
};

}  // namespace mergelane::explain
