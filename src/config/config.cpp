// SPDX-License-Identifier: MIT
#include "config/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/data_paths.hpp"
#include "files/input_file.hpp"
#include "files/toml_file.hpp"
#include "files/toml_text.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

// Limits that bound the cost of a malicious file.
constexpr std::size_t kMaxProblems = 10;
constexpr std::size_t kMaxMessage = 1900;
constexpr std::size_t kMaxOverride = 1 << 18;
constexpr std::uint32_t kMaxBaseDepth = 8;
constexpr std::uint32_t kMaxFiles = 64;
constexpr std::size_t kMaxIntegers = 64;

/// Problems found so far; keeps the first ten, counts the rest.
class Complaints {
public:
    void add(const std::string& where, std::string_view text) {
        if (full()) {
            ++unlisted_;
            return;
        }
        std::string line = where + ": " + printable(text, 600);
        // Several rules may report the same cause.
        if (std::find(list_.begin(), list_.end(), line) == list_.end()) list_.push_back(std::move(line));
    }
    /// Nothing more will be listed: callers need not compose a text.
    bool full() const { return list_.size() >= kMaxProblems; }
    bool none() const { return list_.empty(); }

    void throw_if_any() const {
        if (none()) return;
        std::string message;
        std::size_t unlisted = unlisted_;
        for (const std::string& line : list_) {
            if (!message.empty() && message.size() + line.size() > kMaxMessage)
                ++unlisted;
            else
                message += (message.empty() ? "" : "\n") + line;
        }
        if (unlisted != 0) message += fmt::format("\n({} more; fix these first)", unlisted);
        throw InputError(message);
    }

private:
    std::vector<std::string> list_;
    std::size_t unlisted_ = 0;
};

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::string: return "a string";
        case toml::node_type::integer: return "an integer";
        case toml::node_type::floating_point: return "a float";
        case toml::node_type::boolean: return "a boolean";
        default: return "a date or time";
    }
}

std::string expected(const SpecField& field) {
    switch (field.kind) {
        case SpecField::Kind::integer: return fmt::format("an integer from {} to {} {}", field.min, field.max, field.unit);
        case SpecField::Kind::boolean: return "true or false, without quotes";
        case SpecField::Kind::choice: return fmt::format("one of \"{}\"", fmt::join(field.choices, "\", \""));
        case SpecField::Kind::text: return "a string in quotes";
        case SpecField::Kind::integers:
            return fmt::format("integers from {} to {} {}, as in [1, 2] or \"1,2\"", field.min, field.max, field.unit);
    }
    return {};
}

std::string out_of_range(const SpecField& field, std::int64_t value) {
    return fmt::format("{} = {} is out of range; use {} to {} {}", field.key, value, field.min, field.max, field.unit);
}

std::string assign_integers(const SpecField& field, const std::vector<std::int64_t>& values) {
    if (values.size() > kMaxIntegers) return fmt::format("{} has {} numbers; use at most {}", field.key, values.size(), kMaxIntegers);
    std::vector<std::uint32_t> list;
    for (const std::int64_t value : values) {
        if (value < field.min || value > field.max) return out_of_range(field, value);
        list.push_back(static_cast<std::uint32_t>(value));
    }
    *field.integers = std::move(list);
    return {};
}

/// "0, 8,16" into a list of integers; returns what is wrong, or nothing.
std::string assign_list(const SpecField& field, std::string_view text) {
    std::vector<std::int64_t> values;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view word = trim(text.substr(at, comma - at));
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
            return fmt::format("{} must be numbers separated by commas, for example \"0,8,16,32\"; see 'mergelane describe {}'", field.key,
                               field.key);
        }
        values.push_back(value);
        at = comma;
    }
    return assign_integers(field, values);
}

/// Puts a word into a field that is no number; returns what is wrong, or nothing.
std::string assign_word(const SpecField& field, std::string_view word) {
    if (field.kind == SpecField::Kind::integers) return assign_list(field, word);
    if (field.kind == SpecField::Kind::choice) return field.choose(word) ? "" : unknown_word(field.key, printable(word, 60), field.choices);
    if (word.size() > field.max) return fmt::format("{} is {} characters long; use at most {}", field.key, word.size(), field.max);
    const bool plain = std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (!plain)
        return fmt::format("{} = \"{}\" contains characters other than printable ASCII; use plain ASCII", field.key, printable(word, 60));
    *field.text = std::string(word);
    return {};
}

