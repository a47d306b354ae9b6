// SPDX-License-Identifier: MIT
// A workload as it would be without one of its habits, to measure what the habit costs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/kernel.hpp"

namespace mergelane::explain {

enum class Change : std::uint8_t {
    none,
    coalesced,       ///< neighbouring lanes access neighbouring words of global and local memory, from where the first lane does
    conflict_free,   ///< and of shared memory
    spread_atomics,  ///< every lane has its own word
    no_barriers,
    twice_the_warps,  ///< of every CTA; the second half does what the first does, with data of its own
    whole_waves,      ///< without the CTAs of the last, partial wave
    equal_ctas,       ///< no warp executes more instructions than a warp does on average
};

struct ChangePlan {
    Change change = Change::none;
    std::uint64_t ctas_at_a_time = 0;         ///< for whole_waves: of the machine
    std::uint64_t instructions_per_warp = 0;  ///< for equal_ctas
};

class ChangedWorkload final : public Workload {
public:
    ChangedWorkload(std::unique_ptr<Workload> inner, const ChangePlan& plan);
    ~ChangedWorkload() override;
    const std::string& name() const override { return inner_->name(); }
    /// Kernels whose instructions depend on where their CTAs run are left as they are, and so are those that the change would break.
    const KernelSource* next_kernel() override;

private:
    std::unique_ptr<Workload> inner_;
    const ChangePlan plan_;
    std::unique_ptr<KernelSource> kernel_;
};

}  // namespace mergelane::explain
