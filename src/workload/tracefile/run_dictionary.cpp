// SPDX-License-Identifier: MIT
#include "workload/tracefile/run_dictionary.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "workload/tracefile/format.hpp"
#include "workload/tracefile/program_text.hpp"

namespace mergelane::tracefile {

namespace {
constexpr std::uint16_t kLongest = 256;      ///< instructions of a run
constexpr std::size_t kManyNodes = 1 << 19;  ///< beyond this, runs have one instruction each
constexpr std::uint64_t kManyInRuns = kMostInRuns - kMostInstructions - kLongest;
}  // namespace

std::uint32_t RunDictionary::follow_rarer(std::uint32_t at, const StaticInst* inst) {
    const auto [place, is_new] = numbers_.try_emplace(inst);
    if (is_new) place->second = intern(*inst);
    const std::uint32_t instruction = place->second;
    if (const auto found = edges_.find({at, instruction}); found != edges_.end()) return found->second;
    // A full tree grows only at its root: single instructions always have a number.
    if (at != kRoot && (nodes_.size() >= kManyNodes || in_runs_ >= kManyInRuns)) return kNone;
    Node node;
    node.parent = at;
    node.instruction = instruction;
    node.memory = memory_of_[node.instruction];
    node.depth = static_cast<std::uint16_t>(nodes_[at].depth + 1);
    node.ends = node.depth == kLongest || inst->op == OpClass::branch || inst->op >= OpClass::barrier;
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    edges_.emplace(Edge{at, instruction}, number);
    if (nodes_[at].likely == nullptr) {
        nodes_[at].likely = inst;
        nodes_[at].likely_node = number;
    }
    return number;
}

std::uint32_t RunDictionary::intern(const StaticInst& inst) {
    std::string text;
    put_instruction(text, inst, 0);
    const auto [at, is_new] = known_.try_emplace(std::move(text), static_cast<std::uint32_t>(instructions_.size()));
    if (!is_new) return at->second;
    if (instructions_.size() == kMostInstructions)
        throw InputError("a kernel has more than a million different instructions; a trace file cannot hold it");
    instructions_.push_back(inst);
    memory_of_.push_back(is_memory(inst) ? memory_count_++ : kNone);
    for (std::uint32_t r = 0; r < inst.reg_count; ++r) register_slots_ = std::max(register_slots_, inst.regs[r] + 1u);
    return at->second;
}

void RunDictionary::add_run(std::uint32_t node) {
    nodes_[node].run = static_cast<std::uint32_t>(runs_.size());
    std::vector<std::uint32_t>& run = runs_.emplace_back();
    for (; node != kRoot; node = nodes_[node].parent) run.push_back(nodes_[node].instruction);
    std::reverse(run.begin(), run.end());
    in_runs_ += run.size();
}

}  // namespace mergelane::tracefile
