// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernel.hpp"

namespace mergelane {

inline constexpr std::uint64_t kMostPerCta = std::uint64_t{1} << 33;  ///< warp instructions; beyond that it probably never ends

/// Where a warp is in its instruction stream.
struct WarpWalk {
    Run run;
    std::uint32_t at = 0;
    bool done = false;

    /// Up to and including the warp's next access to global memory, whose addresses are then in `lanes`; nullptr if the warp has ended.
    template <class OnRun, class OnInst>
    const StaticInst* next_access(CtaStream& stream, std::uint32_t warp, LaneAddresses& lanes, OnRun on_run, OnInst on_inst) {
        for (;;) {
            if (at == run.count) {
                run = {};
                at = 0;
                done = !stream.next_run(warp, run);
                if (done) return nullptr;
                on_run();
            }
            while (at != run.count) {
                const StaticInst& inst = run.first[at++];
                on_inst(inst);
                if (!is_memory(inst) || run.active == 0) continue;
                lanes.run_count = 0;
                stream.addresses(warp, inst, run.active, lanes);
                if (inst.space != Space::global || has_values(inst)) continue;  // bulk copies are no accesses of lanes
                if (lanes.run_count == 0) return &inst;
                lanes.affine = false;
                lanes.expand(run.active);
                return &inst;
            }
        }
    }
};

/// Throws InputError if a CTA has executed so many warp instructions that it will hardly end.
inline void check_that_it_ends(const KernelInfo& kernel, std::uint64_t cta, std::uint64_t instructions) {
    if (instructions > kMostPerCta)
        throw InputError(
            fmt::format("CTA {} of kernel '{}' executed {} warp instructions; it may not terminate", cta, kernel.name, instructions));
}

}  // namespace mergelane