std::string assign_array(const SpecField& field, const toml::array& array) {
    std::vector<std::int64_t> values;
    for (const toml::node& element : array) {
        const auto* integer = element.as_integer();
        if (integer == nullptr) return fmt::format("{} contains {}; write {}", field.key, type_name(element), expected(field));
        values.push_back(integer->get());
    }
    if (values.empty()) return fmt::format("{} is empty; write {}", field.key, expected(field));
    return assign_integers(field, values);
}

/// Puts a parsed value into its field; returns what is wrong, or nothing.
std::string assign(const SpecField& field, const toml::node& node) {
    switch (field.kind) {
        case SpecField::Kind::integer:
            if (const auto* integer = node.as_integer()) {
                const std::int64_t value = integer->get();
                if (value < field.min || value > field.max) return out_of_range(field, value);
                *field.integer = static_cast<std::uint32_t>(value);
                return {};
            }
            break;
        case SpecField::Kind::boolean:
            if (const auto* boolean = node.as_boolean()) {
                *field.boolean = boolean->get();
                return {};
            }
            break;
        case SpecField::Kind::choice:
        case SpecField::Kind::text:
            if (const auto* text = node.as_string()) return assign_word(field, text->get());
            break;
        case SpecField::Kind::integers:
            if (const auto* text = node.as_string()) return assign_word(field, text->get());
            if (const auto* array = node.as_array()) return assign_array(field, *array);
            break;
    }
    return fmt::format("{} is {}; write {}", field.key, type_name(node), expected(field));
}

/// A configuration file and the name its values are shown under, which does not depend on where presets are installed.
struct SourceFile {
    fs::path path;
    fs::path shown;

    std::string at(std::uint32_t line) const { return fmt::format("{}:{}", shown_path(path.string()), line); }
};

bool is_path(const std::string& name) {
    return name.ends_with(".toml") || name.find('/') != std::string::npos;
}

class Loader {
public:
    Loader(const std::vector<fs::path>& preset_dirs, const Registry& registry)
        : preset_dirs_(preset_dirs), config_{MachineSpec(registry), {}, {}, {}}, fields_(config_.spec.fields().list()) {
        for (const SpecField& field : fields_) {
            if (field.kind == SpecField::Kind::integer && (*field.integer < field.min || *field.integer > field.max))
                throw InputError(fmt::format("the default of '{}' is {}, outside its range of {} to {}; correct its section", field.key,
                                             *field.integer, field.min, field.max));
            add_sections_of(field.key);
            keys_.push_back(field.key);
        }
        std::vector<std::string_view> sorted = keys_;
        std::sort(sorted.begin(), sorted.end());
        if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
            throw InputError(fmt::format("the key '{}' is declared twice; a registered section must use unique names", *twice));
        for (const SpecField& user : fields_) check_belonging(user);
    }
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    void load(const std::string& name_or_path) {
        const std::optional<SourceFile> file = find(name_or_path, name_or_path, "");
        if (!file) return;
        name_ = file->path.string();
        load_file(*file, name_);
    }
    void load_text(std::string_view text, const std::string& name) {
        name_ = name;
        std::error_code ignored;
        stack_.push_back(fs::weakly_canonical(name, ignored));
        read(text, {name, name});
        stack_.pop_back();
    }

    /// With the overrides, which come last.
    LoadedConfig finish(std::span<const std::string> overrides) {
        for (const std::string& argument : overrides) override_with(argument);
        problems_.throw_if_any();
        check_overrides();
        for (const SpecProblem& problem : check(config_.spec)) problems_.add(where_is(problem), problem.text);
        problems_.throw_if_any();
        config_.spec.name = printable(fs::path(name_).stem().string(), kMaxConfigText);
        // Derived totals must exist for every machine that passed.
        (void)derived(config_.spec);
        return std::move(config_);
    }

private:
    struct Entry {
        std::uint32_t line;
        std::string key;
        const toml::node* node;
    };
    struct Given {
        std::string where;
        std::size_t order;
    };

