// SPDX-License-Identifier: MIT
#include "campaign/campaign_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <set>

#include "files/toml_file.hpp"
#include "files/toml_text.hpp"
#include "runs/sample_choice.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/suite.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostSeeds = 1'000'000;
constexpr std::size_t kMostAxes = 64;

std::string value_text(const toml::node& node, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    fail_at(where, "must be a number, true, false or a string in quotes");
}

/// One value or a list of them.
std::vector<std::string> value_texts(const TomlTable& section, const toml::node& node) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return {value_text(node, section.place(node))};
    if (array->empty() || array->size() > 100'000) section.fail(node, "has no values, or more than 100,000; give 1 to 100,000");
    std::vector<std::string> list;
    for (const toml::node& entry : *array) list.push_back(value_text(entry, section.place(entry)));
    return list;
}

/// Keys of a table with all that lies below: l1.size_kib = 16 and "l1.size_kib" = 16 are the same.
void flatten(const TomlTable& section, const toml::table& table, const std::string& before,
             const std::function<void(const std::string&, const toml::node&)>& use) {
    section.in_order(table, [&](const std::string& name, const toml::node& value) {
        const std::string key = before.empty() ? name : before + "." + name;
        if (const toml::table* inner = value.as_table())
            flatten(section, *inner, key, use);
        else
            use(key, value);
    });
}

std::vector<std::uint64_t> read_seeds(TomlTable& section) {
    const toml::node* node = section.node("seeds", false);
    if (node == nullptr) return {1};
    std::vector<std::uint64_t> seeds;
    const std::string where = section.place(*node);
    for (const std::string& text : value_texts(section, *node)) {
        std::uint64_t first = 0, last = 0;
        const char* const end = text.data() + text.size();
        auto [at, problem] = std::from_chars(text.data(), end, first);
        last = first;
        if (problem == std::errc{} && at != end && *at == '-') {
            const auto second = std::from_chars(at + 1, end, last);
            at = second.ptr;
            problem = second.ec;
        }
        if (problem != std::errc{} || at != end || last < first || last - first >= kMostSeeds)
            fail_at(where, fmt::format("'{}' is not a seed; write numbers or ranges, for example seeds = [1, 2] or seeds = \"1-50\"",
                                       printable(text, 40)));
        const std::uint64_t count = last - first + 1;
        if (seeds.size() + count > kMostSeeds) fail_at(where, fmt::format("has more than {} seeds; split the campaign", kMostSeeds));
        for (std::uint64_t i = 0; i < count; ++i) seeds.push_back(first + i);
    }
    return seeds;
}

/// Shards may start in another directory than the one who planned.
std::string seen_from_anywhere(const std::string& file, const fs::path& folder) {
    return fs::path(file).is_relative() ? fs::absolute(folder / file).lexically_normal().string() : file;
}

void read_workloads(TomlTable& section, const fs::path& folder, CampaignSpec& spec) {
    const toml::node* node = section.node("workloads", true);
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty()) section.fail(*node, "'workloads' must be a list, for example [\"hotspot\", \"bfs\"]");
    for (const toml::node& entry : *array) {
        const std::string where = section.place(entry);
        if (const toml::table* table = entry.as_table()) {
            TomlTable one(*table, spec.file, "a workload");
            spec.workloads.push_back({one.text("program"), one.text("kernels", false), where, ""});
            one.done();
        } else {
            spec.workloads.push_back({section.text_of(entry, "workloads"), "", where, ""});
        }
        CampaignSpec::Program& added = spec.workloads.back();
        added.file = is_workload_file(added.name) ? seen_from_anywhere(added.name, folder) : added.name;
    }
}

