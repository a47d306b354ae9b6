// SPDX-License-Identifier: MIT
// Functional warming: the L2 contents that launches leave which are not simulated in time (as between the samples of SMARTS: Wunderlich et
// al., ISCA 2003). CTAs are walked in the order of their numbers, as many at a time as the machine holds. L1s are left out: most machines
// flush them between kernels.
#pragma once

#include "core/kernel.hpp"
#include "sim/machine.hpp"

namespace mergelane::sampling {

class Warming {
public:
    /// Throws InputError if the machine cannot be warmed.
    explicit Warming(Machine& machine);
    /// Nothing may be in flight. Returns what the launch would miss if its accesses took no time.
    L2Traffic warm(const KernelSource& kernel);

private:
    void read(Addr line, std::uint32_t sectors, bool atomic);
    void write(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t lane_bytes);
    void write_bytes(Addr from, Addr to);

    Machine& machine_;
    std::uint32_t line_bytes_;
    L2Traffic traffic_;
};

/// Lines that the machine's L2 holds.
std::uint64_t l2_lines(const MachineSpec& spec);

}  // namespace mergelane::sampling