    /// "cluster" and "cluster.icc" of "cluster.icc.enabled". Nearly always they are those of the key before.
    void add_sections_of(std::string_view key) {
        const std::string_view section = key.substr(0, key.rfind('.') + 1);
        if (!keys_.empty() && keys_.back().substr(0, keys_.back().rfind('.') + 1) == section) return;
        for (std::size_t dot = section.find('.'); dot != std::string_view::npos; dot = section.find('.', dot + 1))
            sections_.emplace(section.substr(0, dot));
    }

    /// A key that belongs to an unknown choice would never be used.
    void check_belonging(const SpecField& user) const {
        if (user.belongs == nullptr) return;
        const SpecField* const owner = field(user.belongs->key);
        const std::vector<std::string_view> choices =
            owner->kind == SpecField::Kind::boolean ? std::vector<std::string_view>{"false", "true"} : owner->choices;
        for (const std::string_view name : user.belongs->choices) {
            if (std::find(choices.begin(), choices.end(), name) == choices.end())
                throw InputError(fmt::format("the key '{}' depends on a choice that does not exist: {}; correct its section", user.key,
                                             unknown_word(owner->key, name, choices)));
        }
    }

    /// A preset's file in the preset directories, or the path itself; the path of a base is relative to the file that names it or, if
    /// there is no such file, to the preset directories ("memory/hbm3.toml").
    std::optional<SourceFile> find(const std::string& name, const std::string& where, const fs::path& beside_of) {
        if (is_path(name)) {
            const fs::path path(name);
            if (beside_of.empty() || path.is_absolute()) return SourceFile{path, path};
            const SourceFile beside{beside_of.parent_path() / path, path};
            std::error_code ignored;
            if (fs::exists(beside.path, ignored)) return beside;
            for (const fs::path& dir : preset_dirs_) {
                if (fs::is_regular_file(dir / path, ignored)) return SourceFile{dir / path, dir / path};
            }
            return beside;
        }
        const bool word = !name.empty() && name.size() <= 64 && name.find('\0') == std::string::npos;
        for (const fs::path& dir : preset_dirs_) {
            const fs::path path = dir / (name + ".toml");
            std::error_code ignored;
            if (word && fs::is_regular_file(path, ignored)) return SourceFile{path, (dir / "").parent_path().filename() / (name + ".toml")};
        }
        std::vector<std::string> names = names_of(toml_files(preset_dirs_), [](const auto& preset) { return preset.first; });
        if (names.size() > 30) names.resize(30);
        if (names.empty()) {
            problems_.add(
                shown_path(where),
                fmt::format("unknown GPU '{}'; no presets found: give a path ending in .toml, or set MERGELANE_GPUS", printable(name, 60)));
        } else {
            const std::vector<std::string_view> known(names.begin(), names.end());
            const char* const remedy = name.find('=') == std::string::npos ? "; or give a path ending in .toml"
                                                                           : "; changes of a GPU are given with --set KEY=VALUE";
            problems_.add(shown_path(where), unknown_word("GPU", printable(name, 60), known) + remedy);
        }
        return std::nullopt;
    }

    void load_file(const SourceFile& file, const std::string& where) {
        std::error_code ignored;
        const fs::path canonical = fs::weakly_canonical(file.path, ignored);
        if (!canonical.empty() && std::find(stack_.begin(), stack_.end(), canonical) != stack_.end()) {
            problems_.add(shown_path(where),
                          fmt::format("base '{}' includes itself; remove one base of the cycle", shown_path(file.shown.string())));
            return;
        }
        if (stack_.size() > kMaxBaseDepth) {
            problems_.add(shown_path(where), fmt::format("bases are nested more than {} deep; merge some of the files", kMaxBaseDepth));
            return;
        }
        if (++files_ > kMaxFiles) {
            if (files_ == kMaxFiles + 1)
                problems_.add(shown_path(where), fmt::format("more than {} files in total; use fewer bases", kMaxFiles));
            return;
        }
        std::string problem;
        const std::optional<std::string> text = read_input(file.path, kMaxConfigBytes, problem);
        if (!text) {
            const bool is_base = !stack_.empty();
            problems_.add(shown_path(where), is_base ? fmt::format("base '{}' {}", shown_path(file.path.string()), problem) : problem);
            return;
        }
        stack_.push_back(canonical);
        read(*text, file);
        stack_.pop_back();
    }

