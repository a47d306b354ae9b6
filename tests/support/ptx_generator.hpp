// SPDX-License-Identifier: MIT
// Random PTX kernels made of the instructions that have a reference, with structured control flow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "ptx_reference.hpp"

namespace mergelane::ptx::reference {

inline constexpr std::uint32_t kInputBytes = 256;   ///< of a thread, at parameter `input`
inline constexpr std::uint32_t kOutputBytes = 512;  ///< of a thread, at parameter `output`: registers, then memory to work with
inline constexpr std::uint32_t kSharedBytes = 64;   ///< of a thread

/// The same numbers in other groups: small ones, powers of two and their neighbours, special values of every float format.
std::uint64_t interesting(Rng& rng);

/// The rules whose instruction the decoder accepts; the opcodes of the others are appended to `refused`.
std::vector<const Rule*> accepted_rules(std::vector<std::string>& refused);

/// A kernel "k" that applies one rule eight times to numbers of its input, and stores the results.
std::string kernel_for(const Rule& rule);

/// A kernel "k" of about `instructions` instructions. Shuffles are used if its warps are full.
std::string random_kernel(std::uint64_t seed, std::uint32_t instructions, std::uint32_t threads, const std::vector<const Rule*>& rules);

}  // namespace mergelane::ptx::reference
