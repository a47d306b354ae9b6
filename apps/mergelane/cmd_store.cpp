// SPDX-License-Identifier: MIT
// `mergelane store`: packs the results of a study into one file, and unpacks them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "core/error.hpp"
#include "output.hpp"
#include "runs/pack.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

struct StoreArguments {
    std::string store, file;
};

study::StoreContents read(const std::string& store) {
    if (!fs::is_directory(store)) throw InputError(fmt::format("'{}' is not a directory; give the --store of a study", store));
    study::StoreContents contents = study::read_store(store);
    for (const std::string& line : contents.damaged) fmt::print(stderr, "warning: {}\n", line);
    if (!contents.conflicts.empty()) throw SimulationError(contents.conflicts.front());
    return contents;
}

int pack(const StoreArguments& a) {
    if (!a.file.ends_with(study::kPackSuffix))
        throw InputError(fmt::format("'{}' does not end in {}; stores find packed files by this name", a.file, study::kPackSuffix));
    const study::StoreContents contents = read(a.store);
    const auto done = std::count_if(contents.runs.begin(), contents.runs.end(), [](const auto& run) { return run.second.done; });
    const std::string bytes = study::packed(contents);
    Output(a.file).write(bytes);
    fmt::print("{} runs in {} bytes\n", done, bytes.size());
    return 0;
}

int unpack(const StoreArguments& a) {
    std::ifstream in(a.file, std::ios::binary);
    if (!in) throw InputError(fmt::format("cannot read '{}'; check the path", a.file));
    const std::string lines = study::unpacked(std::string{std::istreambuf_iterator<char>(in), {}}, a.file);
    study::Store store(a.store);
    study::StoreContents contents = read(a.store);
    std::size_t added = 0, known = 0;
    for (std::size_t at = 0, number = 1; at < lines.size(); ++number) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        const std::optional<study::RunRecord> record = study::from_line(std::string_view(lines).substr(at, end - at));
        at = end + 1;
        if (!record) {
            fmt::print(stderr, "warning: {}:{} is not a record of this version and was left out\n", a.file, number);
        } else if (contents.finished(record->key) != nullptr) {
            ++known;
            contents.add(*record, fmt::format("{}:{}", a.file, number));
        } else {
            store.append(*record);
            ++added;
        }
    }
    if (!contents.conflicts.empty()) throw SimulationError(contents.conflicts.front());
    fmt::print("{} runs added, {} were there\n", added, known);
    return 0;
}

}  // namespace

void add_store_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("store", "Put the results of a study into one file, and back");
    command->require_subcommand(1);
    auto arguments = std::make_shared<StoreArguments>();
    StoreArguments& a = *arguments;
    CLI::App* packing = command->add_subcommand("pack", "All finished runs of a store, compressed");
    packing->add_option("store", a.store, "directory that a study kept its runs in (--store)")->required();
    packing->add_option("file", a.file, "to write; its name ends in .jsonl.xz")->required();
    packing->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.xz");
    packing->callback([arguments, &exit_code] { exit_code = pack(*arguments); });
    CLI::App* unpacking = command->add_subcommand("unpack", "Add the runs of a packed store to a directory");
    unpacking->add_option("file", a.file, "a packed store")->required();
    unpacking->add_option("store", a.store, "directory to add them to; made if it is not there")->required();
    unpacking->footer("Example:\n  mergelane store unpack icc.jsonl.xz out/reproduce-icc");
    unpacking->callback([arguments, &exit_code] { exit_code = unpack(*arguments); });
    command->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.xz");
}

}  // namespace mergelane