    void read(std::string_view text, const SourceFile& file) {
        TomlProblem problem;
        const std::optional<toml::table> table = parse_toml(text, problem);
        if (!table) return problems_.add(file.at(problem.line), problem.text);
        const TextScan scan(text);
        std::vector<Entry> entries;
        collect(*table, "", entries);
        std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.line < b.line; });
        for (const Entry& entry : entries) {
            if (entry.key == "base") read_bases(*entry.node, entry.line, file);
        }
        // Remarks of a base describe the base.
        config_.description.clear();
        config_.source.clear();
        config_.spec.validated.clear();
        for (const Entry& entry : entries) {
            if (entry.key != "base") take(entry, file, scan);
        }
    }

    void read_bases(const toml::node& node, std::uint32_t line, const SourceFile& file) {
        const auto wrong = [&] {
            problems_.add(file.at(line),
                          fmt::format("base is {}; write base = \"icc60\" or base = [\"memory/gddr5.toml\", ...]", type_name(node)));
        };
        const auto load_base = [&](const std::string& name) {
            std::optional<SourceFile> base = find(name, file.at(line), file.path);
            if (!base) return;
            if (is_path(name) && !base->shown.is_absolute()) base->shown = (file.shown.parent_path() / base->shown).lexically_normal();
            load_file(*base, file.at(line));
        };
        if (const auto* name = node.as_string()) return load_base(name->get());
        const auto* array = node.as_array();
        if (array == nullptr) return wrong();
        for (const toml::node& element : *array) {
            if (problems_.full() || files_ > kMaxFiles) return;
            const auto* name = element.as_string();
            if (name == nullptr)
                return problems_.add(file.at(line),
                                     fmt::format("base contains {}; write file or preset names as strings", type_name(element)));
            load_base(name->get());
        }
    }

    void read_remark(const std::string& key, const toml::node& node, std::uint32_t line, const SourceFile& file) {
        const auto* text = node.as_string();
        if (text == nullptr) return problems_.add(file.at(line), fmt::format("{} is {}; write a string in quotes", key, type_name(node)));
        std::string& remark = key == "source" ? config_.source : key == "validated" ? config_.spec.validated : config_.description;
        remark = printable(text->get(), 2 * kMaxConfigText);
    }

    /// Lists what a table holds: values of fields, and whatever has no place, which is not entered further.
    void collect(const toml::table& table, const std::string& prefix, std::vector<Entry>& out) const {
        for (auto&& [key, node] : table) {
            std::string name(key.str());
            // A quoted key with a dot in it is no path.
            if (name.find('.') != std::string::npos) name = "\"" + name + "\"";
            const std::string path = prefix.empty() ? name : prefix + "." + name;
            if (node.is_table() && sections_.contains(path))
                collect(*node.as_table(), path, out);
            else
                out.push_back({key.source().begin.line, path, &node});
        }
    }

    void take(const Entry& entry, const SourceFile& file, const TextScan& scan) {
        if (problems_.full()) return problems_.add({}, {});
        if (entry.key == "description" || entry.key == "source" || entry.key == "validated")
            return read_remark(entry.key, *entry.node, entry.line, file);
        const SpecField* target = field(entry.key);
        const std::string problem = target == nullptr ? misplaced(entry.key, *entry.node) : assign(*target, *entry.node);
        if (!problem.empty()) return problems_.add(file.at(entry.line), problem);
        remember(entry.key, {fmt::format("{}:{}", shown_path(file.shown.string()), entry.line), scan.note(entry.node->source().begin.line)},
                 file.at(entry.line));
    }

    void remember(const std::string& key, Origin origin, std::string where) {
        config_.origins[key] = std::move(origin);
        given_[key] = {std::move(where), ++given_count_};
    }

    const SpecField* field(std::string_view key) const {
        const auto at = std::find(keys_.begin(), keys_.end(), key);
        return at == keys_.end() ? nullptr : &fields_[static_cast<std::size_t>(at - keys_.begin())];
    }

    std::string unknown_key(const std::string& key) const {
        const auto leaf = [](std::string_view path) { return path.substr(path.rfind('.') + 1); };
        // The right name in the wrong section is the most likely mistake; otherwise suggest the closest spelling.
        std::string_view near = nearest(key, keys_);
        const auto same = [&](std::string_view known) { return leaf(known) == leaf(key); };
        if (std::count_if(keys_.begin(), keys_.end(), same) == 1) near = *std::find_if(keys_.begin(), keys_.end(), same);
        std::string text = fmt::format("unknown key '{}'", printable(key, 80));
        if (!near.empty()) return text + fmt::format("; did you mean '{}'?", near);
        const std::string section = key.substr(0, key.find('.'));
        return text + fmt::format("; 'mergelane describe{}' lists the known ones", sections_.contains(section) ? " " + section : "");
    }

    /// Error message for an unknown key.
    std::string misplaced(const std::string& key, const toml::node& node) const {
        if (sections_.contains(key)) {
            return fmt::format("{} is a section, not a value; write [{}] once, with its keys below it", key, key);
        }
        if (!node.is_table()) return unknown_key(key);
        const bool top = key.find('.') == std::string::npos;
        std::vector<std::string_view> known;
        for (const std::string& section : sections_) {
            if (!top || section.find('.') == std::string::npos) known.push_back(section);
        }
        if (top) return unknown_word("section", printable(key, 60), known);
        const std::string_view near = nearest(key, known);
        return near.empty() ? unknown_key(key) : fmt::format("unknown section '{}'; did you mean '{}'?", printable(key, 60), near);
    }

    void override_with(const std::string& argument) {
        if (problems_.full()) return problems_.add({}, {});
        const std::string where = "--set " + printable(argument, 60);
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos) return problems_.add(where, "missing '='; write section.key=value, for example l1.size_kib=48");
        const std::string key(trim(std::string_view(argument).substr(0, equals)));
        const std::string_view value = trim(std::string_view(argument).substr(equals + 1));
        const SpecField* target = field(key);
        if (target == nullptr) {
            return problems_.add(where,
                                 sections_.contains(key)
                                     ? fmt::format("{} is a section; name one of its keys ('mergelane describe {}' lists them)", key, key)
                                     : unknown_key(key));
        }
        if (value.empty()) return problems_.add(where, fmt::format("no value; write {}", expected(*target)));
        if (argument.size() > kMaxOverride ||
            std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
            return problems_.add(where, fmt::format("too long, or contains control characters; write {}", expected(*target)));
        }
        std::string problem;
        const bool wordlike = target->kind == SpecField::Kind::choice || target->kind == SpecField::Kind::text ||
                              (target->kind == SpecField::Kind::integers && value.front() != '[');
        const std::string document = fmt::format("value = {}", value);
        if (wordlike && value.front() != '"' && value.front() != '\'') {
            problem = assign_word(*target, value);
        } else {
            problem = fmt::format("'{}' is not a value; write {}", printable(value, 60), expected(*target));
            TomlProblem ignored;
            if (const std::optional<toml::table> parsed = parse_toml(document, ignored)) problem = assign(*target, *parsed->get("value"));
        }
        if (!problem.empty()) return problems_.add(where, problem);
        remember(key, {"--set", ""}, where);
        overridden_.insert(key);
    }

    /// Location reported for an inconsistency: of all values involved, the one given last.
    std::string where_is(const SpecProblem& problem) const {
        const Given* last = nullptr;
        for (const std::string& key : problem.keys) {
            const auto at = given_.find(key);
            if (at != given_.end() && (last == nullptr || at->second.order > last->order)) last = &at->second;
        }
        return last != nullptr ? last->where : shown_path(name_);
    }

    /// An override of an inactive key would have no effect, so it is an error. Files may set inactive keys. So may overrides of a mechanism
    /// that is off, if the keys show that they are its own: a sweep may have it off in some of its runs.
    void check_overrides() {
        if (overridden_.empty()) return;
        const SpecFields settled = config_.spec.fields();
        std::vector<std::string_view> without_effect;
        for (const SpecField& field : settled.list()) {
            if (field.active || !overridden_.contains(field.key)) continue;
            without_effect.push_back(field.key);
            const std::string needed = field.belongs != nullptr ? wanted(*field.belongs) : foreign_switch(settled, field);
            if (needed.empty()) continue;
            problems_.add(given_.at(field.key).where,
                          fmt::format("{} is only used with {}; set that, or remove the key", field.key, needed));
        }
        if (config_.spec.validated.empty()) return;
        std::sort(without_effect.begin(), without_effect.end());
        std::vector<std::string_view> changed;
        std::set_difference(overridden_.begin(), overridden_.end(), without_effect.begin(), without_effect.end(),
                            std::back_inserter(changed));
        if (!changed.empty()) config_.spec.validated += fmt::format("; here {} changed", some_of(changed, "is", "are"));
        if (!without_effect.empty()) config_.spec.validated += fmt::format("; {} no effect here", some_of(without_effect, "has", "have"));
    }
    static std::string some_of(const std::vector<std::string_view>& keys, std::string_view one, std::string_view several) {
        constexpr std::size_t kMostNamed = 3;
        if (keys.size() > kMostNamed) return fmt::format("{} values {}", keys.size(), several);
        return fmt::format("{} {}", fmt::join(keys, ", "), keys.size() == 1 ? one : several);
    }
    /// The switch of the key's mechanism, where that is in another section of the file: dram.controller.enabled for dram.timing.tFAW.
    static std::string foreign_switch(const SpecFields& fields, const SpecField& field) {
        for (const SpecField& other : fields.list()) {
            if (other.section != field.section || other.kind != SpecField::Kind::boolean || !other.key.ends_with(".enabled")) continue;
            const std::string_view section = std::string_view(other.key).substr(0, other.key.rfind('.') + 1);
            return field.key.starts_with(section) ? std::string() : other.key + " = true";
        }
        return {};
    }

    const std::vector<fs::path>& preset_dirs_;
    LoadedConfig config_;
    std::vector<SpecField> fields_;  ///< point into config_
    std::vector<std::string_view> keys_;
    std::set<std::string, std::less<>> sections_;
    std::map<std::string, Given, std::less<>> given_;
    std::set<std::string, std::less<>> overridden_;
    std::size_t given_count_ = 0;
    std::vector<fs::path> stack_;  ///< files being read, to find cycles
    std::string name_;
    std::uint32_t files_ = 0;
    Complaints problems_;
};

