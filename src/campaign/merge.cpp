// SPDX-License-Identifier: MIT
#include "campaign/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "launch/runner.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAside = ".removed.";  ///< begins the name of a part on its way out

[[noreturn]] void not_merged(const fs::path& merged, const std::string& what) {
    throw InputError(
        fmt::format("{}: does not hold {}; nothing was removed, so nothing is lost; keep all files and merge without --remove-parts",
                    merged.string(), what));
}

/// What is in the merged file, which has every run of the store.
StoreIndex read_back(const fs::path& merged, const StoreIndex& index) {
    StoreIndex back = read_index(merged);
    if (!back.damaged.empty()) not_merged(merged, fmt::format("only records: {}", back.damaged.kept().front()));
    for (const auto& [key, run] : index.runs) {
        const KnownRun* kept = back.find(key);
        if (kept == nullptr || kept->done != run.done || kept->outcome != run.outcome)
            not_merged(merged, fmt::format("run {}", to_hex(key)));
    }
    return back;
}

/// Every record of the part is in the merged file, with the same result, whatever that file's first line says of it. False: the part is
/// gone, or was damaged after it had been merged, so its records cannot be compared.
bool check_holds(const fs::path& merged, StoreIndex& back, const fs::path& part) try {
    bool readable = true;
    const auto number = static_cast<std::uint32_t>(back.files.size());
    back.files.push_back(part);
    RecordFile(part).scan(0, [&](const FileLine& line) {
        if (!line.whole || is_cover_line(line.text)) return;
        const std::optional<RecordLine> record = RecordLine::parse(line.text);
        if (!record) {
            readable = false;
            return;
        }
        const KnownRun* kept = back.find(key_of(record->key()));
        if (kept == nullptr || (record->done() && !kept->done))
            not_merged(merged, fmt::format("line {} of {}", line.number, part.filename().string()));
        if (record->done() && kept->outcome != record->outcome() && back.add(line, number) == StoreIndex::Line::damaged) readable = false;
        if (!back.conflicts.empty()) throw SimulationError(fmt::format("{}; nothing was removed", back.conflicts.front()));
    });
    return readable;
} catch (const FileIsGone&) {
    return false;
}

}  // namespace

fs::path merge_store(const Plan& plan, const StoreIndex& index, const fs::path& directory,
                     const std::function<void(std::size_t, std::size_t)>& progress) {
    if (index.runs.empty()) return {};
    const std::uint32_t first = index.runs.begin()->second.file;
    const bool all_in_one = std::all_of(index.runs.begin(), index.runs.end(), [&](const auto& run) { return run.second.file == first; });
    if (all_in_one && is_packed_file(index.files[first])) return index.files[first];  // nothing came since
    std::vector<const KnownRun*> order;
    order.reserve(index.runs.size());
    std::vector<RunKey> planned;
    planned.reserve(plan.size());
    for (std::size_t run = 0; run < plan.size(); ++run) {
        if (const KnownRun* found = index.find(plan.key(run))) {
            order.push_back(found);
            planned.push_back(plan.key(run));
        }
    }
    if (order.size() < index.runs.size()) {  // of other campaigns in the same store
        std::sort(planned.begin(), planned.end());
        std::vector<std::pair<RunKey, const KnownRun*>> others;
        for (const auto& [key, run] : index.runs) {
            if (!std::binary_search(planned.begin(), planned.end(), key)) others.emplace_back(key, &run);
        }
        std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [key, run] : others) order.push_back(run);
    }
    const std::string cover = cover_line(index.read);
    const fs::path file = directory / fmt::format("merged.{}{}", hash_text(cover).substr(0, 8), kPackedSuffix);
    PackedWriter writer(file);
    writer.add(cover);
    LineReader reader(index);
    std::size_t done = 0;
    for (const KnownRun* run : order) {
        writer.add(reader.line(*run));
        if (progress && ++done % 1024 == 0) progress(done, order.size());
    }
    writer.finish();
    return file;
}

void remove_finished_work(const fs::path& directory, const StoreIndex& index, bool all) {
    const fs::path folder = directory / kUnfinishedName;
    std::error_code ignored;
    std::vector<fs::path> finished;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const KnownRun* run = index.find(key_of(entry.path().filename().string()));
        if (run != nullptr && run->done) finished.push_back(entry.path());
    }
    for (const fs::path& path : finished) fs::remove_all(path, ignored);
    if (all) fs::remove(folder, ignored);  // unless a run is in there
}

void restore_parts(const fs::path& directory) {
    std::error_code problem;
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, problem)) {
        if (entry.path().filename().string().starts_with(kAside)) found.push_back(entry.path());
    }
    for (const fs::path& aside : found) {
        const fs::path part = directory / aside.filename().string().substr(kAside.size());
        if (!fs::exists(part, problem)) fs::rename(aside, part, problem);
    }
}

std::size_t remove_merged_parts(const fs::path& directory, const StoreIndex& index, const fs::path& merged, bool all) {
    std::vector<std::pair<fs::path, std::uint64_t>> parts;
    std::error_code gone;
    for (const auto& [name, bytes] : index.read) {
        const fs::path part = directory / name;
        if (part != merged && (all || is_packed_file(part)) && fs::file_size(part, gone) == bytes && !gone) parts.emplace_back(part, bytes);
    }
    if (parts.empty() || !fs::exists(merged, gone)) return 0;  // another merge may hold it, and have removed it
    StoreIndex back = read_back(merged, index);
    std::erase_if(parts, [&](const auto& part) { return !check_holds(merged, back, part.first); });
    std::size_t removed = 0;
    for (const auto& [part, bytes] : parts) {
        // Its name goes first: whoever still writes to it notices, and writes elsewhere again; what came before shows in its size.
        const fs::path aside = part.parent_path() / fmt::format("{}{}", kAside, part.filename().string());
        fs::rename(part, aside, gone);
        if (gone) continue;
        if (fs::file_size(aside, gone) != bytes || gone)
            fs::rename(aside, part, gone);
        else if (fs::remove(aside, gone))
            ++removed;
    }
    return removed;
}

}  // namespace mergelane::study
