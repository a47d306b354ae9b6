// SPDX-License-Identifier: MIT
#include "campaign/table_reader.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <memory>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/input_file.hpp"
#include "files/toml_text.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostColumns = 32767;  ///< of SQLite

class Database {
public:
    Database(const fs::path& file, const std::function<bool()>& proceed) : name_(shown_path(file.string())), proceed_(proceed) {
        close(open_input(file));  // says what is wrong with it
        sqlite3* base = nullptr;
        const int opened = sqlite3_open_v2(file.c_str(), &base, SQLITE_OPEN_READONLY, nullptr);
        base_.reset(base);
        if (opened != SQLITE_OK) fail();
        // Nothing in the file may call functions, reach other files, or run for ever.
        sqlite3_db_config(base, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        sqlite3_db_config(base, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        sqlite3_db_config(base, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
        sqlite3_limit(base, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_limit(base, SQLITE_LIMIT_LENGTH, 16 << 20);
        sqlite3_progress_handler(
            base, 100'000, [](void* self) { return static_cast<Database*>(self)->proceed_() ? 0 : 1; }, this);
    }

    /// `use(cell of a column)` for each row.
    template <typename Use>
    void each(const std::string& text, const Use& use) {
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v2(base_.get(), text.c_str(), -1, &made, nullptr) != SQLITE_OK) fail();
        const std::unique_ptr<sqlite3_stmt, Deleter> statement(made);
        int state = SQLITE_ROW;
        while ((state = sqlite3_step(made)) == SQLITE_ROW) use([made](int column) { return cell(made, column); });
        if (state != SQLITE_DONE && state != SQLITE_INTERRUPT) fail();
    }

    [[noreturn]] void fail(std::string_view why = "") const {
        const std::string_view reason = !why.empty() ? why : base_ == nullptr ? "no memory" : sqlite3_errmsg(base_.get());
        throw InputError(fmt::format("{}: is not a database of runs ({}); write one with 'mergelane campaign export --sqlite FILE'", name_,
                                     printable(reason, kMaxConfigText)));
    }

private:
    struct Deleter {
        void operator()(sqlite3* base) const { sqlite3_close(base); }
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };

    static TableCell cell(sqlite3_stmt* statement, int column) {
        switch (sqlite3_column_type(statement, column)) {
            case SQLITE_INTEGER: {
                const sqlite3_int64 value = sqlite3_column_int64(statement, column);
                return value < 0 ? TableCell(static_cast<double>(value)) : TableCell(static_cast<std::uint64_t>(value));
            }
            case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
            case SQLITE_NULL: return {};
            default: {
                const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
                return std::string_view(bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
            }
        }
    }

    std::string name_;
    const std::function<bool()>& proceed_;
    std::unique_ptr<sqlite3, Deleter> base_;
};

std::string text_of(const TableCell& cell) {
    const auto* text = std::get_if<std::string_view>(&cell);
    return text == nullptr ? "" : std::string(*text);
}

std::vector<TableColumn> columns_of(Database& base) {
    // A view could compute for ever.
    int tables = 0;
    base.each(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('runs', 'columns') AND sql LIKE 'CREATE TABLE%' "
        "AND sql NOT LIKE '%GENERATED ALWAYS%'",
        [&](const auto&) { ++tables; });
    if (tables != 2) base.fail("it has no tables 'runs' and 'columns'");
    std::vector<TableColumn> columns;
    base.each("SELECT name, type, unit, meaning FROM columns ORDER BY rowid", [&](const auto& cell) {
        if (columns.size() == kMostColumns) base.fail("too many columns");
        const std::string type = text_of(cell(1));
        columns.push_back({text_of(cell(0)), text_of(cell(2)), text_of(cell(3)),
                           type == "INTEGER" ? TableColumn::Type::integer
                           : type == "REAL"  ? TableColumn::Type::real
                                             : TableColumn::Type::text});
    });
    return columns;
}

}  // namespace

void read_sqlite(const fs::path& file, const std::function<std::vector<std::size_t>(const std::vector<TableColumn>&)>& choose,
                 const std::function<void(std::span<const TableCell>)>& row, const std::function<bool()>& proceed) {
    Database base(file, proceed);
    const std::vector<TableColumn> columns = columns_of(base);
    const std::vector<std::size_t> chosen = choose(columns);
    std::string text;
    for (const std::size_t number : chosen) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", doubled(columns[number].name, '"'));
    if (text.find('\0') != std::string::npos) base.fail("a name of a column has a zero byte");
    std::vector<TableCell> cells(chosen.size());
    base.each(fmt::format("SELECT {} FROM runs ORDER BY rowid", text.empty() ? "NULL" : text), [&](const auto& cell) {
        for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cell(static_cast<int>(i));
        row(cells);
    });
}

}  // namespace mergelane::study