/// Keys of configurations that some run of the campaign sets.
std::vector<std::string> changed_keys(const CampaignSpec& spec) {
    std::vector<std::string> keys;
    const auto add = [&](const std::vector<std::string>& overrides) {
        for (const std::string& word : overrides) keys.push_back(word.substr(0, word.find('=')));
    };
    add(spec.set);
    for (const std::vector<std::string>& variant : spec.variants) add(variant);
    for (const CampaignSpec::Axis& axis : spec.grid) keys.push_back(axis.key);
    return keys;
}

void read_filters(TomlTable& section, const std::string& key, const CampaignSpec& spec, std::vector<CampaignSpec::Filter>& filters) {
    const toml::node* node = section.node(key, false);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    std::vector<std::string> known = {"machine", "workload", "size", "seed"};
    for (const std::string& changed : changed_keys(spec)) known.push_back(changed);
    if (array == nullptr) section.fail(*node, fmt::format("'{0}' must be a list of tables; write [[{0}]]", key));
    for (const toml::node& entry : *array) {
        const toml::table* table = entry.as_table();
        if (table == nullptr) section.fail(entry, fmt::format("'{0}' must be a list of tables; write [[{0}]]", key));
        CampaignSpec::Filter filter{{}, section.place(entry)};
        flatten(section, *table, "", [&](const std::string& field, const toml::node& value) {
            if (std::find(known.begin(), known.end(), field) == known.end())
                section.fail(value, unknown_name(fmt::format("field of [[{}]]", key), field, known));
            filter.fields.emplace_back(field, value_texts(section, value));
        });
        if (filter.fields.empty()) fail_at(filter.where, "the filter is empty; add for example workload = \"hotspot\"");
        filters.push_back(std::move(filter));
    }
}

void read_machines(TomlTable& section, const fs::path& folder, CampaignSpec& spec) {
    for (const std::string& name : section.texts("machines", true)) {
        spec.machines.emplace_back(name.ends_with(".toml") ? seen_from_anywhere(name, folder) : name, section.where("machines"));
    }
    if (spec.machines.empty()) section.fail("machines", "the campaign has no GPU; 'mergelane list gpus' shows the presets");
}

/// [sample]: the options of 'run --sample'.
void read_sample(TomlTable& section, CampaignSpec& spec) {
    section.inside("sample", [&](TomlTable& table) {
        SampleChoice choice;
        if (const toml::node* error = table.node("error", false)) {
            const std::string text = value_text(*error, table.place(*error));
            const std::optional<double> value = relative_error(text);
            if (!value)
                table.fail(*error,
                           fmt::format("'{}' is no error from 0.05% to 50%; write for example error = \"2%\"", printable(text, 40)));
            choice.error = *value;
        }
        choice.seed = table.whole("seed", 0, kMostSampleSeed, choice.seed);
        choice.segment = table.whole("segment", 0, kMostSegment, choice.segment);
        const std::span<const std::string_view> methods = sampling::kSelectionNames;
        if (table.has("by")) {
            const std::string by = table.one_of("by", "method of sampling", methods);
            choice.by = static_cast<sampling::Selection>(std::find(methods.begin(), methods.end(), by) - methods.begin());
        }
        spec.sample = sample_text(choice);
    });
}

