// SPDX-License-Identifier: MIT
// Results on disk: a directory of append-only files with one record per line, one file for each process that worked there.
//
// A record is written with one write() at the end of its file, so that whatever kills the process leaves at most one torn line, the
// last; reading drops it. Every line ends with a checksum of itself. Any number of processes on any number of hosts may work in one store:
// each writes its own file, nobody waits for anybody, and no lock is taken, as network file systems do not keep them reliably.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runs/plan.hpp"

namespace mergelane::study {

struct KernelRecord {
    std::string name;
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
};

/// What one simulation left behind, or why it left nothing.
struct RunRecord {
    std::string key;
    RunSpec spec;
    bool done = false;
    std::string message;  ///< of a run that failed
    // What must be the same whenever and wherever it runs:
    std::uint32_t model = 0;
    std::string version;
    std::string config_hash;
    std::string digest;
    std::uint64_t cycles = 0;
    std::uint64_t warp_instructions = 0;
    std::map<std::string, std::uint64_t> stats;
    std::map<std::string, std::uint64_t> highest;  ///< of one component, by statistic; none in records of earlier versions
    std::vector<KernelRecord> kernels;             ///< in the order they ran; none in records of earlier versions
    // What may differ:
    double seconds = 0;  ///< of CPU time

    /// Throws InputError for what the run did not count.
    std::uint64_t stat(const std::string& name) const;
    bool has_stat(const std::string& name) const { return stats.contains(name); }
    /// Without launch overhead; nothing when the record does not list its kernels.
    std::optional<std::uint64_t> kernel_cycles() const;
    /// Same simulation, same outcome.
    bool agrees_with(const RunRecord& other) const;
};

/// One line with its end; and back, nothing when it is not a whole record.
std::string to_line(const RunRecord& record);
std::optional<RunRecord> from_line(std::string_view line);

struct StoreContents {
    std::map<std::string, RunRecord> runs;  ///< by key; a run that finished hides its failures
    std::vector<std::string> conflicts;     ///< keys whose records differ, as sentences: the simulator was not deterministic
    std::vector<std::string> damaged;       ///< lines that are no records and not the last of their file, as sentences
    std::size_t torn = 0;                   ///< last lines that were not written to their end
    std::size_t duplicates = 0;             ///< records of runs that had finished before

    void add(RunRecord record, const std::string& where);
    const RunRecord* finished(const std::string& key) const;
};

/// A directory that is not there is an empty store.
StoreContents read_store(const std::filesystem::path& directory);

/// What to say when one simulation has two outcomes.
std::string conflict_text(const RunRecord& one, const RunRecord& other, const std::string& where);

/// For writing: one file of the store, this process's own.
class Store {
public:
    /// Makes the directory; `label` begins the file's name. Throws InputError when it cannot.
    explicit Store(std::filesystem::path directory, std::string label = "");
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const std::filesystem::path& directory() const { return directory_; }
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
