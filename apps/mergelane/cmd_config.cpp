// SPDX-License-Identifier: MIT
// Commands that inspect configurations: `config show|diff|check`, `describe` and `list gpus`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "commands.hpp"
#include "config/config.hpp"
#include "config/statistics.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "exit_codes.hpp"
#include "sim/simulation.hpp"
#include "workload/suite/suite.hpp"
#include "workload/synthetic.hpp"

namespace mergelane {

namespace {

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell, two spaces apart; the last one ragged.
void print_table(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}", row[c], widths[c] + 2);
        line.erase(line.find_last_not_of(' ') + 1);
        std::cout << line << '\n';
    }
}

std::string allowed(const SpecField& field) {
    switch (field.kind) {
        case SpecField::Kind::integer: return fmt::format("{} to {}", field.min, field.max);
        case SpecField::Kind::boolean: return "true, false";
        case SpecField::Kind::choice: return fmt::format("{}", fmt::join(field.choices, ", "));
        case SpecField::Kind::text: return "text";
        case SpecField::Kind::integers: return fmt::format("{} to {}, separated by commas", field.min, field.max);
    }
    return {};
}

/// Says of a key that is no part of the machine what would make it one; empty for one that is, and for the switch of a section.
std::string inactive(const SpecFields& fields, const SpecField& field) {
    const auto is_switch = [](const SpecField& f) { return f.kind == SpecField::Kind::boolean && f.key.ends_with(".enabled"); };
    if (field.active || is_switch(field)) return {};
    if (field.belongs != nullptr) return fmt::format("inactive unless {}", wanted(*field.belongs));
    for (const SpecField& other : fields.list()) {
        if (other.section == field.section && is_switch(other)) return fmt::format("inactive unless {} = true", other.key);
    }
    return "inactive";
}

const char* const kGpuHelp = "preset name (see 'mergelane list gpus') or .toml file; with changes: 'icc60 l1.size_kib=96'";

/// `text` is a GPU that may be followed by changes; those of --set come after them.
LoadedConfig load_changed(const std::string& text, const std::vector<std::string>& overrides, const Registry& registry) {
    ChangedGpu changed(text);
    changed.overrides.insert(changed.overrides.end(), overrides.begin(), overrides.end());
    return load_config(changed.gpu, changed.overrides, default_preset_dirs(), registry);
}

void show_config(const std::string& gpu, const std::vector<std::string>& overrides, const Registry& registry) {
    LoadedConfig config = load_changed(gpu, overrides, registry);
    std::cout << config.spec.name << (config.description.empty() ? "" : ": ") << config.description << '\n';
    if (!config.source.empty()) std::cout << "source: " << config.source << '\n';
    std::cout << '\n';
    std::vector<Row> rows = {{"key", "value", "unit", "origin", "note"}};
    const SpecFields fields = config.spec.fields();
    for (const SpecField& field : fields.list()) {
        const auto origin = config.origins.find(field.key);
        const bool given = origin != config.origins.end();
        const std::string note = given ? origin->second.note : "";
        const std::string off = inactive(fields, field);
        rows.push_back({field.key, field.value(), std::string(field.unit), given ? origin->second.where : "default",
                        off.empty() || note.empty() ? off + note : fmt::format("{} ({})", note, off)});
    }
    print_table(rows);
    std::cout << "\nderived\n";
    rows.clear();
    for (const Derived& total : derived(config.spec)) rows.push_back({total.name, total.value, total.unit});
    rows.push_back({"configuration hash", config_hash(config.spec)});
    print_table(rows);
}

void compare_configs(const std::string& first, const std::string& second, const Registry& registry) {
    LoadedConfig a = load_changed(first, {}, registry);
    LoadedConfig b = load_changed(second, {}, registry);
    std::vector<Row> rows = {{"key", a.spec.name, b.spec.name, "unit"}};
    const SpecFields a_fields = a.spec.fields();
    const SpecFields b_fields = b.spec.fields();
    for (std::size_t i = 0; i < a_fields.list().size(); ++i) {
        const SpecField& field = a_fields.list()[i];
        const std::string other = b_fields.list()[i].value();
        if (field.value() != other) rows.push_back({field.key, field.value(), other, std::string(field.unit)});
    }
    if (rows.size() == 1) {
        std::cout << "no differences\n";
        return;
    }
    print_table(rows);
    const std::vector<Derived> others = derived(b.spec);
    rows.clear();
    for (const Derived& total : derived(a.spec)) {
        const auto other = std::find_if(others.begin(), others.end(), [&](const Derived& d) { return d.name == total.name; });
        if (other != others.end() && other->value != total.value) rows.push_back({total.name, total.value, other->value, total.unit});
    }
    if (rows.empty()) return;
    std::cout << "\nderived\n";
    print_table(rows);
}

