// SPDX-License-Identifier: MIT
// The practical speed limit of this host: the memory path reduced to fixed sizes, one clock and one purpose. The distance to the real
// simulator is the price of detail and generality. Standard library only.
#pragma once

#include <cstdint>
#include <string_view>

namespace mergelane {

struct BareResult {
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t lines = 0;  ///< L1 lookups
    double seconds = 0;       ///< CPU time of the loop, without building the machine
    std::uint64_t check = 0;  ///< hash of every counter: the same on every host
};

/// `kind`: compute, stream or divergent, with the character of the synthetic workloads of the same name; endless, cut
/// after `cycles`. Throws std::invalid_argument for another kind and for more cycles than 32 bits hold.
BareResult run_bare_loop(std::string_view kind, std::uint64_t cycles);

}  // namespace mergelane
