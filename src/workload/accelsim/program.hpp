// SPDX-License-Identifier: MIT
// The program text of a traced kernel. A trace repeats it in every line; each different line is decoded once and then
// recognised by comparing its text. Streams on several host threads share one program.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

/// How the lanes' addresses of one line lie to each other, as text and decoded.
struct AddressPattern {
    std::string text;  ///< of the deltas, with the blank behind them
    std::uint32_t active = 0;
    std::uint32_t run_count = 0;
    std::array<LaneAddresses::Run, LaneAddresses::kMostRuns> runs;  ///< relative to the first active lane
};

/// What one line says besides mask and addresses.
struct ProgramLine {
    std::uint64_t pc = 0;
    std::string text;  ///< from the number of destinations to mem_width, as in the file
    StaticInst inst;
    bool generic = false;  ///< space by address: inst is for global, these two for the other windows
    StaticInst local_inst;
    StaticInst shared_inst;
    ProgramLine* next = nullptr;                           ///< another line of the same bucket
    std::atomic<const AddressPattern*> pattern = nullptr;  ///< the first one seen; most warps repeat it
};

class Program {
public:
    static constexpr std::size_t kMostText = 250;       ///< bytes of a line's text
    static constexpr std::size_t kMostLines = 1 << 20;  ///< different lines of one kernel

    /// The line whose text begins at `text`, nullptr if not seen before. 256 bytes behind `text` must be readable.
    ProgramLine* find(std::uint64_t pc, const char* text) const;
    /// Decodes the text at `text`. Returns nullptr and says in `problem` what is wrong with it.
    ProgramLine* add(std::uint64_t pc, const char* text, std::string& problem);

    /// Remembers the first pattern of a line, for other warps to recognise by its text.
    void remember(ProgramLine& line, AddressPattern&& pattern);

    /// Opcodes that are not in the table, with everything added so far; each treated as an ALU instruction.
    std::set<std::string> unknown_opcodes() const;

private:
    static constexpr std::size_t kBuckets = 8192;
    static std::size_t bucket(std::uint64_t pc) { return (pc >> 3) % kBuckets; }

    std::array<std::atomic<ProgramLine*>, kBuckets> buckets_{};
    mutable std::mutex mutex_;
    std::deque<ProgramLine> lines_;
    std::deque<AddressPattern> patterns_;
    std::set<std::string> unknown_;
};

}  // namespace mergelane::accelsim