int check_config(const std::string& file, const std::vector<std::string>& overrides, const Registry& registry) {
    try {
        load_changed(file, overrides, registry);
    } catch (const InputError& error) {
        std::cout << error.what() << '\n';
        return kWrongInput;
    }
    std::cout << "ok\n";
    return kDone;
}

/// What each choice of one key means, where somebody said so.
void describe_choices(const SpecFields& fields, const std::string& key) {
    std::vector<Row> rows;
    for (const SpecField& field : fields.list()) {
        for (std::size_t i = 0; field.key == key && i < field.choice_meanings.size(); ++i)
            rows.push_back({"  " + std::string(field.choices[i]), std::string(field.choice_meanings[i])});
    }
    if (!rows.empty()) std::cout << '\n';
    print_table(rows);
}

/// One statistic, or those of a component ("noc.request"); whether there are any.
bool describe_statistic(const std::string& name, const Registry& registry) {
    std::vector<Row> rows = {{"statistic", "unit", "meaning"}};
    for (const StatValue& stat : all_statistics(default_preset_dirs(), registry)) {
        if (stat.name == name || stat.name.starts_with(name + "."))
            rows.push_back({stat.name, std::string(stat.unit), std::string(stat.meaning)});
    }
    if (rows.size() == 1) return false;
    print_table(rows);
    return true;
}

/// `part`: a section ("dram.timing"), a key ("l1.size_kib"), a statistic, or empty for all keys.
void describe(const std::string& part, const Registry& registry) {
    if (part == "energy" || part.starts_with("energy.")) return describe_energy(part);
    MachineSpec defaults(registry);
    const SpecFields fields = defaults.fields();
    std::vector<Row> rows = {{"key", "default", "unit", "allowed", "meaning"}};
    std::set<std::string> parts;
    for (const SpecField& field : fields.list()) {
        for (std::size_t dot = field.key.find('.'); dot != std::string::npos; dot = field.key.find('.', dot + 1))
            parts.insert(field.key.substr(0, dot));
        if (!part.empty() && field.key != part && !field.key.starts_with(part + ".")) continue;
        const std::string off = inactive(fields, field);
        rows.push_back({field.key, field.value(), std::string(field.unit), allowed(field),
                        off.empty() ? std::string(field.meaning) : fmt::format("{} [{}]", field.meaning, off)});
    }
    if (rows.size() == 1) {
        if (describe_statistic(part, registry)) return;
        std::vector<std::string_view> known;
        for (const std::string& name : parts) {
            if (!name.starts_with("exec.")) known.push_back(name);
        }
        // A mistyped key has its own nearest; parts are the shorter list to show.
        std::vector<std::string_view> keys = names_of<std::string_view>(fields.list(), &SpecField::key);
        const std::vector<StatValue> statistics = all_statistics(default_preset_dirs(), registry);
        for (const StatValue& stat : statistics) keys.push_back(stat.name);
        const std::string_view near = part.find('.') == std::string::npos ? "" : nearest(part, keys);
        if (!near.empty()) throw InputError(fmt::format("unknown part '{}'; did you mean '{}'?", part.substr(0, 80), near));
        throw InputError(unknown_word("part", part, known));
    }
    print_table(rows);
    if (rows.size() == 2) describe_choices(fields, part);
}

