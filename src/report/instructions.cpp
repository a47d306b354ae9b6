// SPDX-License-Identifier: MIT
#include "report/instructions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/text.hpp"

namespace mergelane {

namespace {

constexpr std::size_t kShown = 10;

struct Waiting {
    const KernelInstructions* kernel;
    const InstructionResult* instruction;
};

std::string base_name(const std::string& path) {
    return printable(path.substr(path.rfind('/') + 1), 60);
}

double per(std::uint64_t part, std::uint64_t whole) {
    return Metrics::ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::vector<Waiting> longest(const RunResult& result) {
    std::vector<Waiting> rows;
    for (const KernelInstructions& kernel : result.by_instruction) {
        for (const InstructionResult& inst : kernel.instructions) {
            if (inst.counts[InstCount::loads] != 0) rows.push_back({&kernel, &inst});
        }
    }
    const auto weight = [](const Waiting& row) {
        return std::tuple(row.instruction->counts[InstCount::stalled], row.instruction->counts[InstCount::latency]);
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Waiting& a, const Waiting& b) { return weight(a) > weight(b); });
    rows.resize(std::min(rows.size(), kShown));
    return rows;
}

/// Loads, stores and atomics that take more requests or passes than they would have to: nobody waits for a store, but others queue behind
/// it.
std::string most_wasteful(const RunResult& result) {
    constexpr std::size_t kMost = 3;
    std::vector<Waiting> rows;
    const auto excess = [](const Waiting& row) {
        const InstructionCounts& c = row.instruction->counts;
        return c[InstCount::transactions] - std::min(c[InstCount::ideal], c[InstCount::transactions]);
    };
    for (const KernelInstructions& kernel : result.by_instruction) {
        for (const InstructionResult& inst : kernel.instructions) {
            if (2 * inst.counts[InstCount::transactions] > 3 * inst.counts[InstCount::ideal]) rows.push_back({&kernel, &inst});
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const Waiting& a, const Waiting& b) { return excess(a) > excess(b); });
    rows.resize(std::min(rows.size(), kMost));
    std::string text = rows.empty() ? "" : "\nInstructions with most requests, or passes over the banks, beyond the ideal\n";
    for (const Waiting& row : rows) {
        const InstructionCounts& c = row.instruction->counts;
        text += fmt::format("  {:<22} {:>6.2f} per access, ideal {:.2f}, {} executions: {}{}\n", printable(row.instruction->opcode, 40),
                            per(c[InstCount::transactions], c[InstCount::accesses]), per(c[InstCount::ideal], c[InstCount::accesses]),
                            grouped(c[InstCount::executions]), place_of(*row.kernel, *row.instruction),
                            result.by_instruction.size() > 1 ? ", " + readable_name(row.kernel->kernel) : "");
    }
    return text;
}

}  // namespace

std::string place_of(const KernelInstructions& kernel, const InstructionResult& inst) {
    if (inst.source_line != 0) {
        const std::string line = fmt::format("{}:{}", base_name(inst.source_file), inst.source_line);
        return inst.inlined_line == 0 ? line : fmt::format("{} in {}:{}", line, base_name(inst.inlined_file), inst.inlined_line);
    }
    return inst.ptx_line != 0 ? fmt::format("{}:{}", base_name(kernel.ptx_file), inst.ptx_line) : fmt::format("pc {:#x}", inst.pc);
}

std::string longest_waits(const RunResult& result) {
    const std::vector<Waiting> rows = longest(result);
    if (rows.empty()) return most_wasteful(result);
    std::string text = fmt::format("\nInstructions that wait longest\n  {:>7} {:>9} {:>12} {:>11} {:>7} {:>9}  {:<22} {}\n", "stall %",
                                   "latency", "executions", "per access", "ideal", "conflicts", "opcode", "line");
    bool lines = false, ptx = false;
    for (const Waiting& row : rows) {
        const InstructionCounts& c = row.instruction->counts;
        const std::uint64_t accesses = c[InstCount::accesses];
        text +=
            fmt::format("  {:>7.1f} {:>9.1f} {:>12} {:>11.2f} {:>7.2f} {:>9}  {:<22} {}{}\n",
                        100 * per(c[InstCount::stalled], result.stat("sm.stall_memory")), per(c[InstCount::latency], c[InstCount::loads]),
                        grouped(c[InstCount::executions]), per(c[InstCount::transactions], accesses), per(c[InstCount::ideal], accesses),
                        row.instruction->shared ? fmt::format("{:.2f}", per(c[InstCount::conflicts], accesses)) : "-",
                        printable(row.instruction->opcode, 40), place_of(*row.kernel, *row.instruction),
                        result.by_instruction.size() > 1 ? ", " + readable_name(row.kernel->kernel) : "");
        lines = lines || row.instruction->source_line != 0;
        ptx = ptx || row.instruction->ptx_line != 0;
    }
    text +=
        "  stall %: of the cycles in which a scheduler waits for memory; latency: mean core cycles from issue to use; per access:\n"
        "  requests (shared memory: passes over the banks), ideal: the same for consecutive addresses; conflicts: passes beyond the "
        "ideal\n";
    if (ptx && !lines) text += "  lines of the PTX; compile with nvcc -lineinfo (clang: -gline-tables-only) for lines of the source\n";
    return text + most_wasteful(result);
}

nlohmann::ordered_json instructions_json(const RunResult& result) {
    using Json = nlohmann::ordered_json;
    Json kernels = Json::array();
    for (const KernelInstructions& kernel : result.by_instruction) {
        Json record = {{"kernel", kernel.kernel}, {"launches", kernel.launches}};
        if (!kernel.ptx_file.empty()) record["ptx_file"] = kernel.ptx_file;
        record["instructions"] = Json::array();
        for (const InstructionResult& inst : kernel.instructions) {
            Json row = {{"pc", inst.pc}, {"opcode", inst.opcode}};
            if (inst.source_line != 0) row["file"] = inst.source_file, row["line"] = inst.source_line;
            if (inst.inlined_line != 0) row["inlined_at"] = {{"file", inst.inlined_file}, {"line", inst.inlined_line}};
            if (inst.ptx_line != 0) row["ptx_line"] = inst.ptx_line;
            // Arithmetic has no counts but the first two.
            const bool all = inst.counts[InstCount::accesses] != 0;
            for (std::size_t i = 0; i < kInstCounts; ++i) {
                if (i < 2 || all || inst.counts.values[i] != 0) row[std::string(kInstCountInfos[i].name)] = inst.counts.values[i];
            }
            Json stages = Json::object();
            for (std::size_t s = 0; s < inst.spent.size(); ++s) {
                if (inst.spent[s] != 0) stages[result.stages[s].first] = static_cast<double>(inst.spent[s]) / result.units_per_cycle;
            }
            if (!stages.empty()) row["stages"] = std::move(stages);
            record["instructions"].push_back(std::move(row));
        }
        kernels.push_back(std::move(record));
    }
    return kernels;
}

}  // namespace mergelane
