// SPDX-License-Identifier: MIT
// Results on disk: a directory of append-only files with one record per line, one file for each process that worked there.
//
// A record is written with one write() at the end of its file, so that whatever kills the process leaves at most one torn line, the
// last; reading drops it. Any number of processes on any number of hosts may work in one store: each writes its own file, nobody waits for
// anybody, and no lock is taken, as network file systems do not keep them reliably.
//
// There is one reader, read_index(). It holds no records, only where their lines are: a million runs take a tenth of a gigabyte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runs/record.hpp"
#include "runs/record_file.hpp"

namespace mergelane::study {

/// What need not be read: bytes that a plan knows of, and what other shards of the same plan write, who never have our runs.
struct StoreScope {
    CoveredFiles known;
    std::string plan;  ///< how names of this plan's files begin; empty: read all
    std::uint32_t shard = 0, shards = 1;
};

struct KnownRun {
    LinePlace place;
    std::uint64_t outcome = 0;  ///< RecordLine::outcome()
    std::uint32_t file = 0;
    float seconds = 0;
    bool done = false;
};

struct StoreIndex {
    enum class Line { added, known, damaged };

    std::vector<std::filesystem::path> files;
    std::unordered_map<RunKey, KnownRun, RunKeyHash> runs;  ///< a run that finished hides its failures
    std::vector<std::string> conflicts;  ///< runs with two different results, as sentences: the simulator was not deterministic
    LineNotes damaged;                   ///< lines that are no records and not the last of their file
    std::size_t torn = 0;                ///< last lines that were not written to their end
    std::size_t duplicates = 0;          ///< records of runs that had finished before
    std::uint64_t bytes = 0;             ///< of all files
    CoveredFiles read;                   ///< how far each was read

    const KnownRun* find(const RunKey& key) const;
    /// Takes a line of files[file] in.
    Line add(const FileLine& line, std::uint32_t file);
    /// The same of one whose members the caller has read.
    Line add(const RecordLine& line, const FileLine& written, std::uint32_t file);
    /// Finished runs by key.
    std::vector<std::pair<RunKey, const KnownRun*>> finished() const;
};

/// A directory that is not there is an empty store; a file is a store of its own. Throws InputError when a file cannot be read, or is of
/// schema 2.
StoreIndex read_index(const std::filesystem::path& directory, const StoreScope& scope = {},
                      const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

struct StoreFile {
    std::filesystem::path path;
    std::uint64_t from = 0;  ///< bytes before it are held by another file
};
/// Files to read, by name. What a merged file holds is not read a second time. Throws InputError for stores of schema 2.
std::vector<StoreFile> store_files(const std::filesystem::path& directory);

/// Reads lines of an index again, in any order; in the order of their files is quickest.
class LineReader {
public:
    explicit LineReader(const StoreIndex& index) : index_(index) {}
    /// Valid until the next call.
    std::string_view line(const KnownRun& run);

private:
    const StoreIndex& index_;
    std::unordered_map<std::uint32_t, RecordFile> open_;
    std::size_t held_ = 0;  ///< bytes, by all that are open
};

/// All records of a store in memory, for the few thousand runs of a study.
struct StoreContents {
    std::map<std::string, RunRecord> runs;  ///< by key
    std::vector<std::string> conflicts;     ///< as in StoreIndex

    const RunRecord* finished(const std::string& key) const;
};
StoreContents read_store(const std::filesystem::path& directory);

/// Throws an InputError that says how to convert it.
[[noreturn]] void refuse_schema2(const std::filesystem::path& store);

/// The first line of a merged file: which files it holds.
bool is_cover_line(std::string_view line);
/// Nothing when it is none.
std::optional<CoveredFiles> covered_files(std::string_view line);
std::string cover_line(const CoveredFiles& files);

/// For writing: one file of the store, this process's own.
class Store {
public:
    /// Makes the directory; `label` begins the file's name. Throws InputError when it cannot.
    explicit Store(std::filesystem::path directory, std::string label = "");
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    void append(const RunRecord& record) { append_line(to_line(record)); }
    /// As to_line() writes it.
    void append_line(std::string_view line);
    /// All of it is on the disk, or an InputError: a network file system may say only now that there was no room.
    void sync();

private:
    void open_file();
    bool removed() const;

    std::filesystem::path directory_;
    std::string label_;
    std::filesystem::path file_;
    int fd_ = -1;  ///< opened with the first record
};

}  // namespace mergelane::study