/// Every statistic by stage, as text or as the page docs/statistics.md.
void describe_statistics(bool markdown, const Registry& registry) {
    std::vector<std::pair<std::string, std::vector<Row>>> stations;
    for (const StatValue& stat : all_statistics(default_preset_dirs(), registry)) {
        const std::string station = stat.name.substr(0, stat.name.rfind('.'));
        if (stations.empty() || stations.back().first != station) stations.push_back({station, {}});
        stations.back().second.push_back({stat.name, std::string(stat.unit), std::string(stat.meaning)});
    }
    if (markdown)
        std::cout
            << "# Statistics\n"
               "\n"
               "Generated by `mergelane describe stats --markdown`; checked by a test.\n"
               "\n"
               "All counters of a run under their `--json` and `--csv` names: sums over all components of a kind. Counters of a mechanism "
               "exist only\n"
               "if it is enabled. `mergelane run` prints metrics derived from them; JSON also contains units and descriptions.\n";
    for (const auto& [station, rows] : stations) {
        std::cout << (markdown ? fmt::format("\n## {}\n\n| statistic | unit | meaning |\n|---|---|---|\n", station)
                               : fmt::format("{}{}\n", station == stations.front().first ? "" : "\n", station));
        if (!markdown) print_table(rows);
        for (const Row& row : rows) {
            if (markdown) std::cout << fmt::format("| `{}` | {} | {} |\n", row[0], row[1], row[2]);
        }
    }
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// Everything that has a name and a meaning: kind, name, unit, meaning.
std::vector<Row> everything_named(const Registry& registry) {
    std::vector<Row> rows;
    MachineSpec defaults(registry);
    const SpecFields fields = defaults.fields();
    for (const SpecField& field : fields.list()) rows.push_back({"key", field.key, std::string(field.unit), std::string(field.meaning)});
    for (const SpecField& field : fields.list()) {
        for (std::size_t i = 0; i < field.choice_meanings.size(); ++i)
            rows.push_back({"mechanism", fmt::format("{}={}", field.key, field.choices[i]), "", std::string(field.choice_meanings[i])});
    }
    for (const StatValue& stat : all_statistics(default_preset_dirs(), registry))
        rows.push_back({"statistic", stat.name, std::string(stat.unit), std::string(stat.meaning)});
    for (const auto& entry : registry.of<NamedWorkload>().entries())
        rows.push_back({"workload", std::string(entry.name), "", std::string(entry.meaning)});
    for (const suite::SuiteWorkload& workload : suite::workloads())
        rows.push_back({"workload", std::string(workload.name), "", fmt::format("{} ({})", workload.meaning, workload.suite)});
    for (const SyntheticKind& kind : synthetic_kinds())
        rows.push_back({"synthetic", std::string(kind.name), "", std::string(kind.meaning)});
    return rows;
}

/// All words of the query must occur in name or meaning; those in the name come first.
void search(const std::string& query, const Registry& registry) {
    std::vector<std::string> words;
    std::istringstream text(lower_case(query));
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) throw InputError("nothing to search for; write for example 'mergelane describe --search mshr'");
    const auto all_in = [&](const std::string& where) {
        return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return where.find(word) != std::string::npos; });
    };
    std::vector<Row> by_name, by_meaning;
    for (Row& row : everything_named(registry)) {
        if (all_in(lower_case(row[1])))
            by_name.push_back(std::move(row));
        else if (all_in(lower_case(row[1] + " " + row[3])))
            by_meaning.push_back(std::move(row));
    }
    if (by_name.empty() && by_meaning.empty())
        throw InputError(fmt::format("nothing has '{}' in its name or meaning; try fewer or shorter words", printable(query, 80)));
    std::vector<Row> rows = {{"kind", "name", "unit", "meaning"}};
    std::move(by_name.begin(), by_name.end(), std::back_inserter(rows));
    std::move(by_meaning.begin(), by_meaning.end(), std::back_inserter(rows));
    print_table(rows);
}

void list_gpus() {
    const std::vector<std::filesystem::path> dirs = default_preset_dirs();
    std::vector<Row> rows = {{"name", "network : DRAM", "description"}};
    for (const PresetInfo& preset : list_presets(dirs)) {
        std::string ratio = "-";
        try {
            ratio = fmt::format("{:.2f} to 1", network_to_dram_bandwidth(load_config(preset.name, {}, dirs).spec));
        } catch (const InputError&) {
            // Whoever uses it is told what is wrong with it; the others can still be listed.
        }
        rows.push_back({preset.name, ratio, preset.description});
    }
    if (rows.size() == 1)
        throw InputError("no presets found; set MERGELANE_GPUS to the directory that holds them, or give paths of .toml files");
    print_table(rows);
}

