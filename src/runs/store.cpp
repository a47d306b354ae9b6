// SPDX-License-Identifier: MIT
#include "runs/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/result.hpp"
#include "runs/json_number.hpp"
#include "runs/record_file.hpp"
#include "runs/store_index.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {
using Json = nlohmann::ordered_json;
}  // namespace

std::optional<std::uint64_t> RunRecord::kernel_cycles() const {
    if (kernels.empty() && cycles != 0) return std::nullopt;
    std::uint64_t sum = 0;
    for (const KernelRecord& kernel : kernels) sum += kernel.cycles;
    return sum;
}

std::uint64_t RunRecord::stat(const std::string& name) const {
    if (const auto at = stats.find(name); at != stats.end()) return at->second;
    std::vector<std::string_view> known;
    for (const auto& [counted, value] : stats) known.push_back(counted);
    throw InputError(fmt::format("{} on {}: {}", spec.workload, spec.gpu, unknown_statistic(name, known)));
}

bool RunRecord::agrees_with(const RunRecord& other) const {
    // One of them may be of a version that counts more, and then has another digest.
    const auto counts_the_same = [&other](const auto& stat) {
        const auto at = other.stats.find(stat.first);
        return at == other.stats.end() || at->second == stat.second;
    };
    return key == other.key && model == other.model && config_hash == other.config_hash && cycles == other.cycles &&
           warp_instructions == other.warp_instructions && std::all_of(stats.begin(), stats.end(), counts_the_same) &&
           (stats.size() != other.stats.size() || digest == other.digest);
}

std::string to_line(const RunRecord& r) {
    Json json;
    json["schema"] = kSchema;
    json["key"] = r.key;
    json["status"] = r.done ? "done" : "failed";
    json["gpu"] = r.spec.gpu;
    json["overrides"] = r.spec.overrides;
    json["workload"] = r.spec.workload;
    json["size"] = r.spec.size;
    json["seed"] = r.spec.seed;
    if (!r.spec.kernels.empty()) json["kernels"] = r.spec.kernels;
    json["seconds"] = r.seconds;
    if (r.done) {
        json["version"] = r.version;
        json["model"] = r.model;
        json["config_hash"] = r.config_hash;
        json["digest"] = r.digest;
        json["cycles"] = r.cycles;
        json["warp_instructions"] = r.warp_instructions;
        json["stats"] = r.stats;
        json["highest"] = r.highest;
        Json launched = Json::array();
        for (const KernelRecord& k : r.kernels) launched.push_back({k.name, k.cycles, k.warp_instructions});
        json["launched"] = std::move(launched);
    } else {
        json["message"] = r.message;
    }
    std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    line.pop_back();
    line += fmt::format("{}{}\"}}\n", kSumMark, checksum(line));
    return line;
}

/// Lines of before have no checksum; one whose checksum is unreadable must not pass for such a line.
static bool has_only_known_keys(const Json& json) {
    static const std::set<std::string, std::less<>> known{
        "schema",  "key",   "status",      "gpu",    "overrides", "workload",          "size",  "seed",    "kernels",  "seconds",
        "version", "model", "config_hash", "digest", "cycles",    "warp_instructions", "stats", "highest", "launched", "message"};
    return std::all_of(json.items().begin(), json.items().end(), [](const auto& item) { return known.contains(item.key()); });
}

