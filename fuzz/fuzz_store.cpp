// SPDX-License-Identifier: MIT
// Any bytes given as files of a store must be read or rejected with an InputError, and no merge may lose a run. The input is cut into files
// at 0xFD 0xFD; the first byte of each says what follows: 'z' a packed file as it is, 'x' an .xz file of schema 2, 'p' lines that are
// packed, '2' lines of schema 2, 'y' the same packed as .xz, otherwise lines of a plain file. Lines of records get correct checksums.
#include <unistd.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "campaign/merge.hpp"
#include "core/error.hpp"
#include "runs/schema2.hpp"
#include "runs/store.hpp"
#include "xz.hpp"

namespace {

using namespace mergelane;
using namespace mergelane::study;
namespace fs = std::filesystem;

/// Up to the separator; the rest is left.
std::string_view take(std::string_view& rest, std::string_view separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + separator.size());
    return part;
}

std::string repaired(std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
        const bool whole = lines.find('\n') != std::string_view::npos;
        std::string line(take(lines, "\n"));
        if (line.starts_with("{\"schema\":")) {
            line.erase(std::min(line.rfind(",\"sum\":"), line.size()));
            line += checksum_member(line);
        }
        text += line + (whole ? "\n" : "");
    }
    return text;
}

/// A frame for every 200 bytes or so: boundaries are where mistakes are.
std::string packed(std::string_view lines) {
    std::string file;
    while (!lines.empty()) {
        std::string block;
        while (!lines.empty() && block.size() < 200) block += std::string(take(lines, "\n")) + "\n";
        std::string frame(ZSTD_compressBound(block.size()), '\0');
        frame.resize(ZSTD_compress(frame.data(), frame.size(), block.data(), block.size(), 1));
        file += frame;
    }
    return file;
}

void write_file(const fs::path& folder, std::string_view bytes, int number) {
    const char kind = bytes.empty() ? ' ' : bytes[0];
    bytes.remove_prefix(bytes.empty() ? 0 : 1);
    const std::string name = std::to_string(number);
    switch (kind) {
        case 'z': std::ofstream(folder / (name + ".jsonl.zst")) << bytes; break;
        case 'p': std::ofstream(folder / (name + ".jsonl.zst")) << packed(repaired(bytes)); break;
        case 'x': std::ofstream(folder / "old" / (name + ".jsonl.xz")) << bytes; break;
        case 'y': std::ofstream(folder / "old" / (name + ".jsonl.xz")) << xz_of(repaired(bytes)); break;
        case '2': std::ofstream(folder / "old" / (name + ".jsonl")) << repaired(bytes); break;
        default: std::ofstream(folder / (name + ".jsonl")) << repaired(bytes);
    }
}

/// Whatever merging does, every run that was found is found afterwards.
void merge(const fs::path& folder) {
    const StoreIndex before = read_index(folder);
    (void)read_store(folder);
    if (!before.conflicts.empty()) return;
    const Plan plan;
    try {
        const fs::path merged = merge_store(plan, before, folder);
        if (!merged.empty()) remove_merged_parts(folder, before, merged, true);
    } catch (const InputError&) {  // it says what would be lost
    }
    const StoreIndex after = read_index(folder);
    for (const auto& [key, run] : before.runs) {
        const KnownRun* found = after.find(key);
        if (found == nullptr || found->done != run.done || found->outcome != run.outcome) std::abort();
    }
}

void convert(const fs::path& folder) {
    PackedWriter writer(folder / "converted.jsonl.zst");
    const Conversion result = convert_schema2(folder / "old", writer, built_in());
    writer.finish();
    if (read_index(folder / "converted.jsonl.zst").runs.size() > result.converted) std::abort();
}

template <typename Action>
void attempt(const Action& action) {
    try {
        action();
    } catch (const InputError& error) {
        const std::string_view message = error.what();
        if (message.empty() || message.size() >= 4000) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fs::path folder =
        fs::path(fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") / ("mergelane_fuzz_store_" + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder / "old");
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (int number = 1; !rest.empty() && number <= 4; ++number) write_file(folder, take(rest, "\xFD\xFD"), number);
    attempt([&] { merge(folder); });
    attempt([&] { convert(folder); });
    fs::remove_all(folder);
    return 0;
}
