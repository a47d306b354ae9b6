// SPDX-License-Identifier: MIT
#include "runs/store_index.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "runs/json_number.hpp"
#include "runs/pack.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSumDigits = 16;
constexpr std::string_view kCoverMark = "{\"merged\":";

/// Files to have open at a time. Shards take turns in a plan, so reading in its order goes through all their files again and again.
std::size_t most_open() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 100;
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 65536);
    setrlimit(RLIMIT_NOFILE, &files);
    return std::max<std::size_t>(100, files.rlim_cur / 2);
}

/// A line by its text alone: all but the numbers of interest stays unread.
struct LineFacts {
    std::string_view key;
    std::string_view outcome;
    double seconds = 0;
    bool done = false;
};

std::string_view after(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    return at == std::string_view::npos ? std::string_view{} : text.substr(at + mark.size());
}

/// Of a line whose checksum is right, as to_line() writes it: quotes within texts are escaped, so no text contains a mark.
std::optional<LineFacts> written_facts(std::string_view line) {
    static const std::string begin = fmt::format("{{\"schema\":{},\"key\":\"", kSchema);
    if (!line.starts_with(begin)) return std::nullopt;
    line.remove_suffix(kSumMark.size() + kSumDigits + 2);
    LineFacts facts;
    facts.key = line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
    line.remove_prefix(begin.size() + facts.key.size());
    facts.done = line.starts_with("\",\"status\":\"done\"");
    const std::string_view seconds = after(line, ",\"seconds\":");
    std::from_chars(seconds.data(), seconds.data() + seconds.size(), facts.seconds);
    facts.outcome = after(seconds, ",\"model\":");
    return facts;
}

}  // namespace

std::string checksum(std::string_view text) {
    return hash_text(text).substr(0, kSumDigits);
}
bool has_sum(std::string_view line) {
    const std::size_t tail = kSumMark.size() + kSumDigits + 2;
    return line.size() > tail && line.ends_with("\"}") && line.substr(line.size() - tail).starts_with(kSumMark);
}
bool sum_is_right(std::string_view line) {
    const std::size_t body = line.size() - kSumMark.size() - kSumDigits - 2;
    return line.substr(body + kSumMark.size(), kSumDigits) == checksum(line.substr(0, body));
}

bool is_cover_line(std::string_view line) {
    return line.starts_with(kCoverMark);
}
std::string cover_line(const CoveredFiles& files) {
    nlohmann::json json;
    json["merged"] = files;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string damaged_text(const std::string& where) {
    return fmt::format("{} is damaged or of another version and was left out", where);
}

namespace {

/// What merged files hold, by name; of two that hold the same file the one that holds more counts.
std::map<std::string, std::uint64_t> covered(const std::vector<fs::path>& files) {
    std::map<std::string, std::uint64_t> held;
    struct Enough {};
    for (const fs::path& file : files) {
        if (!file.filename().string().ends_with(kMergedSuffix)) continue;
        try {
            RecordFile(file).scan(0, [&](const FileLine& line) {
                const auto json = nlohmann::json::parse(is_cover_line(line.text) ? line.text : "{}", nullptr, false);
                for (const auto& entry : json.value("merged", nlohmann::json::array())) {
                    std::uint64_t& bytes = held[entry.at(0).get<std::string>()];
                    bytes = std::max(bytes, natural(entry.at(1)));
                }
                throw Enough{};
            });
        } catch (const Enough&) {
        } catch (const nlohmann::json::exception&) {
            throw InputError(fmt::format("{}: its first line does not say what was merged; remove it and merge again", file.string()));
        }
    }
    return held;
}

bool is_plain(const fs::path& file) {
    return file.extension() == kPlainSuffix;
}

}  // namespace

std::vector<StoreFile> store_files(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code missing;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, missing)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(kPlainSuffix) || name.ends_with(kPackSuffix) || name.ends_with(kMergedSuffix)) files.push_back(entry.path());
    }
    if (missing && missing != std::errc::no_such_file_or_directory)
        throw InputError(fmt::format("cannot read '{}': {}; check the permissions of the store", directory.string(), missing.message()));
    std::sort(files.begin(), files.end());
    const std::map<std::string, std::uint64_t> held = covered(files);
    std::vector<StoreFile> list;
    for (fs::path& file : files) {
        const auto at = held.find(file.filename().string());
        if (at == held.end()) {
            list.push_back({std::move(file), 0});
        } else if (is_plain(file)) {
            list.push_back({std::move(file), at->second});
        }
    }
    return list;
}

const KnownRun* StoreIndex::find(const RunKey& key) const {
    const auto at = runs.find(key);
    return at == runs.end() ? nullptr : &at->second;
}

