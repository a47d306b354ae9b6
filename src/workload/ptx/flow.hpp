// SPDX-License-Identifier: MIT
// Control flow: where the paths of a divergent branch meet again, and which registers live how long.
#pragma once

#include <cstdint>
#include <vector>

namespace mergelane::ptx {

inline constexpr std::uint32_t kNoBlock = ~0u;

/// Successors of each block; kNoBlock stands for the function's end.
using FlowGraph = std::vector<std::vector<std::uint32_t>>;

/// The immediate post-dominator of every block: the first block all its paths to the end have in common; kNoBlock if that is
/// the end, or if no path gets there. Algorithm of Cooper, Harvey and Kennedy on the reversed graph.
std::vector<std::uint32_t> post_dominators(const FlowGraph& graph);

/// Registers one instruction writes and reads.
struct Touches {
    std::vector<std::uint32_t> writes;
    std::vector<std::uint32_t> reads;
};
struct FlowBlock {
    std::uint32_t first = 0;  ///< instructions [first, end)
    std::uint32_t end = 0;
};
struct Lifetimes {
    std::vector<std::uint32_t> name;  ///< per register: a number that no other register living at the same time has; kNoBlock: unused
    std::uint32_t names = 0;
    std::uint32_t most_words = 0;  ///< 32-bit words alive at the same time, at most
};
/// `words` per register: 1, 2, or 0 for predicates. Registers in the same `group` share a name.
Lifetimes lifetimes(const FlowGraph& graph, const std::vector<FlowBlock>& blocks, const std::vector<Touches>& code,
                    const std::vector<std::uint8_t>& words, const std::vector<std::uint32_t>& group);

}  // namespace mergelane::ptx
