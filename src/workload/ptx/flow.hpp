// SPDX-License-Identifier: MIT
// Control-flow analysis: reconvergence points of divergent branches, and register lifetimes.
#pragma once

#include <cstdint>
#include <vector>

namespace mergelane::ptx {

inline constexpr std::uint32_t kNoBlock = ~0u;

/// Successors of each block; kNoBlock stands for the function's end.
using FlowGraph = std::vector<std::vector<std::uint32_t>>;

/// The immediate post-dominator of every block: the first block that all its paths to the end have in common; kNoBlock if that is the end,
/// or if no path reaches it. Georgiadis' Semi-NCA on the reversed graph: nearly linear, also for deeply nested loops.
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
    std::vector<std::uint32_t>
        name;  ///< per register: a number not used by any other register that is live at the same time; kNoBlock: unused
    std::uint32_t names = 0;
    std::uint32_t most_words = 0;  ///< maximum number of live 32-bit words
};
/// `words` per register: 1, 2, or 0 for predicates. Registers in the same `group` share a name.
Lifetimes lifetimes(const FlowGraph& graph, const std::vector<FlowBlock>& blocks, const std::vector<Touches>& code,
                    const std::vector<std::uint8_t>& words, const std::vector<std::uint32_t>& group);

}  // namespace mergelane::ptx
