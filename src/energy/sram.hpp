// SPDX-License-Identifier: MIT
// Cost of caches, CAMs and RAMs: a table of tool runs, exact at its points and log-linear in between.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mergelane {

struct SramCost {
    double read_pj = 0;
    double write_pj = 0;
    double search_pj = 0;  ///< CAMs and fully associative arrays
    double tag_pj = 0;     ///< caches: the tag part of a read, what a miss costs
    double leak_mw = 0;
    double area_mm2 = 0;
    double access_ns = 0;
    bool extrapolated = false;  ///< outside the simulated sizes or widths
};

/// One run of a tool.
struct SramRow {
    std::string tool;  ///< "CACTI 7.0"
    std::uint32_t node_nm = 0;
    std::string kind;  ///< "cache", "fully_associative", "cam" or "ram"
    std::uint32_t port_bits = 0;
    std::uint64_t bytes = 0;
    std::string name;
    SramCost cost;
};

/// The structure to price.
struct SramQuery {
    std::string_view tool;
    std::uint32_t node_nm = 40;
    std::string_view kind;
    std::uint64_t bits = 0;  ///< of data; tags are added by the table
    std::uint32_t port_bits = 0;
};

class SramTable {
public:
    SramTable() = default;
    explicit SramTable(std::vector<SramRow> rows) : rows_(std::move(rows)) {}
    /// Throws InputError with file and line.
    static SramTable read(const std::filesystem::path& file);

    /// A listed point exactly; otherwise log-linear in size, then in port width, then in node, each between its neighbours (or extrapolated
    /// from the last two). Kinds with a single width (cam, fully_associative) scale with the width. Throws InputError if the tool or kind
    /// is not in the table.
    SramCost cost(const SramQuery& query) const;

    const std::vector<SramRow>& rows() const { return rows_; }

private:
    std::vector<SramRow> rows_;
};

}  // namespace mergelane
