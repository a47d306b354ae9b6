// SPDX-License-Identifier: MIT
// Tables as SQLite, CSV and Parquet.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "campaign/run_table.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_write(const fs::path& file, std::string_view why) {
    throw InputError(
        fmt::format("cannot write '{}': {}; check that its directory exists, is writable and has free space", file.string(), why));
}

fs::path unfinished_name(const fs::path& file) {
    return file.parent_path() / fmt::format(".{}.{}", file.filename().string(), getpid());
}

void take_name(const fs::path& from, const fs::path& to) {
    std::error_code problem;
    fs::rename(from, to, problem);
    if (problem) cannot_write(to, problem.message());
}

std::string sql_name(std::string_view name) {
    return fmt::format("\"{}\"", name);  // no name of ours has a quote
}

/// One process writes a file nobody else knows of: no locks, which network file systems lack, and no journal.
class SqliteWriter final : public TableWriter {
public:
    SqliteWriter(const fs::path& file, const std::vector<TableColumn>& columns) : file_(file), unfinished_(unfinished_name(file)) {
        std::error_code ignored;
        fs::remove(unfinished_, ignored);
        if (sqlite3_open_v2(unfinished_.c_str(), &base_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none") != SQLITE_OK) fail();
        run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 16384; BEGIN");
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
    ~SqliteWriter() override {
        close();
        std::error_code ignored;
        fs::remove(unfinished_, ignored);
    }

    void row(std::span<const TableCell> cells) override {
        for (std::size_t i = 0; i < cells.size(); ++i) bind(insert_, static_cast<int>(i + 1), cells[i]);
        step(insert_);
    }
    void failure(std::uint64_t number, std::string_view message) override {
        bind(failed_, 1, {TableCell::Kind::integer, number, 0, {}});
        bind(failed_, 2, {TableCell::Kind::text, 0, 0, message});
        step(failed_);
    }
    void finish() override {
        run("COMMIT");
        close();
        take_name(unfinished_, file_);
    }

private:
    static const char* type_name(TableColumn::Type type) {
        return type == TableColumn::Type::integer ? "INTEGER" : type == TableColumn::Type::real ? "REAL" : "TEXT";
    }
    void describe(const std::vector<TableColumn>& columns) {
        sqlite3_stmt* insert = prepared("INSERT INTO columns VALUES (?, ?, ?, ?)");
        for (const TableColumn& column : columns) {
            int at = 0;
            for (const std::string_view text : {std::string_view(column.name), std::string_view(type_name(column.type)),
                                                std::string_view(column.unit), std::string_view(column.meaning)})
                bind(insert, ++at, {TableCell::Kind::text, 0, 0, text});
            step(insert);
        }
        sqlite3_finalize(insert);
    }
    void bind(sqlite3_stmt* statement, int at, const TableCell& cell) {
        switch (cell.kind) {
            case TableCell::Kind::empty: sqlite3_bind_null(statement, at); break;
            case TableCell::Kind::integer:
                if (cell.integer >> 63 != 0)
                    sqlite3_bind_double(statement, at, static_cast<double>(cell.integer));  // it has no larger integers
                else
                    sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(cell.integer));
                break;
            case TableCell::Kind::real: sqlite3_bind_double(statement, at, cell.real); break;
            case TableCell::Kind::text:
                sqlite3_bind_text(statement, at, cell.text.data(), static_cast<int>(cell.text.size()), SQLITE_STATIC);
                break;
        }
    }
    void step(sqlite3_stmt* statement) {
        if (sqlite3_step(statement) != SQLITE_DONE) fail();
        sqlite3_reset(statement);
    }
    sqlite3_stmt* prepared(const std::string& text) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(base_, text.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail();
        return statement;
    }
    void run(const std::string& text) {
        if (sqlite3_exec(base_, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
    }
    void close() {
        sqlite3_finalize(std::exchange(insert_, nullptr));
        sqlite3_finalize(std::exchange(failed_, nullptr));
        sqlite3_close(std::exchange(base_, nullptr));
    }
    [[noreturn]] void fail() {
        const std::string why = base_ == nullptr ? "no memory" : sqlite3_errmsg(base_);
        close();
        std::error_code ignored;
        fs::remove(unfinished_, ignored);
        cannot_write(file_, why);
    }

    fs::path file_, unfinished_;
    sqlite3* base_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
    sqlite3_stmt* failed_ = nullptr;
};

class CsvWriter final : public TableWriter {
public:
    CsvWriter(const fs::path& file, const std::vector<TableColumn>& columns)
        : name_(file), unfinished_(unfinished_name(file)), out_(std::fopen(unfinished_.c_str(), "wb")) {
        if (out_ == nullptr) cannot_write(name_, std::generic_category().message(errno));
        for (const TableColumn& column : columns) {
            line_ += fmt::format("{}{}", line_.empty() ? "" : ",", csv_field(column.name));
            described_ += fmt::format("{},{},{}\n", csv_field(column.name), csv_field(column.unit), csv_field(column.meaning));
        }
        write_line();
    }
    ~CsvWriter() override {
        if (out_ != nullptr) std::fclose(out_);
        std::error_code ignored;
        fs::remove(unfinished_, ignored);
    }
    void row(std::span<const TableCell> cells) override {
        char digits[32];
        for (const TableCell& cell : cells) {
            if (&cell != cells.data()) line_ += ',';
            if (cell.kind == TableCell::Kind::integer)
                line_.append(digits, std::to_chars(digits, digits + sizeof digits, cell.integer).ptr);
            if (cell.kind == TableCell::Kind::real) line_.append(digits, std::to_chars(digits, digits + sizeof digits, cell.real).ptr);
            if (cell.kind == TableCell::Kind::text) line_ += csv_field(cell.text);
        }
        write_line();
    }
    void failure(std::uint64_t, std::string_view) override {}
    void finish() override {
        if (std::fclose(std::exchange(out_, nullptr)) != 0) cannot_write(name_, std::generic_category().message(errno));
        take_name(unfinished_, name_);
        const fs::path beside = name_.string() + ".columns.csv";
        std::FILE* file = std::fopen(beside.c_str(), "wb");
        const std::string text = "name,unit,meaning\n" + described_;
        const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
        if ((file != nullptr && std::fclose(file) != 0) || !written) cannot_write(beside, std::generic_category().message(errno));
    }

private:
    void write_line() {
        line_ += '\n';
        if (std::fwrite(line_.data(), 1, line_.size(), out_) != line_.size()) cannot_write(name_, std::generic_category().message(errno));
        line_.clear();
    }

    fs::path name_, unfinished_;
    std::FILE* out_;
    std::string line_, described_;
};

/// The few functions of DuckDB's C interface that are needed, found when the program runs: no Debian 12 package has it.
class DuckDb {
public:
    DuckDb() {
        const char* chosen = std::getenv("MERGELANE_DUCKDB");
        library_ = dlopen(chosen != nullptr ? chosen : "libduckdb.so", RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr)
            throw InputError(fmt::format(
                "Parquet requires libduckdb.so, which was not found ({}); set MERGELANE_DUCKDB to its path, or use --sqlite or --csv",
                dlerror()));
        const bool open = call<int>("duckdb_open", static_cast<const char*>(nullptr), &base_) == 0 &&
                          call<int>("duckdb_connect", base_, &connection_) == 0;
        if (!open) throw InputError("libduckdb.so does not open a database in memory; is it whole?");
    }
    ~DuckDb() {
        if (connection_ != nullptr) call<void>("duckdb_disconnect", &connection_);
        if (base_ != nullptr) call<void>("duckdb_close", &base_);
    }
    DuckDb(const DuckDb&) = delete;
    DuckDb& operator=(const DuckDb&) = delete;

    /// The complaint, or nothing.
    std::string query(const std::string& text) {
        alignas(16) unsigned char result[256] = {};  // a duckdb_result is 48 bytes
        std::string complaint;
        if (call<int>("duckdb_query", connection_, text.c_str(), static_cast<void*>(result)) != 0) {
            const char* const why = call<const char*>("duckdb_result_error", static_cast<void*>(result));
            complaint = why == nullptr ? "no reason given" : why;
        }
        call<void>("duckdb_destroy_result", static_cast<void*>(result));
        return complaint;
    }

private:
    template <typename Result, typename... Arguments>
    Result call(const char* name, Arguments... arguments) {
        void* const found = dlsym(library_, name);
        if (found == nullptr) throw InputError(fmt::format("libduckdb.so has no function {}; use one of version 0.8 or later", name));
        return reinterpret_cast<Result (*)(Arguments...)>(found)(arguments...);
    }

    void* library_ = nullptr;  // never closed: its threads may outlive us
    void* base_ = nullptr;
    void* connection_ = nullptr;
};

/// Rows go to a CSV file beside it, which DuckDB makes a Parquet file of.
class ParquetWriter final : public TableWriter {
public:
    ParquetWriter(const fs::path& file, const std::vector<TableColumn>& columns)
        : name_(file), rows_(unfinished_name(file).string() + ".csv"), csv_(std::make_unique<CsvWriter>(rows_, columns)) {
        for (const TableColumn& column : columns) {
            const char* type = column.type == TableColumn::Type::integer ? "UBIGINT"
                               : column.type == TableColumn::Type::real  ? "DOUBLE"
                                                                         : "VARCHAR";
            types_ += fmt::format("{}'{}': '{}'", types_.empty() ? "" : ", ", column.name, type);
        }
    }
    ~ParquetWriter() override {
        std::error_code ignored;
        for (const fs::path& file : {rows_, fs::path(rows_.string() + ".columns.csv"), unfinished_name(name_)}) fs::remove(file, ignored);
    }
    void row(std::span<const TableCell> cells) override { csv_->row(cells); }
    void failure(std::uint64_t, std::string_view) override {}
    void finish() override {
        csv_->finish();
        const std::string complaint = duckdb_.query(
            fmt::format("COPY (SELECT * FROM read_csv({}, header = true, columns = {{{}}})) TO {} (FORMAT PARQUET, CODEC 'ZSTD')",
                        literal(rows_), types_, literal(unfinished_name(name_))));
        if (!complaint.empty()) cannot_write(name_, complaint);
        take_name(unfinished_name(name_), name_);
        take_name(rows_.string() + ".columns.csv", name_.string() + ".columns.csv");
    }

private:
    static std::string literal(const fs::path& path) {
        std::string text = "'";
        for (const char c : path.string()) text += c == '\'' ? std::string("''") : std::string(1, c);
        return text + "'";
    }

    DuckDb duckdb_;
    fs::path name_, rows_;
    std::unique_ptr<CsvWriter> csv_;
    std::string types_;
};

}  // namespace

std::unique_ptr<TableWriter> write_sqlite(const fs::path& file, const std::vector<TableColumn>& columns) {
    return std::make_unique<SqliteWriter>(file, columns);
}
std::unique_ptr<TableWriter> write_csv(const fs::path& file, const std::vector<TableColumn>& columns) {
    return std::make_unique<CsvWriter>(file, columns);
}
std::unique_ptr<TableWriter> write_parquet(const fs::path& file, const std::vector<TableColumn>& columns) {
    return std::make_unique<ParquetWriter>(file, columns);
}

}  // namespace mergelane::study