std::optional<RunRecord> from_line(std::string_view line) {
    if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (has_sum(line) && !sum_is_right(line)) return std::nullopt;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || (!has_sum(line) && !has_only_known_keys(json))) return std::nullopt;
    try {
        if (natural(json.at("schema")) != kSchema) return std::nullopt;
        RunRecord r;
        r.key = json.at("key");
        r.done = json.at("status") == "done";
        r.spec = {json.at("gpu"), json.at("overrides"), json.at("workload"), json.at("size"), natural(json.at("seed"))};
        r.spec.kernels = json.value("kernels", "");
        r.seconds = json.at("seconds");
        if (r.done) {
            r.version = json.at("version");
            r.model = static_cast<std::uint32_t>(natural(json.at("model")));
            r.config_hash = json.at("config_hash");
            r.digest = json.at("digest");
            r.cycles = natural(json.at("cycles"));
            r.warp_instructions = natural(json.at("warp_instructions"));
            r.stats = naturals(json.at("stats"));
            r.highest = naturals(json.value("highest", Json::object()));
            for (const Json& k : json.value("launched", Json::array())) r.kernels.push_back({k.at(0), natural(k.at(1)), natural(k.at(2))});
        } else {
            r.message = json.at("message");
        }
        return r;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

std::string conflict_text(const RunRecord& one, const RunRecord& other, const std::string& where) {
    return fmt::format("run {} ({} on {}) has two different results, digests {} and {} ({})", one.key, one.spec.workload, one.spec.gpu,
                       one.digest, other.digest, where);
}

const RunRecord* StoreContents::finished(const std::string& key) const {
    const auto at = runs.find(key);
    return at == runs.end() || !at->second.done ? nullptr : &at->second;
}

void StoreContents::add(RunRecord record, const std::string& where) {
    const auto at = runs.find(record.key);
    if (at == runs.end()) {
        runs.emplace(record.key, std::move(record));
    } else if (!at->second.done) {
        at->second = std::move(record);
    } else if (record.done) {
        ++duplicates;
        if (!at->second.agrees_with(record)) conflicts.push_back(conflict_text(at->second, record, where));
    }
}

StoreContents read_store(const fs::path& directory) {
    StoreContents contents;
    for (const StoreFile& file : store_files(directory)) {
        RecordFile(file.path).scan(file.from, [&](const FileLine& line) {
            const std::string where = fmt::format("{}:{}", file.path.filename().string(), line.number);
            if (!line.whole) {
                ++contents.torn;
            } else if (std::optional<RunRecord> record = from_line(line.text)) {
                contents.add(std::move(*record), where);
            } else if (!is_cover_line(line.text)) {
                contents.damaged.push_back(damaged_text(where));
            }
        });
    }
    return contents;
}

Store::Store(fs::path directory, std::string label) : directory_(std::move(directory)), label_(std::move(label)) {
    std::error_code problem;
    fs::create_directories(directory_, problem);
    if (access(directory_.c_str(), W_OK | X_OK) != 0)
        throw InputError(fmt::format("cannot keep results in '{}' ({}); choose another directory with --store", directory_.string(),
                                     std::strerror(errno)));
}

Store::~Store() {
    if (fd_ >= 0) close(fd_);
}

void Store::open_file() {
    char host[128] = "host";
    if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "host");
    // Never a name that was used before: a merged file may say that it holds the first bytes of it.
    std::random_device random;
    while (fd_ < 0) {
        file_ = directory_ / fmt::format("{}{}.{}.{:08x}{:08x}{}", label_, host, getpid(), random(), random(), kPlainSuffix);
        fd_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno != EEXIST)
            throw InputError(
                fmt::format("cannot write '{}': {}; is there room, and may you write there?", file_.string(), std::strerror(errno)));
    }
}

/// By someone who merged the store and thought that nobody was at work. Its name goes first, see remove_merged_parts().
bool Store::removed() const {
    struct stat ours {
    }, named{};
    return fstat(fd_, &ours) != 0 || stat(file_.c_str(), &named) != 0 || ours.st_ino != named.st_ino;
}

void Store::sync() {
    if (fd_ >= 0 && fsync(fd_) != 0)
        throw InputError(fmt::format("cannot write '{}': {}; some of it may be lost; make room and give the same command again",
                                     file_.string(), std::strerror(errno)));
}

void Store::append_line(std::string_view line) {
    if (fd_ >= 0 && removed()) close(std::exchange(fd_, -1));
    if (fd_ < 0) open_file();
    write_whole(fd_, line, file_);
    if (!removed()) return;
    close(std::exchange(fd_, -1));
    open_file();
    write_whole(fd_, line, file_);
}

}  // namespace mergelane::study
