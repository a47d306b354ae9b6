// SPDX-License-Identifier: MIT
// Tables as SQLite and CSV.
#include <fmt/format.h>
#include <sqlite3.h>

#include <charconv>
#include <memory>

#include "campaign/run_table.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/atomic_file.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

/// Names of columns come from plans and records, which others may have written.
std::string sql_name(std::string_view name) {
    if (name.find('\0') != std::string_view::npos) throw InputError("a name of a column has a zero byte; the store is damaged");
    return fmt::format("\"{}\"", doubled(name, '"'));
}

struct SqliteDeleter {
    void operator()(sqlite3* base) const { sqlite3_close(base); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, SqliteDeleter>;

/// One process writes a file nobody else knows of: no locks, which network file systems lack, and no journal.
class SqliteWriter final : public TableWriter {
public:
    SqliteWriter(const fs::path& file, const std::vector<TableColumn>& columns) : name_(file), file_(file) {
        sqlite3* base = nullptr;
        // Anyone who can write to the folder may put a link there; links in the path of the folder are the user's own.
        const fs::path place = fs::canonical(fs::absolute(file_.temporary()).parent_path()) / file_.temporary().filename();
        const int opened = sqlite3_open_v2(place.c_str(), &base, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, "unix-none");
        base_.reset(base);  // there is one, for its message, even if it could not be opened
        if (opened != SQLITE_OK) fail();
        sqlite3_limit(base_.get(), SQLITE_LIMIT_ATTACHED, 0);  // no statement reaches another file
        run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 16384");
        sqlite3_db_config(base_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        run("BEGIN");
        run("CREATE TABLE columns (name TEXT PRIMARY KEY, type TEXT, unit TEXT, meaning TEXT)");
        run("CREATE TABLE failures (run INTEGER PRIMARY KEY, message TEXT)");
        std::string table = "CREATE TABLE runs (", marks;
        for (const TableColumn& column : columns) {
            const char* type = type_name(column.type);
            table += fmt::format("{}{} {}", marks.empty() ? "" : ", ", sql_name(column.name), type);
            if (marks.empty()) table += " PRIMARY KEY";
            marks += marks.empty() ? "?" : ",?";
        }
        run(table + ")");
        insert_ = prepared("INSERT INTO runs VALUES (" + marks + ")");
        failed_ = prepared("INSERT INTO failures VALUES (?, ?)");
        describe(columns);
    }

    void row(std::span<const TableCell> cells) override { add(insert_.get(), cells); }
    void failure(std::uint64_t number, std::string_view message) override {
        add(failed_.get(), std::initializer_list<TableCell>{number, message});
    }
    void finish() override {
        run("COMMIT");
        insert_.reset();
        failed_.reset();
        base_.reset();
        file_.commit();
    }

private:
    static const char* type_name(TableColumn::Type type) {
        return type == TableColumn::Type::integer ? "INTEGER" : type == TableColumn::Type::real ? "REAL" : "TEXT";
    }
    void describe(const std::vector<TableColumn>& columns) {
        const Statement insert = prepared("INSERT INTO columns VALUES (?, ?, ?, ?)");
        for (const TableColumn& column : columns)
            add(insert.get(), std::initializer_list<TableCell>{column.name, type_name(column.type), column.unit, column.meaning});
    }
    void bind(sqlite3_stmt* statement, int at, const TableCell& cell) {
        if (const auto* integer = std::get_if<std::uint64_t>(&cell)) {
            if (*integer >> 63 != 0)
                sqlite3_bind_double(statement, at, static_cast<double>(*integer));  // it has no larger integers
            else
                sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(*integer));
        } else if (const auto* real = std::get_if<double>(&cell)) {
            sqlite3_bind_double(statement, at, *real);
        } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
            sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
        } else {
            sqlite3_bind_null(statement, at);
        }
    }
    /// A row of the statement's table.
    void add(sqlite3_stmt* statement, std::span<const TableCell> cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) bind(statement, static_cast<int>(i + 1), cells[i]);
        if (sqlite3_step(statement) != SQLITE_DONE) fail();
        sqlite3_reset(statement);
    }
    Statement prepared(const std::string& text) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(base_.get(), text.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail();
        return Statement(statement);
    }
    void run(const std::string& text) {
        if (sqlite3_exec(base_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
    }
    [[noreturn]] void fail() {
        const std::string why = base_ == nullptr ? "no memory" : sqlite3_errmsg(base_.get());
        const bool refused =
            base_ != nullptr && sqlite3_errcode(base_.get()) == SQLITE_ERROR;  // in a statement, which contains the names of columns
        throw InputError(fmt::format("cannot write '{}': {}; {}", name_.string(), why,
                                     refused ? "the statistics of the store do not fit into a database; use --csv" : "is the disk full?"));
    }

    fs::path name_;
    AtomicFile file_;
    std::unique_ptr<sqlite3, SqliteDeleter> base_;
    Statement insert_, failed_;
};

class CsvWriter final : public TableWriter {
public:
    CsvWriter(const fs::path& file, const std::vector<TableColumn>& columns) : rows_(file), columns_(file.string() + ".columns.csv") {
        columns_.write("name,unit,meaning\n");
        for (const TableColumn& column : columns) {
            line_ += fmt::format("{}{}", line_.empty() ? "" : ",", csv_field(column.name));
            columns_.write(fmt::format("{},{},{}\n", csv_field(column.name), csv_field(column.unit), csv_field(column.meaning)));
        }
        write_line();
    }
    void row(std::span<const TableCell> cells) override {
        char digits[32];
        const auto number = [&](auto value) { line_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr); };
        for (const TableCell& cell : cells) {
            if (&cell != cells.data()) line_ += ',';
            if (const auto* integer = std::get_if<std::uint64_t>(&cell)) number(*integer);
            if (const auto* real = std::get_if<double>(&cell)) number(*real);
            if (const auto* text = std::get_if<std::string_view>(&cell)) line_ += csv_field(*text);
        }
        write_line();
    }
    void failure(std::uint64_t, std::string_view) override {}
    void finish() override {
        rows_.commit();
        columns_.commit();
    }

private:
    void write_line() {
        line_ += '\n';
        rows_.write(line_);
        line_.clear();
    }

    AtomicFile rows_, columns_;
    std::string line_;
};

}  // namespace

std::unique_ptr<TableWriter> write_sqlite(const fs::path& file, const std::vector<TableColumn>& columns) {
    return std::make_unique<SqliteWriter>(file, columns);
}
std::unique_ptr<TableWriter> write_csv(const fs::path& file, const std::vector<TableColumn>& columns) {
    return std::make_unique<CsvWriter>(file, columns);
}

}  // namespace mergelane::study