CampaignSpec campaign_in(const TomlFile& toml, const fs::path& folder) {
    CampaignSpec spec;
    spec.file = toml.name();
    TomlTable section = toml.table("the campaign");
    spec.title = section.text("title", false, fs::path(spec.file).stem().string());
    read_machines(section, folder, spec);
    const auto changes = [&](TomlTable& s, bool required) {
        std::vector<std::string> list = s.texts("set", required);
        for (const std::string& word : list) spec.places.try_emplace(word, s.where("set"));
        return list;
    };
    spec.set = changes(section, false);
    section.each("variant", [&](TomlTable& s) { spec.variants.push_back(changes(s, true)); });
    if (spec.variants.empty()) spec.variants.emplace_back();
    if (const toml::node* grid = section.node("grid", false)) {
        if (!grid->is_table()) section.fail(*grid, "'grid' must be a table; write [grid] and below it for example l1.ways = [2, 4]");
        flatten(section, *grid->as_table(), "", [&](const std::string& key, const toml::node& value) {
            if (spec.grid.size() == kMostAxes)
                section.fail(value, fmt::format("[grid] has more than {} keys; move keys with one value to 'set'", kMostAxes));
            for (const auto& [word, place] : spec.places) {
                if (word.starts_with(key + "="))
                    section.fail(value, fmt::format("'{}' is in [grid] and in a 'set' ({}); remove one of them", key, place));
            }
            spec.grid.push_back({key, value_texts(section, value), section.place(value)});
        });
    }
    read_workloads(section, folder, spec);
    spec.sizes = section.texts("sizes", false);
    if (spec.sizes.empty()) spec.sizes.push_back("paper");
    for (const std::string& size : spec.sizes) {
        if (std::find(std::begin(suite::kSizeNames), std::end(suite::kSizeNames), size) == std::end(suite::kSizeNames))
            section.fail("sizes", fmt::format("unknown size '{}'; known: {}", printable(size, 40), fmt::join(suite::kSizeNames, ", ")));
    }
    spec.seeds = read_seeds(section);
    read_sample(section, spec);
    read_filters(section, "only", spec, spec.only);
    read_filters(section, "exclude", spec, spec.exclude);
    section.done();
    return spec;
}

/// One machine with its changes, and what filters ask of it.
struct Point {
    const std::string& machine;
    const std::vector<std::string>& overrides;

    std::string value(const std::string& key) const {
        std::string found;
        for (const std::string& word : overrides) {
            if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') found = word.substr(key.size() + 1);
        }
        return found;
    }
};

class Expander {
public:
    Expander(const CampaignSpec& spec, Plan& plan) : spec_(spec), plan_(plan) {
        check_size();
        for (const CampaignSpec::Program& program : spec.workloads) {
            for (const std::string& size : spec.sizes) {
                for (const std::uint64_t seed : spec.seeds) inputs_.push_back({&program, &size, seed});
            }
        }
    }

    void all() {
        for (const auto& [machine, where] : spec_.machines) {
            for (const std::vector<std::string>& variant : spec_.variants) {
                std::vector<std::string> overrides = spec_.set;
                overrides.insert(overrides.end(), variant.begin(), variant.end());
                combine(machine, where, overrides, 0);
            }
        }
        for (const auto* filters : {&spec_.only, &spec_.exclude}) {
            for (const CampaignSpec::Filter& filter : *filters) {
                if (!useful_.contains(&filter)) fail_at(filter.where, "the filter matches no run; correct its values, or remove it");
            }
        }
    }

private:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    struct Input {
        const CampaignSpec::Program* program;
        const std::string* size;
        std::uint64_t seed;
        std::uint32_t workload = kNone;
    };

    void check_size() const {
        double runs = 1;
        for (const std::size_t values :
             {spec_.machines.size(), spec_.variants.size(), spec_.workloads.size(), spec_.sizes.size(), spec_.seeds.size()})
            runs *= static_cast<double>(values);
        for (const CampaignSpec::Axis& axis : spec_.grid) runs *= static_cast<double>(axis.values.size());
        if (runs > static_cast<double>(kMostRuns))
            fail_at(spec_.file + ":1", fmt::format("expands to {:.3g} runs; a campaign has at most {}; split it", runs, kMostRuns));
    }

    void combine(const std::string& machine, const std::string& where, std::vector<std::string>& overrides, std::size_t axis) {
        if (axis == spec_.grid.size()) return add(machine, where, overrides);
        for (const std::string& value : spec_.grid[axis].values) {
            overrides.push_back(fmt::format("{}={}", spec_.grid[axis].key, value));
            combine(machine, where, overrides, axis + 1);
            overrides.pop_back();
        }
    }