void add_machine_commands(CLI::App& app, int& exit_code, const Registry& registry) {
    // What the options write to must live as long as the application.
    struct Arguments {
        std::string first;
        std::string second;
        std::vector<std::string> overrides;
        bool markdown = false;
        std::string query;
    };
    const auto arguments = std::make_shared<Arguments>();

    CLI::App* describing = app.add_subcommand(
        "describe", "Describe or search configuration keys (default, unit, allowed values, meaning), statistics and energy tables");
    describing->add_option("part", arguments->first,
                           "section or key (l1, dram.timing, l1.size_kib), a statistic (sm.stall_lsu), 'stats' for all statistics, "
                           "'energy' for energy events, "
                           "'energy.TABLE' for a table; default: all keys");
    describing->add_flag("--markdown", arguments->markdown, "print statistics as a Markdown page (only with stats)");
    CLI::Option* searching = describing->add_option(
        "--search", arguments->query, "search names and meanings of configuration keys, mechanisms, statistics and workloads");
    describing->footer(
        "Examples:\n  mergelane describe dram.timing\n  mergelane describe stats\n  mergelane describe --search mshr\n"
        "  mergelane describe --search 'write back'              all words must occur");
    describing->callback([arguments, searching, &registry] {
        if (searching->count() != 0) {
            if (!arguments->first.empty()) throw InputError("--search covers everything; omit the part");
            return search(arguments->query, registry);
        }
        if (arguments->markdown && arguments->first != "stats") throw InputError("--markdown requires 'mergelane describe stats'");
        if (arguments->first == "stats") return describe_statistics(arguments->markdown, registry);
        describe(arguments->first, registry);
    });

    CLI::App* config = app.add_subcommand("config", "Show, compare and check machine configurations");
    config->require_subcommand(1);
    config->footer("Example: mergelane config show icc60 --set l1.size_kib=32");

    CLI::App* show =
        config->add_subcommand("show", "Show all values (with unit, origin and note), derived totals and the configuration hash");
    show->add_option("gpu", arguments->first, kGpuHelp)->required();
    add_set_option(*show, arguments->overrides);
    show->footer("Example: mergelane config show icc60 --set l1.size_kib=32 --set sm.scheduler=lrr");
    show->callback([arguments, &registry] { show_config(arguments->first, arguments->overrides, registry); });

    CLI::App* diff = config->add_subcommand("diff", "Show the values that differ in two configurations");
    diff->add_option("first", arguments->first, kGpuHelp)->required();
    diff->add_option("second", arguments->second, kGpuHelp)->required();
    diff->footer("Example: mergelane config diff icc60 my-gpu.toml");
    diff->callback([arguments, &registry] { compare_configs(arguments->first, arguments->second, registry); });

    CLI::App* check_command =
        config->add_subcommand("check", "Validate a configuration: print 'ok', or the errors and their locations (exit code 2)");
    check_command->add_option("file", arguments->first, kGpuHelp)->required();
    add_set_option(*check_command, arguments->overrides);
    check_command->footer("Example: mergelane config check my-gpu.toml");
    check_command->callback(
        [arguments, &exit_code, &registry] { exit_code = check_config(arguments->first, arguments->overrides, registry); });
}

}  // namespace

void add_config_commands(CLI::App& app, int& exit_code, const Registry& registry) {
    add_machine_commands(app, exit_code, registry);
    CLI::App* list = app.get_subcommand("list");
    CLI::App* gpus = list->add_subcommand("gpus", "List GPU presets");
    gpus->footer("Example: mergelane list gpus\nSet MERGELANE_GPUS=dir1:dir2 to add presets from these directories.");
    gpus->callback([] { list_gpus(); });
    CLI::App* codes = list->add_subcommand("exit-codes", "List the exit codes of all commands");
    codes->footer("Example: mergelane list exit-codes");
    codes->callback([] {
        std::vector<Row> rows = {{"code", "meaning"}};
        for (const ExitCode& code : kExitCodes) rows.push_back({std::to_string(code.code), std::string(code.meaning)});
        print_table(rows);
    });
}

}  // namespace mergelane
