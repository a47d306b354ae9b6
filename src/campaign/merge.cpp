// SPDX-License-Identifier: MIT
#include "campaign/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

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

std::size_t remove_merged_parts(const fs::path& directory, const StoreIndex& index, const fs::path& merged, bool all) {
    std::size_t removed = 0;
    for (const auto& [name, bytes] : index.read) {
        const fs::path part = directory / name;
        std::error_code gone;
        if (part == merged || (!all && !is_packed_file(part)) || fs::file_size(part, gone) != bytes || gone) continue;
        // Its name goes first: whoever still writes to it notices, and writes elsewhere again; what came before shows in its size.
        const fs::path aside = directory / fmt::format(".removed.{}", name);
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
