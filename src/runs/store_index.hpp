// SPDX-License-Identifier: MIT
// What a store has, without holding its records: which runs ended, where their lines are, and whether two results of one key differ.
// A million runs take a tenth of a gigabyte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runs/record_file.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

/// The checksum that ends a line; lines of before have none.
inline constexpr std::string_view kSumMark = ",\"sum\":\"";
std::string checksum(std::string_view text);
bool has_sum(std::string_view line);
bool sum_is_right(std::string_view line);
/// The first line of a merged file: which files it holds.
bool is_cover_line(std::string_view line);
std::string cover_line(const CoveredFiles& files);
std::string damaged_text(const std::string& where);

struct StoreFile {
    std::filesystem::path path;
    std::uint64_t from = 0;  ///< bytes before it are known already
};
/// Files to read, by name. What a merged file holds is not read a second time.
std::vector<StoreFile> store_files(const std::filesystem::path& directory);

/// What need not be read: bytes that a plan knows of, and what other shards of the same plan write, who never have our runs.
struct StoreScope {
    CoveredFiles known;
    std::string plan;  ///< how names of this plan's files begin; empty: read all
    std::uint32_t shard = 0, shards = 1;
};

struct KnownRun {
    LinePlace place;
    std::uint64_t outcome = 0;  ///< hash of what must be the same whenever and wherever it runs
    std::uint32_t file = 0;
    float seconds = 0;
    bool done = false;
};

struct StoreIndex {
    std::vector<std::filesystem::path> files;
    std::unordered_map<RunKey, KnownRun, RunKeyHash> runs;
    std::vector<std::string> conflicts;  ///< as in StoreContents
    std::vector<std::string> damaged;
    std::size_t torn = 0;
    std::size_t duplicates = 0;
    std::uint64_t bytes = 0;  ///< of all its files
    CoveredFiles read;        ///< how far each was read

    const KnownRun* find(const RunKey& key) const;
    /// Takes a line of files[file] in; false: it is no record.
    bool add(const FileLine& line, std::uint32_t file);
};
/// A directory that is not there is an empty store.
StoreIndex read_index(const std::filesystem::path& directory, const StoreScope& scope = {},
                      const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

/// Reads lines of an index again, in any order; in the order of their files is quickest.
class LineReader {
public:
    explicit LineReader(const StoreIndex& index) : index_(index) {}
    /// Valid until the next call.
    std::string_view line(const KnownRun& run);

private:
    const StoreIndex& index_;
    std::unordered_map<std::uint32_t, RecordFile> open_;
};

}  // namespace mergelane::study
