// SPDX-License-Identifier: MIT
// All finished runs of a campaign as one wide table, a row for each, with unit and meaning of every column: for SQLite and CSV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "runs/plan.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

struct TableColumn {
    enum class Type { integer, real, text };
    std::string name, unit, meaning;
    Type type = Type::integer;
};

/// What every row begins with.
std::vector<TableColumn> first_columns();
/// What follows if some run of the plan is sampled; other runs have none of it. The names of SampleRecord, after the first two.
std::vector<TableColumn> sample_columns();
/// After the name of a statistic: the half-width of its 95 % interval in a sampled run.
inline constexpr std::string_view kHalfWidth = " +-";

/// A value of a row; none: the run did not count this.
using TableCell = std::variant<std::monostate, std::uint64_t, double, std::string_view>;

/// Where rows go. What is written takes its name in finish(); before, nothing is to be seen of it.
class TableWriter {
public:
    virtual ~TableWriter() = default;
    virtual void row(std::span<const TableCell> cells) = 0;
    /// A run that failed, and why.
    virtual void failure(std::uint64_t run, std::string_view message) = 0;
    virtual void finish() = 0;
};
/// All throw InputError when the file cannot be written; its name, cause and remedy are in the text.
std::unique_ptr<TableWriter> write_sqlite(const std::filesystem::path& file, const std::vector<TableColumn>& columns);
/// With FILE.columns.csv beside it.
std::unique_ptr<TableWriter> write_csv(const std::filesystem::path& file, const std::vector<TableColumn>& columns);

struct TableOptions {
    bool highest = false;               ///< of each statistic also what the component that counted most counted
    std::vector<StatValue> statistics;  ///< known ones, for unit and meaning
    std::function<void(std::size_t done, std::size_t total)> progress;
};
struct TableSize {
    std::size_t rows = 0, columns = 0, failures = 0;
};

/// In the order of the plan. `open` makes the writers once the columns are known; it may be called again, if a record has statistics that
/// the others did not lead us to expect.
TableSize write_table(const Plan& plan, const StoreIndex& index, const TableOptions& options,
                      const std::function<std::vector<std::unique_ptr<TableWriter>>(const std::vector<TableColumn>&)>& open);

}  // namespace mergelane::study
