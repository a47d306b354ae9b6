// SPDX-License-Identifier: MIT
#include "energy/energy_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/data_paths.hpp"
#include "files/toml_file.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"regressed", "bottom_up", "measured", "extrapolated"};
constexpr std::array<std::string_view, 2> kScales = {"flit_bytes", "dram_access_bytes"};
constexpr std::array<std::string_view, 3> kStructures = {"l1", "l2", "declared"};
constexpr double kLargest = 1e12;  // of any number: far beyond what makes sense, far below what overflows

std::string filled(TomlTable& table, std::string_view key) {
    std::string text = table.text(key);
    if (text.empty()) table.fail(key, fmt::format("'{}' is empty; every value requires a description and a source", key));
    return text;
}

EnergyCount read_count(TomlTable& row) {
    const std::string name = filled(row, "count");
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < kEnergyCounts; ++i) {
        if (energy_count_infos()[i].name == name) return static_cast<EnergyCount>(i);
        known.push_back(energy_count_infos()[i].name);
    }
    row.fail("count", unknown_word("count", name, known));
}

/// A number with where it comes from: key = { value = 1.5, source = "..." }.
double read_fact(TomlTable& section, std::string_view key, EnergyTable& table, double least = 0, double most = kLargest) {
    const toml::node& node = section.need(key);
    if (!node.is_table()) section.fail(node, fmt::format("write {} = {{ value = ..., source = \"...\" }}", key));
    TomlTable fact = section.inner(node, std::string(key));
    const double result = fact.number("value", least, most);
    table.facts.emplace_back(fmt::format("{} = {}", key, result), filled(fact, "source"));
    fact.done();
    return result;
}

EnergyEvent read_event(TomlTable& row) {
    EnergyEvent event;
    event.component = row.one_of("component", "component", kEventComponents);
    event.name = filled(row, "name");
    event.count = read_count(row);
    event.pj = row.number("pj", 0, kLargest);
    if (row.has("times")) event.times = row.number("times", 0, kLargest);
    if (row.has("scale_by")) event.scale_by = row.one_of("scale_by", "size", kScales);
    event.source = filled(row, "source");
    return event;
}

EnergyPower read_power(TomlTable& row) {
    EnergyPower power;
    power.name = filled(row, "name");
    power.count = read_count(row);
    if (power.count > EnergyCount::idle_sm_cycles) row.fail("count", "static power is per time: count cycles, sm_cycles or idle_sm_cycles");
    power.watts = row.number("watts", 0, kLargest);
    power.source = filled(row, "source");
    return power;
}

void read_sram(TomlTable& section, EnergyTable& table) {
    table.sram_tool = filled(section, "tool");
    section.each_text("structures", true, [&](const std::string& name, const toml::node& at) {
        if (std::find(kStructures.begin(), kStructures.end(), name) == kStructures.end())
            section.fail(at, unknown_word("structure", name, kStructures));
        table.structures.push_back(name);
    });
}

void read_crossbar(TomlTable& section, EnergyTable& table) {
    table.crossbar = true;
    table.crossbar_scale = {read_fact(section, "logic_area", table), read_fact(section, "wire_area", table),
                            read_fact(section, "leakage", table), read_fact(section, "energy", table)};
    table.link_mm = read_fact(section, "link_mm", table);
    table.link_pj_per_bit_mm = read_fact(section, "link_pj_per_bit_mm", table);
}

void read_dram(TomlTable& section, EnergyTable& table) {
    table.dram = true;
    table.dram_activate_pj = read_fact(section, "activate_pj", table);
    table.dram_read_pj_per_bit = read_fact(section, "read_pj_per_bit", table);
    table.dram_write_pj_per_bit = read_fact(section, "write_pj_per_bit", table);
    const auto optional = [&](std::string_view key) {
        return section.has(key) ? std::optional<double>(read_fact(section, key, table)) : std::nullopt;
    };
    table.dram_refresh_pj = optional("refresh_pj");
    table.dram_refresh_bank_pj = optional("refresh_bank_pj");
    table.dram_standby_w = read_fact(section, "standby_w", table);
    table.dram_open_bank_w = optional("open_bank_w");
    if (section.has("standards"))
        section.each_text("standards", true, [&](const std::string& name, const toml::node&) { table.dram_standards.push_back(name); });
    table.dram_device_bytes_per_clock = static_cast<std::uint32_t>(read_fact(section, "device_bytes_per_clock", table, 1, 65536));
}

/// Its prices do not depend on the node of the chip.
bool only_dram(TomlTable& root) {
    return root.has("dram") && !root.has("sram") && !root.has("crossbar") && !root.has("node_nm");
}

EnergyTable read_table(const fs::path& path) {
    const TomlFile file(path);
    TomlTable root = file.table("the table");
    EnergyTable table;
    table.name = path.stem().string();
    table.description = filled(root, "description");
    table.source = filled(root, "source");
    table.kind = root.one_of("kind", "kind of table", kKinds);
    if (!only_dram(root)) table.node_nm = static_cast<std::uint32_t>(root.number("node_nm", 1, 10000));
    if (root.has("access_bytes")) table.access_bytes = static_cast<std::uint32_t>(root.number("access_bytes", 1, 65536));
    root.each("event", [&](TomlTable& row) { table.events.push_back(read_event(row)); });
    root.each("power", [&](TomlTable& row) { table.powers.push_back(read_power(row)); });
    root.inside("sram", [&](TomlTable& section) { read_sram(section, table); });
    root.inside("crossbar", [&](TomlTable& section) { read_crossbar(section, table); });
    root.inside("dram", [&](TomlTable& section) { read_dram(section, table); });
    root.done();
    return table;
}

}  // namespace

EnergyData load_energy_table(const std::string& name_or_path, const std::vector<fs::path>& dirs) {
    fs::path file = name_or_path;
    if (file.extension() != ".toml") {
        const std::map<std::string, fs::path> known = toml_files(dirs);
        const auto at = known.find(name_or_path);
        if (at == known.end()) {
            std::vector<std::string_view> names;
            for (const auto& [name, path] : known) names.push_back(name);
            throw InputError(unknown_word("energy table", name_or_path.substr(0, 80), names) + "; or give a path ending in .toml");
        }
        file = at->second;
    }
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) throw InputError(fmt::format("no such energy table '{}'", file.string()));
    EnergyData data;
    data.table = read_table(file);
    if (!data.table.structures.empty()) {
        std::vector<fs::path> places = {file.parent_path()};
        places.insert(places.end(), dirs.begin(), dirs.end());
        data.sram = load_sram_table(places);
    }
    return data;
}

SramTable load_sram_table(const std::vector<fs::path>& dirs) {
    for (const fs::path& dir : dirs) {
        std::error_code ignored;
        if (fs::is_regular_file(dir / "sram.csv", ignored)) return SramTable::read(dir / "sram.csv");
    }
    throw InputError("sram.csv was not found; set MERGELANE_ENERGY to the directory that holds the energy tables");
}

std::vector<EnergyTable> list_energy_tables(const std::vector<fs::path>& dirs) {
    std::vector<EnergyTable> tables;
    for (const auto& [name, path] : toml_files(dirs)) tables.push_back(read_table(path));
    return tables;
}

std::vector<fs::path> default_energy_dirs() {
    return data_paths("MERGELANE_ENERGY", "energy", "data/energy");
}

}  // namespace mergelane
