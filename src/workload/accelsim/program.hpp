// SPDX-License-Identifier: MIT
// The program text of a traced kernel. A trace repeats it for every warp. Each distinct line is decoded once, and sequences of lines are
// recognised by comparing their text as a whole. Streams on several host threads share one program.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/kernel.hpp"

namespace mergelane::accelsim {

/// The address pattern of the lanes of one line, as text and decoded.
struct AddressPattern {
    static constexpr std::size_t kHead = 5;

    std::array<char, kHead> head{};  ///< before the first address: " 2 0x"
    std::string text;                ///< after the first address, including the line break
    std::uint32_t active = 0;
    std::int64_t stride = 0;                                        ///< without runs
    std::uint32_t run_count = 0;                                    ///< 0: one stride for all lanes
    std::array<LaneAddresses::Run, LaneAddresses::kMostRuns> runs;  ///< relative to the first active lane
};

struct ProgramLine;

/// Consecutive lines under one mask, of which only the last one may have addresses.
struct Passage {
    std::string text;  ///< from the line break before the first line to the character after the last mem_width or line
    std::vector<StaticInst> insts;
    std::uint32_t lines = 0;  ///< that they come from
    std::uint32_t active = 0;
    std::uint32_t last_line = 0;  ///< start of the last line in `text`
    ProgramLine* last = nullptr;
};

/// What else a line holds or means.
enum class LineKind : std::uint8_t { plain, bulk_copy, replay_mark };

/// The contents of a line except mask and addresses.
struct ProgramLine {
    std::uint64_t pc = 0;
    std::string text;  ///< from the number of destinations to mem_width, as in the file
    StaticInst inst;
    std::vector<StaticInst> parts;  ///< what the machine executes for it, if that is more than one instruction
    LineKind kind = LineKind::plain;
    std::uint8_t registers = 0;  ///< destinations and sources of all files; as many values follow "Val"
    bool matrices = false;       ///< the addresses are those of matrix rows; each part accesses one matrix, if all lanes are active
    bool addresses = false;      ///< addresses follow the text
    bool generic = false;        ///< space by address: inst is for global, these two for the other windows
    StaticInst local_inst;
    StaticInst shared_inst;
    ProgramLine* next = nullptr;                           ///< next line of the same bucket
    std::atomic<const AddressPattern*> pattern = nullptr;  ///< the first one seen; most warps repeat it
    static constexpr std::size_t kMostFollowers = 4;
    std::array<std::atomic<const Passage*>, kMostFollowers> followers{};  ///< passages that followed it, the first ones seen
    std::uint32_t depth = 1;                                              ///< lines in the bucket when this one was added

    /// What a warp with these lanes executes.
    std::span<const StaticInst> instructions(std::uint32_t active) const {
        const bool one = parts.empty() || (matrices && active != ~0u);
        return one ? std::span(&inst, 1) : std::span<const StaticInst>(parts);
    }
};

/// What the header says about the lines of a kernel, and what they are read for.
struct Grammar {
    std::uint32_t version = 0;     ///< of the tracer
    std::uint32_t sm_version = 0;  ///< 80: A100; 0: unknown
    bool timed = false;            ///< instructions without timing are refused
};

class Program {
public:
    static constexpr std::size_t kMostText = 250;       ///< bytes of a line's text
    static constexpr std::size_t kMostLines = 1 << 20;  ///< different lines of one kernel
    static constexpr std::uint32_t kMostDepth = 1024;   ///< lines of one bucket; bounds the search

    explicit Program(const Grammar& grammar = {}) : grammar_(grammar) {}
    const Grammar& grammar() const { return grammar_; }

    /// The line whose text begins at `text`, decoded if it was not seen before. On error returns nullptr and sets `problem`. 256 bytes
    /// after `text` must be readable.
    ProgramLine* find_or_add(std::uint64_t pc, const char* text, std::string& problem) {
        ProgramLine* const known = find(pc, text);
        return known != nullptr ? known : add(pc, text, problem);
    }

    /// Stores the first pattern of a line, so that other warps can recognise it by its text.
    void remember(ProgramLine& line, AddressPattern&& pattern);

    /// Stands for the line before the first one of every warp.
    ProgramLine& start() { return start_; }
    /// Returns false if no more passages are kept after `line`.
    bool remembers_behind(const ProgramLine& line) const {
        return line.followers.back().load(std::memory_order_relaxed) == nullptr && !full_.load(std::memory_order_relaxed);
    }
    /// Stores a passage after `line`; nullptr if no more are kept.
    const Passage* remember(ProgramLine& line, Passage&& passage);

    /// Opcodes that are not in the table, including everything added so far; each is treated as an ALU instruction.
    std::set<std::string> unknown_opcodes() const;
    /// Opcodes without timing, of kernels that are not timed.
    std::set<std::string> untimed_opcodes() const;
    /// Spin loops that the tracer recorded once.
    bool has_replay_regions() const { return replay_regions_.load(std::memory_order_relaxed); }

private:
    ProgramLine* find(std::uint64_t pc, const char* text) const;
    ProgramLine* add(std::uint64_t pc, const char* text, std::string& problem);
    struct Decoded;
    bool decode(std::uint64_t pc, const char* text, Decoded& line, std::string& problem) const;
    ProgramLine* keep(std::uint64_t pc, const char* text, Decoded& line, std::string& problem);

    static constexpr std::size_t kBuckets = 8192;
    static constexpr std::size_t kMostPassages = 1 << 14;
    static std::size_t bucket(std::uint64_t pc) { return (pc >> 3) % kBuckets; }

    const Grammar grammar_;
    std::array<std::atomic<ProgramLine*>, kBuckets> buckets_{};
    mutable std::mutex mutex_;
    std::deque<ProgramLine> lines_;
    std::deque<AddressPattern> patterns_;
    ProgramLine start_;
    std::deque<Passage> passages_;
    std::atomic<bool> full_ = false;  ///< of passages
    std::set<std::string> unknown_;
    std::set<std::string> untimed_;
    std::atomic<bool> replay_regions_ = false;
};

}  // namespace mergelane::accelsim