bool StoreIndex::add(const FileLine& written, std::uint32_t file) {
    const std::string_view line = written.text;
    std::optional<LineFacts> facts;
    std::string rewritten;
    if (has_sum(line)) {
        if (sum_is_right(line)) facts = written_facts(line);
    } else if (const std::optional<RunRecord> record = from_line(line)) {
        rewritten = to_line(*record);
        rewritten.pop_back();
        facts = written_facts(rewritten);
    }
    if (!facts) return false;
    const KnownRun run{written.place, hash_bits(facts->outcome).low, file, static_cast<float>(facts->seconds), facts->done};
    const auto [at, is_new] = runs.try_emplace(key_of(facts->key), run);
    if (is_new) return true;
    if (!at->second.done) {
        at->second = run;
    } else if (run.done) {
        ++duplicates;
        if (at->second.outcome == run.outcome) return true;
        const std::optional<RunRecord> one = from_line(LineReader(*this).line(at->second));
        const std::optional<RunRecord> other = from_line(line);
        if (one && other && !one->agrees_with(*other))
            conflicts.push_back(conflict_text(*one, *other, fmt::format("{}:{}", files[file].filename().string(), written.number)));
    }
    return true;
}

namespace {

/// Of another shard of the same plan: its runs are not ours.
bool is_of_another_shard(const std::string& name, const StoreScope& scope) {
    if (scope.plan.empty() || !name.starts_with(scope.plan + ".s")) return false;
    const std::string_view rest = std::string_view(name).substr(scope.plan.size() + 2);
    std::uint32_t shard = 0, shards = 0;
    const auto [of, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), shard);
    const std::string_view tail = rest.substr(static_cast<std::size_t>(of - rest.data()));
    if (problem != std::errc{} || !tail.starts_with("of")) return false;
    if (std::from_chars(tail.data() + 2, tail.data() + tail.size(), shards).ec != std::errc{}) return false;
    return shards == scope.shards && shard != scope.shard;
}

}  // namespace

namespace {

StoreIndex index_once(const fs::path& directory, const StoreScope& scope,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    const std::map<std::string, std::uint64_t> known(scope.known.begin(), scope.known.end());
    std::vector<StoreFile> wanted;
    std::uint64_t total = 0;
    for (StoreFile& file : store_files(directory)) {
        const std::string name = file.path.filename().string();
        if (is_of_another_shard(name, scope)) continue;
        std::error_code gone;
        const std::uint64_t size = fs::file_size(file.path, gone);
        if (gone) throw FileIsGone(file.path);
        if (const auto at = known.find(name); at != known.end()) {
            if (at->second >= size) continue;
            if (is_plain(file.path)) file.from = std::max(file.from, at->second);
        }
        total += size - std::min(size, file.from);
        wanted.push_back(std::move(file));
    }
    StoreIndex index;
    std::uint64_t read = 0;
    for (const StoreFile& file : wanted) {
        const auto number = static_cast<std::uint32_t>(index.files.size());
        index.files.push_back(file.path);
        RecordFile lines(file.path);
        bool readable = true;
        std::uint64_t whole = is_plain(file.path) ? file.from : lines.bytes();
        lines.scan(file.from, [&](const FileLine& line) {
            if (!line.whole) {
                ++index.torn;
                return;
            }
            if (!index.add(line, number) && !is_cover_line(line.text)) {
                index.damaged.push_back(damaged_text(fmt::format("{}:{}", file.path.filename().string(), line.number)));
                readable = false;  // it may be another version's, or come back: nobody may say that it was read
            }
            if (is_plain(file.path) && readable) whole = line.place.offset + line.place.length + 1;
        });
        index.bytes += lines.bytes();
        read += lines.bytes() - std::min(lines.bytes(), file.from);
        index.read.emplace_back(file.path.filename().string(), whole);
        if (progress) progress(read, total);
    }
    return index;
}

}  // namespace

StoreIndex read_index(const fs::path& directory, const StoreScope& scope,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    constexpr int kTries = 5;
    for (int i = 1; i < kTries; ++i) {
        try {
            return index_once(directory, scope, progress);
        } catch (const FileIsGone&) {  // someone merged meanwhile: what it held is in another file now
        }
    }
    return index_once(directory, scope, progress);
}

std::string_view LineReader::line(const KnownRun& run) {
    auto at = open_.find(run.file);
    if (at == open_.end()) {
        static const std::size_t most = most_open();
        if (open_.size() >= most) open_.clear();
        at = open_.emplace(run.file, RecordFile(index_.files[run.file])).first;
    }
    return at->second.read(run.place);
}

}  // namespace mergelane::study