std::string description_of(const fs::path& path) {
    std::string problem;
    const std::optional<std::string> text = read_input(path, kMaxConfigBytes, problem);
    if (!text) return "(" + problem + ")";
    TomlProblem ignored;
    const std::optional<toml::table> table = parse_toml(*text, ignored);
    if (!table) return "(invalid; see 'mergelane config check')";
    return printable((*table)["description"].value_or(std::string()), 2 * kMaxConfigText);
}

}  // namespace

std::string wanted(const Belonging& belongs) {
    if (belongs.choices.front() == "true" || belongs.choices.front() == "false")
        return fmt::format("{} = {}", belongs.key, belongs.choices.front());
    return fmt::format("{} = \"{}\"", belongs.key, fmt::join(belongs.choices, "\" or \""));
}

LoadedConfig load_config(const std::string& name_or_path, std::span<const std::string> overrides, const std::vector<fs::path>& preset_dirs,
                         const Registry& registry) {
    Loader loader(preset_dirs, registry);
    loader.load(name_or_path);
    return loader.finish(overrides);
}

LoadedConfig parse_config(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                          const std::vector<fs::path>& preset_dirs, const Registry& registry) {
    Loader loader(preset_dirs, registry);
    loader.load_text(text, name);
    return loader.finish(overrides);
}

std::vector<PresetInfo> list_presets(const std::vector<fs::path>& preset_dirs) {
    std::vector<PresetInfo> presets;
    for (const auto& [name, path] : toml_files(preset_dirs)) presets.push_back({name, description_of(path), path});
    return presets;
}

std::vector<fs::path> default_preset_dirs() {
    return data_paths("MERGELANE_GPUS", "gpus", "gpus");
}

}  // namespace mergelane
