// SPDX-License-Identifier: MIT
// Counts of one SM per static instruction of the kernel that runs. Instructions are known by pc, class and memory: a transform may execute
// a copy of an instruction, and a trace may hold it several times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/bits.hpp"
#include "core/instruction_counts.hpp"
#include "core/kernel.hpp"
#include "parts/l1_cache.hpp"

namespace mergelane {

class InstructionTable {
public:
    struct Row {
        InstructionCounts counts;
        std::vector<Time> spent;  ///< per stage; empty: no load was followed
        void add(const Row& other) {
            counts.add(other.counts);
            spent.resize(std::max(spent.size(), other.spent.size()));
            for (std::size_t s = 0; s < other.spent.size(); ++s) spent[s] += other.spent[s];
        }
    };
    struct Key {
        std::uint32_t pc = 0;
        OpClass op = OpClass::int_add;
        bool shared = false;  ///< accesses shared memory
        auto operator<=>(const Key&) const = default;
    };
    using Rows = std::map<Key, Row>;

    InstructionTable(std::uint32_t block_bytes, std::uint32_t bank_bytes, std::size_t stages)
        : block_bytes_(block_bytes), bank_bytes_(bank_bytes), stages_(stages) {}

    /// The rows of the previous kernel have been taken.
    void launch(const Listing& listing);

    /// A warp is going to issue the run, or will not issue this part of it after all.
    void fetched(const Run& run, std::uint64_t lanes, bool will_issue = true);
    /// A memory instruction was divided into so many requests or, in shared memory, passes over the banks.
    void coalesced(const StaticInst& inst, std::uint32_t active, std::uint32_t transactions);
    /// A bulk copy of so many requests was issued; so many of them were sent.
    void copied(const StaticInst& inst, std::uint64_t requests) {
        InstructionCounts& counts = row(inst).counts;
        ++counts[InstCount::accesses];
        counts[InstCount::transactions] += requests;
        counts[InstCount::ideal] += requests;
    }
    void sent_copied(const StaticInst& inst, std::uint64_t sent) {
        row(inst).counts[InstCount::requests] += sent;
        sent_ += sent;
    }
    /// What the L1 and the SM's port have counted since the last call was for this instruction.
    void looked_up(const StaticInst& inst, const L1Stats& l1, std::uint64_t sent);
    void looked_up_last(const StaticInst& inst, const L1Stats& l1, std::uint64_t sent) {
        if (l1.sector_accesses != l1_.sector_accesses || sent != sent_) looked_up(inst, l1, sent);
    }
    void reached(const StaticInst& inst, std::size_t level) {
        ++row(inst).counts.values[static_cast<std::size_t>(InstCount::reached_l2) + level];
    }
    Row& row(const StaticInst& inst);
    Time* spent(Row& row) const {
        row.spent.resize(stages_);
        return row.spent.data();
    }
    std::uint32_t block_bytes() const { return block_bytes_; }
    /// As of the last call of looked_up().
    const L1Stats& l1() const { return l1_; }
    /// Adds what was counted since the launch to `sum`, and forgets it.
    void take(Rows& sum);

private:
    static constexpr std::uint32_t kNoRow = ~0u;
    static bool is_shared(const StaticInst& inst) { return is_memory(inst) && inst.space == Space::shared; }
    static Key key_of(const StaticInst& inst) { return {inst.pc, inst.op, is_shared(inst)}; }
    std::size_t place(const StaticInst& inst) const {
        return (reinterpret_cast<std::uintptr_t>(&inst) - reinterpret_cast<std::uintptr_t>(program_.data())) / sizeof(StaticInst);
    }

    const std::uint32_t block_bytes_, bank_bytes_;
    const std::size_t stages_;
    std::shared_ptr<const ProgramText> text_;
    std::span<const StaticInst> program_;
    std::vector<std::uint32_t> row_of_;  ///< per instruction of the program: of rows_; kNoRow: accesses no memory
    std::vector<Row> rows_;
    /// Executions and lanes per instruction, as the difference to the instruction before: a run changes two of them, however long it is.
    struct Executed {
        std::uint64_t times = 0, lanes = 0;
    };
    std::vector<Executed> executed_;
    Rows others_;        ///< instructions that are not in the program
    bool used_ = false;  ///< since the launch
    L1Stats l1_;
    std::uint64_t sent_ = 0;
};

}  // namespace mergelane