    void add(const std::string& machine, const std::string& where, const std::vector<std::string>& overrides) {
        const Point point{machine, overrides};
        const bool filtered = !spec_.only.empty() || !spec_.exclude.empty();
        std::uint32_t number = kNone;
        for (Input& input : inputs_) {
            if (filtered && !wanted(point, input)) continue;
            if (input.workload == kNone) input.workload = workload_of(input);
            if (number == kNone) number = machine_of(machine, where, overrides);
            plan_.add(number, input.workload);
        }
    }

    std::uint32_t workload_of(const Input& input) const {
        try {
            return plan_.workload(input.program->file, *input.size, input.seed, input.program->kernels, spec_.sample);
        } catch (const InputError& error) {
            fail_at(input.program->where, error.what());
        }
    }
    std::uint32_t machine_of(const std::string& machine, const std::string& where, const std::vector<std::string>& overrides) const {
        try {
            return plan_.machine(machine, overrides);
        } catch (const InputError& error) {
            refuse(machine, where, overrides, error.what());
        }
    }
    /// Where it was written: the machine by itself, a change, or changes that do not go together.
    [[noreturn]] void refuse(const std::string& machine, const std::string& where, const std::vector<std::string>& overrides,
                             std::string reason) const {
        constexpr std::string_view kOption = "--set ";
        if (overrides.empty()) fail_at(where, reason);
        const bool alone = reason.find(": unknown key") != std::string::npos || overrides.size() == 1;
        const std::string remedy =
            alone ? "" : fmt::format("; it is combined with '{}', which [[exclude]] can remove", fmt::join(overrides, " "));
        if (!reason.starts_with(kOption)) fail_at(where, fmt::format("{}: {}{}", machine, reason, remedy));
        reason.erase(0, kOption.size());
        for (const auto& [word, place] : spec_.places) {
            if (reason.starts_with(word + ":")) fail_at(place, reason + remedy);
        }
        for (const CampaignSpec::Axis& axis : spec_.grid) {
            if (reason.starts_with(axis.key + "=")) fail_at(axis.where, reason + remedy);
        }
        fail_at(where, reason);
    }

    bool wanted(const Point& point, const Input& input) {
        const auto matches = [&](const CampaignSpec::Filter& filter) {
            const bool all = std::all_of(filter.fields.begin(), filter.fields.end(), [&](const auto& field) {
                const auto is = [&](const std::string& value) {
                    return std::find(field.second.begin(), field.second.end(), value) != field.second.end();
                };
                if (field.first == "machine") return is(point.machine) || is(fs::path(point.machine).filename().string());
                if (field.first == "workload") return is(input.program->name);
                if (field.first == "size") return is(*input.size);
                if (field.first == "seed") return is(std::to_string(input.seed));
                return is(point.value(field.first));
            });
            if (all) useful_.insert(&filter);
            return all;
        };
        // All of them are asked, so that one that never matches is noticed.
        const auto only = std::count_if(spec_.only.begin(), spec_.only.end(), matches);
        const auto excluded = std::count_if(spec_.exclude.begin(), spec_.exclude.end(), matches);
        return (spec_.only.empty() || only != 0) && excluded == 0;
    }

    const CampaignSpec& spec_;
    Plan& plan_;
    std::vector<Input> inputs_;
    std::set<const CampaignSpec::Filter*> useful_;  ///< filters that matched a run
};

}  // namespace

CampaignSpec parse_campaign(std::string_view text, const std::string& name, const fs::path& folder) {
    return campaign_in(TomlFile(text, name), folder);
}

CampaignSpec read_campaign(const fs::path& file) {
    return campaign_in(TomlFile(file), fs::absolute(file).parent_path());
}

void expand(const CampaignSpec& campaign, Plan& plan) {
    const std::size_t before = plan.size();
    Expander(campaign, plan).all();
    if (plan.size() == before) fail_at(campaign.file + ":1", "no runs are left; check [[only]] and [[exclude]]");
}

}  // namespace mergelane::study
