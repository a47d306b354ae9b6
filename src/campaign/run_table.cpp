// SPDX-License-Identifier: MIT
#include "campaign/run_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "config/config.hpp"
#include "core/error.hpp"
#include "files/toml_text.hpp"
#include "runs/sample_choice.hpp"
#include "sim/simulation.hpp"

namespace mergelane::study {

namespace {

using ColumnType = TableColumn::Type;

/// Key and value of an override.
std::pair<std::string_view, std::string_view> parts_of(std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    return {trim(word.substr(0, equals)), trim(word.substr(equals + 1))};
}

/// What makes rows of lines. Statistics follow each other in every line as in the one before, so columns are guessed before they are looked
/// up.
class RowMaker {
public:
    RowMaker(const Plan& plan, const StoreIndex& index, const TableOptions& options, const std::set<std::string>& more)
        : plan_(plan), options_(options), columns_(first_columns()) {
        const std::vector<PlannedWorkload>& workloads = plan.workloads();
        sampled_ = std::any_of(workloads.begin(), workloads.end(), [](const PlannedWorkload& w) { return !w.sample.empty(); });
        add_configuration();
        if (sampled_) {
            const std::vector<TableColumn> list = sample_columns();
            columns_.insert(columns_.end(), list.begin(), list.end());
        }
        add_statistics(expected(index, more));
        cells_.resize(columns_.size());
        for (std::size_t i = 0; i < columns_.size(); ++i) places_.emplace(columns_[i].name, i);
    }

    const std::vector<TableColumn>& columns() const { return columns_; }
    /// Names that have no column; the table must be begun again with them.
    const std::set<std::string>& unexpected() const { return unexpected_; }

    std::span<const TableCell> row(std::size_t run, double seconds, const RecordLine::Result& result) {
        std::fill(cells_.begin(), cells_.end(), TableCell{});
        const PlannedMachine& machine = plan_.machine_of(run);
        const PlannedWorkload& workload = plan_.workload_of(run);
        key_ = to_hex(plan_.key(run));
        if (&machine != machine_) {
            machine_ = &machine;
            overrides_ = fmt::format("{}", fmt::join(machine.overrides, " "));
            fill_configuration(machine);
        }
        const TableCell first[] = {run,
                                   key_,
                                   machine.gpu,
                                   overrides_,
                                   workload.program,
                                   workload.size,
                                   workload.seed,
                                   workload.kernels,
                                   result.version,
                                   result.model,
                                   result.config_hash,
                                   result.digest,
                                   seconds,
                                   result.cycles,
                                   result.warp_instructions};
        std::copy(configuration_.begin(), configuration_.end(), std::copy(std::begin(first), std::end(first), cells_.begin()));
        add_numbers<std::uint64_t>(result.stats, guess_, [](std::string_view name) { return std::string(name); });
        if (options_.highest)
            add_numbers<std::uint64_t>(result.highest, guess_highest_,
                                       [](std::string_view name) { return fmt::format("highest {}", name); });
        if (sampled_) cells_[places_.at("sample")] = std::string_view(workload.sample);
        if (!workload.sample.empty()) add_sample(workload, result);
        return cells_;
    }

private:
    using Guess = std::vector<std::pair<std::string, std::size_t>>;  ///< names and their columns, in the order of lines

    /// `column`: the name of a number's column.
    template <typename Number, typename Column>
    void add_numbers(std::string_view numbers, Guess& guess, const Column& column) {
        std::size_t number = 0;
        RecordLine::each_number<Number>(numbers, [&](std::string_view name, Number value) {
            if (number == guess.size() || guess[number].first != name) {
                const auto found = places_.find(column(name));
                if (found == places_.end()) {
                    unexpected_.emplace(name);
                    return;
                }
                guess.resize(number);
                guess.emplace_back(name, found->second);
            }
            cells_[guess[number++].second] = value;
        });
    }

    /// How the run was sampled, and how far its numbers can be off.
    void add_sample(const PlannedWorkload& workload, const RecordLine::Result& result) {
        const SampleChoice choice = parse_sample(workload.sample);
        if (choice.by == sampling::Selection::stratified) cells_[places_.at("sample.requested_error")] = choice.error;
        RecordLine::each_counter(result.sampled, [&](std::string_view name, std::uint64_t value) {
            const auto found = places_.find(fmt::format("sample.{}", name));
            if (found != places_.end()) cells_[found->second] = value;  // later versions may say more
        });
        add_numbers<double>(result.half_widths, guess_half_widths_,
                            [](std::string_view name) { return fmt::format("{}{}", name, kHalfWidth); });
    }

    /// A column for each configuration key that some machine of the plan changes.
    void add_configuration() {
        std::set<std::string> keys;
        for (const PlannedMachine& machine : plan_.machines()) {
            for (const std::string& word : machine.overrides) keys.emplace(parts_of(word).first);
        }
        keys_.assign(keys.begin(), keys.end());
        values_.resize(keys_.size());
        configuration_.resize(keys_.size());
        types_ = types_of_configuration();
        describe_configuration();
    }

