// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "core/error.hpp"
#include "core/json_text.hpp"
#include "files/toml_text.hpp"
#include "runs/line_cursor.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kCoverMark = "{\"merged\":";

/// Files to have open at a time. Shards take turns in a plan, so reading in its order goes through all their files again and again.
std::size_t most_open() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 100;
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 65536);
    setrlimit(RLIMIT_NOFILE, &files);
    return std::max<std::size_t>(100, files.rlim_cur / 2);
}

/// What merged files hold, by name; of two that hold the same file the one that holds more counts.
std::map<std::string, std::uint64_t> covered(const std::vector<fs::path>& files) {
    std::map<std::string, std::uint64_t> held;
    struct Enough {};
    for (const fs::path& file : files) {
        if (!is_packed_file(file)) continue;
        try {
            RecordFile(file).scan(0, [&](const FileLine& line) {
                if (!is_cover_line(line.text)) throw Enough{};
                const std::optional<CoveredFiles> merged = covered_files(line.text);
                if (!merged)
                    throw InputError(
                        fmt::format("{}: its first line does not say what was merged; remove it and merge again", file.string()));
                for (const auto& [name, bytes] : *merged) held[name] = std::max(held[name], bytes);
                throw Enough{};
            });
        } catch (const Enough&) {
        }
    }
    return held;
}

std::string place_text(const fs::path& file, std::uint64_t line) {
    return fmt::format("{}:{}", printable(file.filename().string(), kMaxConfigText), line);
}

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

StoreIndex index_once(const fs::path& directory, const StoreScope& scope,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    const std::map<std::string, std::uint64_t> known(scope.known.begin(), scope.known.end());
    std::vector<StoreFile> wanted;
    std::uint64_t total = 0;
    for (StoreFile& file : store_files(directory)) {
        const std::string name = file.path.filename().string();
        if (is_of_another_shard(name, scope)) continue;
        std::error_code problem;
        const std::uintmax_t bytes = fs::file_size(file.path, problem);
        if (problem == std::errc::no_such_file_or_directory) throw FileIsGone(file.path);
        const std::uint64_t size = problem ? 0 : bytes;  // RecordFile says what it is
        if (file.from > size) file.from = 0;             // it lost its end when the host failed, or is another file than was merged
        if (const auto at = known.find(name); at != known.end()) {
            if (at->second >= size) continue;
            if (!is_packed_file(file.path)) file.from = std::max(file.from, at->second);
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
        const bool packed = is_packed_file(file.path);
        std::uint64_t whole = packed ? lines.bytes() : file.from;
        lines.scan(file.from, [&](const FileLine& line) {
            if (!line.whole) {
                ++index.torn;
                return;
            }
            if (is_schema2(line.text)) refuse_schema2(directory);
            if (!is_cover_line(line.text) && index.add(line, number) == StoreIndex::Line::damaged) {
                index.damaged.add(fmt::format("{} is damaged or of another version and was left out", place_text(file.path, line.number)));
                readable = false;  // it may be another version's, or come back: nobody may say that it was read
            }
            if (!packed && readable) whole = line.place.offset + line.place.length + 1;
        });
        index.bytes += lines.bytes();
        read += lines.bytes() - std::min(lines.bytes(), file.from);
        index.read.emplace_back(file.path.filename().string(), whole);
        if (progress) progress(read, total);
    }
    return index;
}

StoreContents contents_once(const fs::path& directory) {
    const StoreIndex index = index_once(directory, {}, {});
    std::vector<const KnownRun*> order;
    for (const auto& [key, run] : index.runs) order.push_back(&run);
    const auto rank = [](const KnownRun* run) { return std::tuple(run->file, run->place.block, run->place.offset); };
    std::sort(order.begin(), order.end(), [&](const KnownRun* a, const KnownRun* b) { return rank(a) < rank(b); });
    StoreContents contents;
    contents.conflicts = index.conflicts;
    LineReader reader(index);
    for (const KnownRun* run : order) {
        if (std::optional<RunRecord> record = from_line(reader.line(*run))) {
            std::string key = record->key;
            contents.runs.emplace(std::move(key), std::move(*record));
        }
    }
    return contents;
}

/// Again when someone merged meanwhile: what a file held is in another one then.
template <typename Read>
auto until_whole(const Read& read) {
    constexpr int kTries = 5;
    for (int i = 1; i < kTries; ++i) {
        try {
            return read();
        } catch (const FileIsGone&) {
        }
    }
    return read();
}

}  // namespace

