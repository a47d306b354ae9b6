// SPDX-License-Identifier: MIT
// Finds instruction sequences of a kernel that always execute together. It is a tree of instructions: a path from the root is a sequence
// that was seen, and a sequence that ended there has a number. Following a known path costs one comparison.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::tracefile {

class RunDictionary {
public:
    static constexpr std::uint32_t kRoot = 0;
    static constexpr std::uint32_t kNone = ~0u;

    RunDictionary() : nodes_(1) {}

    /// The child of `at` for `inst`; kNone if the tree is full and the run must end before it.
    std::uint32_t follow(std::uint32_t at, const StaticInst* inst) {
        const Node& node = nodes_[at];
        return node.likely == inst ? node.likely_node : follow_rarer(at, inst);
    }
    /// True if the run must end here: it ends with a jump, a barrier or the warp, or has reached the maximum length.
    bool ends(std::uint32_t node) const { return nodes_[node].ends; }
    std::uint32_t memory(std::uint32_t node) const { return nodes_[node].memory; }
    /// The number of the run from the root to `node`.
    std::uint32_t number(std::uint32_t node) {
        if (nodes_[node].run == kNone) add_run(node);
        return nodes_[node].run;
    }

    std::uint32_t memory_count() const { return memory_count_; }
    const std::vector<StaticInst>& instructions() const { return instructions_; }
    /// The instructions' numbers of every run.
    const std::vector<std::vector<std::uint32_t>>& runs() const { return runs_; }
    /// Highest register number, plus one.
    std::uint32_t register_slots() const { return register_slots_; }

private:
    struct Node {
        const StaticInst* likely = nullptr;  ///< what came next the first time
        std::uint32_t likely_node = 0;
        std::uint32_t parent = 0;
        std::uint32_t instruction = 0;
        std::uint32_t memory = kNone;
        std::uint32_t run = kNone;
        std::uint16_t depth = 0;
        bool ends = false;
    };
    struct Edge {
        std::uint32_t from;
        std::uint32_t instruction;
        bool operator==(const Edge&) const = default;
    };
    struct EdgeHash {
        std::size_t operator()(const Edge& edge) const {
            return (std::uint64_t{edge.instruction} ^ std::uint64_t{edge.from} << 32) * 0x9E3779B97F4A7C15 >> 20;
        }
    };

    std::uint32_t follow_rarer(std::uint32_t at, const StaticInst* inst);
    std::uint32_t intern(const StaticInst& inst);
    void add_run(std::uint32_t node);

    std::vector<Node> nodes_;
    std::unordered_map<Edge, std::uint32_t, EdgeHash> edges_;
    std::unordered_map<const StaticInst*, std::uint32_t> numbers_;  ///< of instructions; a source may hold one at several places
    std::unordered_map<std::string, std::uint32_t> known_;          ///< instructions by content
    std::vector<StaticInst> instructions_;
    std::vector<std::uint32_t> memory_of_;
    std::vector<std::vector<std::uint32_t>> runs_;
    std::uint64_t in_runs_ = 0;
    std::uint32_t memory_count_ = 0;
    std::uint32_t register_slots_ = 1;
};

}  // namespace mergelane::tracefile