    /// Integers if all machines have integers there, numbers if all have numbers, else texts.
    std::vector<ColumnType> types_of_configuration() {
        std::vector<ColumnType> types(keys_.size(), ColumnType::integer);
        for (const PlannedMachine& machine : plan_.machines()) {
            fill_configuration(machine);
            for (std::size_t i = 0; i < keys_.size(); ++i) {
                if (std::holds_alternative<std::string_view>(configuration_[i])) types[i] = ColumnType::text;
                if (std::holds_alternative<double>(configuration_[i]) && types[i] == ColumnType::integer) types[i] = ColumnType::real;
            }
        }
        return types;
    }

    void describe_configuration() {
        const auto machine =
            std::find_if(plan_.machines().begin(), plan_.machines().end(), [](const PlannedMachine& m) { return m.gpu != kNoMachine; });
        std::optional<LoadedConfig> any;  // units and meanings are its own
        std::vector<SpecField> fields;
        if (machine != plan_.machines().end()) {
            any = load_config(machine->gpu, {}, default_preset_dirs(), plan_.registry());
            fields = any->spec.fields().list();
        }
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            const auto field = std::find_if(fields.begin(), fields.end(), [&](const SpecField& f) { return f.key == keys_[i]; });
            TableColumn column{"config." + keys_[i], "", "configuration value that the machine has", types_[i]};
            if (field != fields.end()) column.unit = field->unit, column.meaning = field->meaning;
            columns_.push_back(std::move(column));
        }
    }

    /// Of this type if it can be, else of the next wider one.
    static TableCell cell_of(const std::string& value, ColumnType type) {
        const char* const begin = value.data();
        const char* const end = begin + value.size();
        std::uint64_t integer = 0;
        double real = 0;
        if (value.empty()) return {};
        if (type == ColumnType::integer && std::from_chars(begin, end, integer).ptr == end) return integer;
        if (type != ColumnType::text && std::from_chars(begin, end, real).ptr == end) return real;
        return std::string_view(value);
    }

    /// Values are read from the machine's file, which may have changed since its runs.
    void check_unchanged(const PlannedMachine& machine) const {
        if (!machine.gpu.ends_with(".toml") || keys_.empty() || !types_.empty()) return;  // once for each, while types are found out
        if (config_hash(load_config(machine.gpu, machine.overrides, default_preset_dirs(), plan_.registry()).spec) != machine.config_hash)
            throw InputError(
                fmt::format("{}: is not what it was when the campaign was planned; bring it back, or plan anew with "
                            "'mergelane campaign plan' and run what it changed",
                            machine.gpu));
    }

    void fill_configuration(const PlannedMachine& machine) {
        check_unchanged(machine);
        auto base = bases_.find(machine.gpu);
        if (base == bases_.end()) {
            std::map<std::string, std::string, std::less<>> all;
            if (machine.gpu != kNoMachine) {
                LoadedConfig loaded = load_config(machine.gpu, {}, default_preset_dirs(), plan_.registry());
                for (const SpecField& field : loaded.spec.fields().list()) all.emplace(std::string(field.key), field.value());
            }
            base = bases_.emplace(machine.gpu, std::move(all)).first;
        }
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            const auto at = base->second.find(keys_[i]);
            values_[i] = at == base->second.end() ? "" : at->second;
        }
        for (const std::string& word : machine.overrides) {
            const auto [key, value] = parts_of(word);
            values_[static_cast<std::size_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin())] = value;
        }
        for (std::size_t i = 0; i < keys_.size(); ++i)
            configuration_[i] = cell_of(values_[i], types_.empty() ? ColumnType::integer : types_[i]);
    }

    /// Names of statistics: those of one run of each machine.
    std::set<std::string> expected(const StoreIndex& index, const std::set<std::string>& more) const {
        std::set<std::string> names = more;
        std::vector<bool> seen(plan_.machines().size());
        LineReader reader(index);
        for (std::size_t run = 0; run < plan_.size(); ++run) {
            if (seen[plan_.machine_number(run)]) continue;
            const KnownRun* known = index.find(plan_.key(run));
            if (known == nullptr || !known->done) continue;
            seen[plan_.machine_number(run)] = true;
            const std::optional<RecordLine> line = RecordLine::parse(reader.line(*known));
            const std::optional<RecordLine::Result> result = line ? line->result() : std::nullopt;
            if (result) RecordLine::each_counter(result->stats, [&](std::string_view name, std::uint64_t) { names.emplace(name); });
        }
        return names;
    }

    /// In the order of the stations, then those nobody told us about.
    void add_statistics(std::set<std::string> names) {
        std::vector<TableColumn> list;
        for (const StatValue& known : options_.statistics) {
            if (names.erase(known.name) != 0)
                list.push_back({known.name, std::string(known.unit), std::string(known.meaning), ColumnType::integer});
        }
        for (const std::string& name : names) list.push_back({name, "", "", ColumnType::integer});
        columns_.insert(columns_.end(), list.begin(), list.end());
        if (sampled_) add_half_widths(list);
        if (!options_.highest) return;
        for (TableColumn& column : list) {
            column.name = "highest " + column.name;
            column.meaning = "of the component that counted most: " + column.meaning;
            columns_.push_back(std::move(column));
        }
    }

    void add_half_widths(const std::vector<TableColumn>& statistics) {
        const auto add = [&](const std::string& name, const std::string& unit) {
            columns_.push_back({fmt::format("{}{}", name, kHalfWidth), unit,
                                fmt::format("half-width of the 95 % interval of {} in a sampled run", name), ColumnType::real});
        };
        add("cycles", "core cycles");
        add("sample.kernel_cycles", "core cycles");
        for (const TableColumn& column : statistics) add(column.name, column.unit);
    }

    const Plan& plan_;
    const TableOptions& options_;
    std::vector<TableColumn> columns_;
    std::vector<TableCell> cells_;
    std::unordered_map<std::string, std::size_t> places_;
    std::vector<std::string> keys_, values_;
    std::vector<TableCell> configuration_;
    std::vector<ColumnType> types_;  ///< of configuration_; none while they are found out
    std::map<std::string, std::map<std::string, std::string, std::less<>>> bases_;
    const PlannedMachine* machine_ = nullptr;
    std::string key_, overrides_;
    Guess guess_, guess_highest_, guess_half_widths_;
    bool sampled_ = false;  ///< some run of the plan
    std::set<std::string> unexpected_;
};

}  // namespace