std::vector<StoreFile> store_files(const fs::path& directory) {
    if (is_xz_file(directory)) refuse_schema2(directory);
    if (fs::is_regular_file(directory)) return {{directory, 0}};
    std::vector<fs::path> files;
    std::error_code missing;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, missing)) {
        if (is_xz_file(entry.path())) refuse_schema2(directory);
        if (is_record_file(entry.path())) files.push_back(entry.path());
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
        } else if (!is_packed_file(file)) {
            list.push_back({std::move(file), at->second});
        }
    }
    return list;
}

void refuse_schema2(const fs::path& store) {
    throw InputError(
        fmt::format("'{0}' was written by an earlier version (record schema 2); convert it once: 'mergelane store convert {0} NEW_STORE'",
                    store.string()));
}

bool is_cover_line(std::string_view line) {
    return line.starts_with(kCoverMark);
}
std::string cover_line(const CoveredFiles& files) {
    nlohmann::json json = nlohmann::json::object();
    json["merged"] = files;
    return json_text(json);
}
std::optional<CoveredFiles> covered_files(std::string_view line) {
    CoveredFiles files;
    LineCursor at(line);
    at.array(kCoverMark, [&] {
        const std::string_view name = at.text("[");
        const auto bytes = at.number<std::uint64_t>(",");
        at.need("]");
        if (at.good()) files.emplace_back(plain_text(name), bytes);
    });
    at.need("}");
    return at.good() && at.left().empty() ? std::optional(std::move(files)) : std::nullopt;
}

const KnownRun* StoreIndex::find(const RunKey& key) const {
    const auto at = runs.find(key);
    return at == runs.end() ? nullptr : &at->second;
}

StoreIndex::Line StoreIndex::add(const FileLine& written, std::uint32_t file) {
    const std::optional<RecordLine> line = RecordLine::parse(written.text);
    if (!line || (line->done() ? !line->result() : !line->record())) return Line::damaged;
    return add(*line, written, file);
}

StoreIndex::Line StoreIndex::add(const RecordLine& line, const FileLine& written, std::uint32_t file) {
    const KnownRun run{written.place, line.outcome(), file, static_cast<float>(line.seconds()), line.done()};
    const auto [at, is_new] = runs.try_emplace(key_of(line.key()), run);
    KnownRun& before = at->second;
    if (is_new || !before.done) {
        before = run;
        return Line::added;
    }
    if (!run.done) return Line::known;
    ++duplicates;
    constexpr std::size_t kMostConflicts = 100;  // each takes a scan of its file
    if (before.outcome == run.outcome || conflicts.size() == kMostConflicts) return Line::known;
    // Either another result, or the same of a version with more statistics.
    const std::optional<RunRecord> one = from_line(LineReader(*this).line(before));
    const std::optional<RunRecord> other = line.record();
    if (!one || !other) return Line::damaged;
    if (one->agrees_with(*other)) return Line::known;
    const auto where = [&](std::uint32_t in, const LinePlace& place) {
        return printable(place_text(files[in], RecordFile(files[in]).number_of(place)));
    };
    // Texts of records come from outside, and this one goes to the terminal.
    const auto shown = [](const std::string& text) { return printable(text, 60); };
    conflicts.push_back(fmt::format("run {} ({} on {}) has two different results: digest {}, {} cycles ({}) and digest {}, {} cycles ({})",
                                    shown(one->key), shown(one->spec.workload), shown_path(one->spec.gpu), shown(one->digest), one->cycles,
                                    where(before.file, before.place), shown(other->digest), other->cycles, where(file, written.place)));
    return Line::known;
}

std::vector<std::pair<RunKey, const KnownRun*>> StoreIndex::finished() const {
    std::vector<std::pair<RunKey, const KnownRun*>> list;
    for (const auto& [key, run] : runs) {
        if (run.done) list.emplace_back(key, &run);
    }
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return list;
}

StoreIndex read_index(const fs::path& directory, const StoreScope& scope,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    return until_whole([&] { return index_once(directory, scope, progress); });
}

StoreContents read_store(const fs::path& directory) {
    return until_whole([&] { return contents_once(directory); });
}

const RunRecord* StoreContents::finished(const std::string& key) const {
    const auto at = runs.find(key);
    return at == runs.end() || !at->second.done ? nullptr : &at->second;
}

std::string_view LineReader::line(const KnownRun& run) {
    static const std::size_t most = most_open();
    constexpr std::size_t kMostHeld = std::size_t{128} << 20;
    if ((open_.size() >= most && !open_.contains(run.file)) || held_ > kMostHeld) {
        open_.clear();
        held_ = 0;
    }
    const auto [at, is_new] = open_.try_emplace(run.file, index_.files[run.file]);
    RecordFile& file = at->second;
    if (!is_new) held_ -= file.held();
    const std::string_view text = file.read(run.place);
    held_ += file.held();
    return text;
}

}  // namespace mergelane::study
