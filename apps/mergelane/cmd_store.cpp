// SPDX-License-Identifier: MIT
// `mergelane store`: the results of a study in one file, and back.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "core/error.hpp"
#include "runs/store.hpp"
#include "shard.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

struct StoreArguments {
    std::string store, file;
};

study::StoreIndex read(const std::string& store) {
    study::StoreIndex index = read_index_for(store, {}, false);
    refuse_conflicts(index.conflicts);
    return index;
}

int pack(const StoreArguments& a) {
    if (!a.file.ends_with(study::kPackedSuffix))
        throw InputError(fmt::format("'{}' does not end in {}; stores find packed files by this name", a.file, study::kPackedSuffix));
    if (!fs::is_directory(a.store)) throw InputError(fmt::format("'{}' is not a directory; give the --store of a study", a.store));
    const study::StoreIndex index = read(a.store);
    study::PackedWriter writer(a.file, study::PackedWriter::Density::dense);
    study::LineReader reader(index);
    const auto runs = index.finished();
    for (const auto& [key, run] : runs) writer.add(reader.line(*run));
    writer.finish();
    fmt::print("{} runs in {} bytes\n", runs.size(), writer.bytes());
    return 0;
}

int unpack(const StoreArguments& a) {
    study::RecordFile file(a.file);
    study::Store store(a.store);
    study::StoreIndex index = read(a.store);
    const auto number = static_cast<std::uint32_t>(index.files.size());
    index.files.emplace_back(a.file);
    std::size_t added = 0, known = 0;
    file.scan(0, [&](const study::FileLine& line) {
        if (study::is_cover_line(line.text)) return;
        const study::StoreIndex::Line kind = line.whole ? index.add(line, number) : study::StoreIndex::Line::damaged;
        if (kind == study::StoreIndex::Line::damaged)
            fmt::print(stderr, "warning: {}:{} is not a record of this version and was left out\n", a.file, line.number);
        if (kind == study::StoreIndex::Line::known) ++known;
        if (kind != study::StoreIndex::Line::added) return;
        store.append_line(std::string(line.text) + "\n");
        ++added;
    });
    refuse_conflicts(index.conflicts);
    store.sync();
    fmt::print("{} runs added, {} were there\n", added, known);
    return 0;
}

}  // namespace

void add_store_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("store", "Pack the results of a study into one file, and unpack them");
    command->require_subcommand(1);
    auto arguments = std::make_shared<StoreArguments>();
    StoreArguments& a = *arguments;
    CLI::App* packing = command->add_subcommand("pack", "Write all finished runs of a store into one compressed file");
    packing->add_option("store", a.store, "directory that a study kept its runs in (--store)")->required();
    packing->add_option("file", a.file, "to write; its name ends in .jsonl.zst")->required();
    packing->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.zst");
    packing->callback([arguments, &exit_code] { exit_code = pack(*arguments); });
    CLI::App* unpacking = command->add_subcommand("unpack", "Add the runs of a packed store to a directory");
    unpacking->add_option("file", a.file, "a packed store")->required();
    unpacking->add_option("store", a.store, "directory to add them to; made if it is not there")->required();
    unpacking->footer("Example:\n  mergelane store unpack icc.jsonl.zst out/reproduce-icc");
    unpacking->callback([arguments, &exit_code] { exit_code = unpack(*arguments); });
    command->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.zst");
}

}  // namespace mergelane