std::vector<TableColumn> first_columns() {
    return {{"run", "", "number in the campaign's plan", ColumnType::integer},
            {"key", "", "hash of everything the result depends on", ColumnType::text},
            {"gpu", "", "machine: preset or file", ColumnType::text},
            {"overrides", "", "configuration overrides, separated by spaces", ColumnType::text},
            {"workload", "", "benchmark", ColumnType::text},
            {"size", "", "of its input", ColumnType::text},
            {"seed", "", "of its input", ColumnType::integer},
            {"kernels", "", "range of kernels; empty: all", ColumnType::text},
            {"version", "", "of the simulator", ColumnType::text},
            {"model", "", "version of the model", ColumnType::integer},
            {"config_hash", "", "hash of the configuration that is used", ColumnType::text},
            {"digest", "", "hash of every counter of every component", ColumnType::text},
            {"seconds", "s", "CPU time of the simulation on its host", ColumnType::real},
            {"cycles", "core cycles", "simulated", ColumnType::integer},
            {"warp_instructions", "instructions", "issued", ColumnType::integer}};
}

std::vector<TableColumn> sample_columns() {
    return {{"sample", "", "options of a sampled run, whose numbers are estimates; empty: all launches were simulated", ColumnType::text},
            {"sample.requested_error", "", "relative half-width of the interval of cycles that was asked for", ColumnType::real},
            {"sample.launches", "", "of the workload", ColumnType::integer},
            {"sample.simulated_launches", "", "of them", ColumnType::integer},
            {"sample.warp_instructions", "instructions", "of all launches, which is known exactly", ColumnType::integer},
            {"sample.simulated_warp_instructions", "instructions", "of simulated launches", ColumnType::integer},
            {"sample.waves", "", "waves of CTAs, of all launches", ColumnType::integer},
            {"sample.simulated_waves", "", "waves of CTAs, of simulated launches", ColumnType::integer},
            {"sample.passes", "", "over the workload, after the one that takes signatures", ColumnType::integer},
            {"sample.strata", "", "groups of similar launches", ColumnType::integer},
            {"sample.kernel_cycles", "core cycles", "estimated cycles of all kernels, without launch overhead", ColumnType::integer}};
}

TableSize write_table(const Plan& plan, const StoreIndex& index, const TableOptions& options,
                      const std::function<std::vector<std::unique_ptr<TableWriter>>(const std::vector<TableColumn>&)>& open) {
    std::set<std::string> more;
    for (;;) {
        RowMaker maker(plan, index, options, more);
        const std::vector<std::unique_ptr<TableWriter>> writers = open(maker.columns());
        LineReader reader(index);
        TableSize size{0, maker.columns().size(), 0};
        for (std::size_t run = 0; run < plan.size(); ++run) {
            const KnownRun* known = index.find(plan.key(run));
            if (known == nullptr) continue;
            const std::optional<RecordLine> line = RecordLine::parse(reader.line(*known));
            if (const std::optional<RecordLine::Result> result = line ? line->result() : std::nullopt) {
                ++size.rows;
                const std::span<const TableCell> cells = maker.row(run, line->seconds(), *result);
                if (!maker.unexpected().empty()) continue;  // the other lines are asked for their names, so that once more is enough
                for (const auto& writer : writers) writer->row(cells);
            } else {
                ++size.failures;
                const std::optional<RunRecord> record = line ? line->record() : std::nullopt;
                for (const auto& writer : writers) writer->failure(run, record ? record->message : "its record cannot be read");
            }
            if (options.progress) options.progress(run, plan.size());
        }
        if (maker.unexpected().empty()) {
            for (const auto& writer : writers) writer->finish();
            return size;
        }
        more.insert(maker.unexpected().begin(), maker.unexpected().end());
    }
}

}  // namespace mergelane::study
