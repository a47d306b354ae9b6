// SPDX-License-Identifier: MIT
// What is counted per static instruction of a kernel, and where the instruction stands in the program's text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

enum class InstCount : std::uint8_t {
    executions,
    lanes,
    accesses,
    transactions,
    ideal,
    conflicts,
    l1_sectors,
    l1_hits,
    l1_merged,
    l1_misses,
    requests,
    loads,
    latency,
    stalled,
    followed_loads,
    reached_l2,  // these five in the order of Journey::Level
    reached_dram,
    reached_cluster,
    reached_node,
    reached_merged,
    count
};
inline constexpr std::size_t kInstCounts = static_cast<std::size_t>(InstCount::count);

struct InstCountInfo {
    std::string_view name;
    std::string_view meaning;
};
inline constexpr std::array<InstCountInfo, kInstCounts> kInstCountInfos = {{
    {"executions", "warp instructions issued"},
    {"lanes", "active lanes over these"},
    {"accesses", "of a memory instruction: executions with an active lane"},
    {"transactions", "requests into which accesses were coalesced; shared memory: passes over the banks"},
    {"ideal", "transactions if the same lanes had accessed consecutive addresses from a block boundary on"},
    {"conflicts", "shared memory: passes beyond the ideal number"},
    {"l1_sectors", "32-byte sectors looked up in the SM's L1"},
    {"l1_hits", "load sectors that were valid in the L1"},
    {"l1_merged", "load sectors in flight that were merged in the L1 (hits on misses)"},
    {"l1_misses", "sectors that were not in the L1"},
    {"requests", "requests that left the SM"},
    {"loads", "loads and atomics completed"},
    {"latency", "core cycles from issue until the value is available, summed over loads"},
    {"stalled", "cycles in which a scheduler issued nothing and waited for this instruction's value"},
    {"followed_loads", "loads whose time is divided by stage"},
    {"reached_l2", "followed read requests that hit in the L2"},
    {"reached_dram", "followed read requests that were answered by DRAM"},
    {"reached_cluster", "followed read requests that were answered by a unit of the SM cluster"},
    {"reached_node", "followed read requests that hit in an L1 node"},
    {"reached_merged", "followed read requests that were merged with one in flight beyond the L1"},
}};

struct InstructionCounts {
    std::array<std::uint64_t, kInstCounts> values{};

    std::uint64_t& operator[](InstCount which) { return values[static_cast<std::size_t>(which)]; }
    std::uint64_t operator[](InstCount which) const { return values[static_cast<std::size_t>(which)]; }
    void add(const InstructionCounts& other) {
        for (std::size_t i = 0; i < kInstCounts; ++i) values[i] += other.values[i];
    }
};

/// A line of a source file; line 0: unknown.
struct SourceLine {
    std::uint32_t file = 0;  ///< of ProgramText::words
    std::uint32_t line = 0;
    bool operator==(const SourceLine&) const = default;
};

/// What the text of a program says about its instructions.
struct ProgramText {
    struct Origin {
        std::uint32_t opcode = 0;    ///< of words
        std::uint32_t ptx_line = 0;  ///< 0: implied by the end of a function
        SourceLine source;
        SourceLine inlined_at;  ///< the outermost call, if the source line was inlined
    };
    std::string file;                       ///< of the PTX
    std::vector<std::string> words = {""};  ///< opcodes and names of source files
    std::vector<Origin> origins;            ///< by the instructions' pc
};

/// One instruction of a result. Strings are copied, because the kernel is gone by then.
struct InstructionResult {
    std::uint32_t pc = 0;
    std::string opcode;       ///< as in the program, or the name of its class
    std::string source_file;  ///< empty: unknown
    std::uint32_t source_line = 0;
    std::string inlined_file;
    std::uint32_t inlined_line = 0;
    std::uint32_t ptx_line = 0;
    bool shared = false;  ///< accesses shared memory
    InstructionCounts counts;
    std::vector<std::uint64_t> spent;  ///< engine units per stage, of followed loads
};

/// All launches of one kernel. Instructions that were never executed are left out.
struct KernelInstructions {
    std::string kernel;
    std::string ptx_file;
    std::uint64_t launches = 0;
    std::vector<InstructionResult> instructions;  ///< in the order of the program
};

}  // namespace mergelane
