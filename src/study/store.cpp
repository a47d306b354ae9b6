// SPDX-License-Identifier: MIT
#include "study/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/result.hpp"
#include "study/pack.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {
using Json = nlohmann::ordered_json;
constexpr std::string_view kSuffix = ".jsonl";

bool is_packed(const fs::path& file) {
    return file.filename().string().ends_with(kPackSuffix);
}
}  // namespace

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
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<RunRecord> from_line(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    try {
        if (json.at("schema").get<int>() != kSchema) return std::nullopt;
        RunRecord r;
        r.key = json.at("key");
        r.done = json.at("status") == "done";
        r.spec = {json.at("gpu"), json.at("overrides"), json.at("workload"), json.at("size"), json.at("seed")};
        r.spec.kernels = json.value("kernels", "");
        r.seconds = json.at("seconds");
        if (r.done) {
            r.version = json.at("version");
            r.model = json.at("model");
            r.config_hash = json.at("config_hash");
            r.digest = json.at("digest");
            r.cycles = json.at("cycles");
            r.warp_instructions = json.at("warp_instructions");
            r.stats = json.at("stats").get<std::map<std::string, std::uint64_t>>();
            r.highest = json.value("highest", std::map<std::string, std::uint64_t>{});
            for (const Json& k : json.value("launched", Json::array())) r.kernels.push_back({k.at(0), k.at(1), k.at(2)});
        } else {
            r.message = json.at("message");
        }
        return r;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
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
        if (!at->second.agrees_with(record))
            conflicts.push_back(fmt::format("run {} ({} on {}) has two different results, digests {} and {} ({})", record.key,
                                            record.spec.workload, record.spec.gpu, at->second.digest, record.digest, where));
    }
}

StoreContents read_store(const fs::path& directory) {
    StoreContents contents;
    std::error_code missing;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, missing)) {
        if (entry.path().extension() == kSuffix || is_packed(entry.path())) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        if (is_packed(file)) text = unpacked(text, file.string());
        std::size_t number = 0;
        for (std::size_t at = 0; at < text.size();) {
            ++number;
            const std::size_t end = text.find('\n', at);
            const bool whole = end != std::string::npos;
            const std::string_view line = std::string_view(text).substr(at, whole ? end - at : std::string::npos);
            at = whole ? end + 1 : text.size();
            const std::string where = fmt::format("{}:{}", file.filename().string(), number);
            if (!whole) {
                ++contents.torn;
            } else if (std::optional<RunRecord> record = from_line(line)) {
                contents.add(std::move(*record), where);
            } else {
                contents.damaged.push_back(fmt::format("{} is not a record of this version and was left out", where));
            }
        }
    }
    return contents;
}

Store::Store(fs::path directory) : directory_(std::move(directory)) {
    std::error_code problem;
    fs::create_directories(directory_, problem);
    const fs::path lock = directory_ / "lock";
    lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0)
        throw InputError(fmt::format("cannot keep results in '{}' ({}); choose another directory with --store", directory_.string(),
                                     std::strerror(errno)));
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        close(lock_);
        throw InputError(
            fmt::format("another mergelane works in '{}'; wait for it, or choose another directory with --store", directory_.string()));
    }
}

Store::~Store() {
    if (fd_ >= 0) close(fd_);
    if (lock_ >= 0) close(lock_);
}

void Store::open_file() {
    char host[128] = "host";
    if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "host");
    for (int again = 0; fd_ < 0; ++again) {
        file_ = directory_ / fmt::format("{}.{}.{}{}", host, getpid(), again, kSuffix);
        fd_ = open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno != EEXIST) throw InputError(fmt::format("cannot write '{}': {}", file_.string(), std::strerror(errno)));
    }
}

void Store::append(const RunRecord& record) {
    if (fd_ < 0) open_file();
    const std::string line = to_line(record);
    const ssize_t written = write(fd_, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) return;
    throw InputError(
        fmt::format("cannot write '{}': {}; what finished before is kept", file_.string(), written < 0 ? std::strerror(errno) : "no room"));
}

}  // namespace mergelane::study
