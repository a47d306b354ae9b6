// SPDX-License-Identifier: MIT
// `mergelane store`: results as one file and back, conversion of old ones, verification by simulating some again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "exit_codes.hpp"
#include "output.hpp"
#include "runs/schema2.hpp"
#include "runs/store.hpp"
#include "shard.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

constexpr int kSomeRefused = 4;

struct StoreArguments : ShardArguments {
    std::string from, to;
    double percent = 5;
};

/// Of `store`, for commands that need at least one.
auto finished_runs(const study::StoreIndex& index, const std::string& store) {
    auto runs = index.finished();
    if (runs.empty()) throw InputError(fmt::format("'{}' has no finished runs; give the --store of a study or campaign", store));
    return runs;
}

bool is_packed(const std::string& name) {
    return name.ends_with(study::kPackedSuffix);
}

int pack(const StoreArguments& a) {
    if (!is_packed(a.to))
        throw InputError(fmt::format("'{}' does not end in {}; stores find packed files by this name", a.to, study::kPackedSuffix));
    if (!fs::is_directory(a.from)) throw InputError(fmt::format("'{}' is not a directory; give the --store of a study", a.from));
    const study::StoreIndex index = sound_index_for(a.from, {}, false);
    const auto runs = finished_runs(index, a.from);
    study::PackedWriter writer(a.to, study::PackedWriter::Density::dense);
    study::LineReader reader(index);
    for (const auto& [key, run] : runs) writer.add(reader.line(*run));
    writer.finish();
    fmt::print("{} runs in {} bytes\n", runs.size(), writer.bytes());
    return 0;
}

int unpack(const StoreArguments& a) {
    if (study::is_xz_file(a.from)) study::refuse_schema2(a.from);
    study::RecordFile file(a.from);
    study::StoreIndex index = sound_index_for(a.to, {}, false);
    const auto number = static_cast<std::uint32_t>(index.files.size());
    index.files.emplace_back(a.from);
    std::size_t known = 0;
    std::vector<study::LinePlace> added;
    file.scan(0, [&](const study::FileLine& line) {
        if (study::is_cover_line(line.text)) return;
        if (study::is_schema2(line.text)) study::refuse_schema2(a.from);
        const study::StoreIndex::Line kind = line.whole ? index.add(line, number) : study::StoreIndex::Line::damaged;
        if (kind == study::StoreIndex::Line::damaged)
            tell(fmt::format("warning: {}:{} is not a record of this version and was skipped", a.from, line.number));
        if (kind == study::StoreIndex::Line::known) ++known;
        if (kind == study::StoreIndex::Line::added) added.push_back(line.place);
    });
    refuse_conflicts(index.conflicts);
    study::Store store(a.to);
    for (const study::LinePlace& place : added) store.append_line(std::string(file.read(place)) + "\n");
    store.sync();
    fmt::print("{} runs added, {} already present\n", added.size(), known);
    return 0;
}

int convert(const StoreArguments& a, const Registry& registry) {
    if (!fs::exists(a.from)) throw InputError(fmt::format("'{}' does not exist; give an old store or one of its files", a.from));
    const bool to_file = is_packed(a.to);
    std::error_code ignored;
    if (!to_file) fs::create_directories(a.to, ignored);
    if (fs::equivalent(a.from, a.to, ignored))
        throw InputError(fmt::format("'{}' cannot be converted in place; name another directory, or a file that ends in {}", a.from,
                                     study::kPackedSuffix));
    const fs::path file = to_file ? fs::path(a.to) : fs::path(a.to) / fmt::format("converted{}", study::kPackedSuffix);
    study::PackedWriter writer(file, to_file ? study::PackedWriter::Density::dense : study::PackedWriter::Density::quick);
    const study::Conversion result = study::convert_schema2(a.from, writer, registry);
    writer.finish();
    for (const std::string& sentence : result.refused.kept()) tell(fmt::format("refused: {}", sentence));
    if (const std::size_t more = result.refused.size() - result.refused.kept().size()) tell(fmt::format("refused: and {} more", more));
    fmt::print("{} records converted into '{}', {} duplicates skipped, {} refused\n", grouped(result.converted), file.string(),
               grouped(result.duplicates), grouped(result.refused.size()));
    sound_index_for(file.string(), {}, true);
    return result.refused.empty() ? 0 : kSomeRefused;
}

/// The first difference between two records of a run, or nothing.
std::optional<std::string> difference(const study::RunRecord& kept, const study::RunRecord& again) {
    const auto differ = [](std::string_view name, const auto& one, const auto& other) -> std::optional<std::string> {
        if (one == other) return std::nullopt;
        return fmt::format("{} was {}, is {}", name, one, other);
    };
    if (!again.done) return again.message;
    if (auto found = differ("digest", kept.digest, again.digest)) return found;
    if (auto found = differ("cycles", kept.cycles, again.cycles)) return found;
    if (auto found = differ("warp_instructions", kept.warp_instructions, again.warp_instructions)) return found;
    for (const auto& [what, one, other] :
         {std::tuple("", &kept.stats, &again.stats), std::tuple("highest ", &kept.highest, &again.highest)}) {
        for (const auto& [name, value] : *one) {
            const auto at = other->find(name);
            if (at == other->end()) return fmt::format("{}{} is no longer counted", what, name);
            if (auto found = differ(what + name, value, at->second)) return found;
        }
        if (one->size() != other->size()) return fmt::format("{} counters, were {}", other->size(), one->size());
    }
    if (kept.sample != again.sample) return "what is known of its sample, or half-widths of its intervals, differ";
    const bool same = std::equal(kept.kernels.begin(), kept.kernels.end(), again.kernels.begin(), again.kernels.end(),
                                 [](const study::KernelRecord& x, const study::KernelRecord& y) {
                                     return x.name == y.name && x.cycles == y.cycles && x.warp_instructions == y.warp_instructions;
                                 });
    return same ? std::nullopt : std::optional<std::string>("its kernels differ");
}

