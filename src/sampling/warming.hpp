// SPDX-License-Identifier: MIT
// Functional warming: the L2 contents that launches leave which are not simulated in time (as between the samples of SMARTS: Wunderlich et
// al., ISCA 2003). CTAs are walked in the order of their numbers, as many at a time as the machine holds. L1s are left out: most machines
// flush them between kernels.
#pragma once

#include <array>

#include "core/kernel.hpp"
#include "sampling/coalesce.hpp"
#include "sampling/launch_walk.hpp"
#include "sim/machine.hpp"

namespace mergelane::sampling {

class Warming {
public:
    /// Throws InputError if the machine cannot be warmed.
    explicit Warming(Machine& machine);
    /// Nothing may be in flight. Returns what the launch, or these CTAs of it, would miss if its accesses took no time.
    L2Traffic warm(const KernelSource& kernel, const CtaRange& range = {});

private:
    /// The slice of a line.
    struct Known {
        Addr line = ~Addr{0};
        L2Slice* slice = nullptr;
    };

    void read(Addr line, std::uint32_t sectors, bool atomic) {
        if (!whole_lines_) return read_parts(line, sectors, atomic);
        slice_of(line).warm_read(line * kLineBytes, sectors, atomic, traffic_);
    }
    L2Slice& slice_of(Addr line) {
        Known& known = known_[line % known_.size()];
        if (known.line != line) known = {line, &machine_.slices()[machine_.map().slice(line * kLineBytes)]};
        return *known.slice;
    }
    void read_parts(Addr line, std::uint32_t sectors, bool atomic);
    void write(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes);
    void write_bytes(Addr from, Addr to);

    Machine& machine_;
    std::uint32_t line_bytes_;
    bool whole_lines_;  ///< those of the L2 have kLineBytes
    L2Traffic traffic_;
    std::array<Known, 1024> known_;  ///< by line
};

/// Lines that the machine's L2 holds.
std::uint64_t l2_lines(const MachineSpec& spec);

}  // namespace mergelane::sampling