/// Simulates some of a store's runs again, those whose keys say so, and compares every counter.
int verify(StoreArguments a, const Registry& registry) {
    const study::StoreIndex index = sound_index_for(a.from, {}, false);
    const auto finished = finished_runs(index, a.from);
    study::CampaignPlan plan(registry);
    study::LineReader reader(index);
    std::vector<study::RunRecord> chosen;
    const auto share = static_cast<std::size_t>(std::ceil(static_cast<double>(finished.size()) * a.percent / 100));
    for (const auto& [key, run] : std::span(finished).first(share)) {  // keys are hashes: the first ones by key are a random sample
        chosen.push_back(study::from_line(reader.line(*run)).value());
        chosen.back().key = to_hex(key);
        if (plan.plan.key(plan.plan.add(chosen.back().spec)) != key)
            throw InputError(fmt::format("run {} ({} on {}) has a different key in this version: its machine or workload has changed",
                                         chosen.back().key, chosen.back().spec.workload, chosen.back().spec.gpu));
    }
    plan.known.resize(plan.plan.size());
    const study::RunnerOutcome outcome = run_shard(plan, 0, 1, a);
    if (outcome.interrupted) return kInterrupted;
    const study::StoreContents again = study::read_store(a.store);
    std::size_t different = 0;
    for (const study::RunRecord& kept : chosen) {
        const std::optional<std::string> found = difference(kept, again.runs.at(kept.key));
        if (!found) continue;
        ++different;
        tell(fmt::format("run {} ({} on {}): {}", kept.key, kept.spec.workload, kept.spec.gpu, *found));
    }
    fmt::print("{} of {} runs compared, {} of them simulated now: {}\n", grouped(chosen.size()), grouped(finished.size()),
               grouped(chosen.size() - outcome.reused),
               different == 0 ? "all counters are equal" : fmt::format("{} differ", grouped(different)));
    return different == 0 ? 0 : 3;
}

}  // namespace

void add_store_command(CLI::App& app, int& exit_code, const Registry& registry) {
    CLI::App* command = app.add_subcommand("store", "Pack, unpack, convert and verify stores (directories of finished runs)");
    command->require_subcommand(1);
    auto arguments = std::make_shared<StoreArguments>();
    StoreArguments& a = *arguments;
    CLI::App* packing = command->add_subcommand("pack", "Write all finished runs of a store into one compressed file");
    packing->add_option("store", a.from, "store directory of a study or campaign (its --store)")->required();
    packing->add_option("file", a.to, "file to write; its name must end in .jsonl.zst")->required();
    packing->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.zst");
    packing->callback([arguments, &exit_code] { exit_code = pack(*arguments); });
    CLI::App* unpacking = command->add_subcommand("unpack", "Add the runs of a packed store to a store directory");
    unpacking->add_option("file", a.from, "packed store (.jsonl.zst), written by 'mergelane store pack'")->required();
    unpacking->add_option("store", a.to, "store directory to add the runs to; created if it does not exist")->required();
    unpacking->footer("Example:\n  mergelane store unpack icc.jsonl.zst out/reproduce-icc");
    unpacking->callback([arguments, &exit_code] { exit_code = unpack(*arguments); });
    CLI::App* converting = command->add_subcommand("convert", "Convert a store of an earlier version (record schema 2)");
    converting->add_option("from", a.from, "old store, or one of its files: .jsonl, .jsonl.zst or .jsonl.xz")->required();
    converting->add_option("to", a.to, "directory or .jsonl.zst file to write; the old store is not modified")->required();
    converting->footer(
        "As a check, the old key of each run is recomputed from its record. Runs of an unknown machine, workload or model\n"
        "version are refused, and so are records that are not of schema 2.\n"
        "Exit codes: 0 all converted, 3 conflicting results of the same run, 4 some runs were refused.\n"
        "Example:\n  mergelane store convert old/reproduce-icc out/reproduce-icc");
    converting->callback([arguments, &exit_code, &registry] { exit_code = convert(*arguments, registry); });
    CLI::App* verifying = command->add_subcommand("verify", "Re-simulate a sample of the runs of a store and compare every counter");
    verifying->add_option("from", a.from, "store directory, or packed store (.jsonl.zst)")->required();
    add_number_option(*verifying, "--resimulate", a.percent, 0.0, 100.0,
                      "percentage of runs to re-simulate; a fixed sample (the runs with the smallest keys, which are hashes)");
    a.store = "out/verify";
    verifying
        ->add_option("--store", a.store, "directory for the new results; runs that are already there are compared, but not re-simulated")
        ->capture_default_str();
    add_run_options(*verifying, a);
    verifying->get_option("--quiet")->description("suppress the progress line");
    verifying->footer(
        "Exit codes: 0 all equal, 3 some differ or failed, 130 interrupted.\n"
        "Example:\n  mergelane store verify icc.jsonl.zst --resimulate 5");
    verifying->callback([arguments, &exit_code, &registry] { exit_code = verify(*arguments, registry); });
    command->footer("Example:\n  mergelane store pack out/reproduce-icc icc.jsonl.zst");
}

}  // namespace mergelane
