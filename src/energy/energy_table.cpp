// SPDX-License-Identifier: MIT
#include "energy/energy_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "files/data_paths.hpp"
#include "files/toml_file.hpp"

namespace mergelane {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 2> kKinds = {"regressed", "bottom_up"};
constexpr std::array<std::string_view, 2> kScales = {"flit_bytes", "dram_access_bytes"};
constexpr std::array<std::string_view, 3> kStructures = {"l1", "l2", "declared"};
constexpr double kLargest = 1e12;  // of any number: far beyond what makes sense, far below what overflows

/// Reads one table; every complaint names file and line.
class Reader {
public:
    explicit Reader(const fs::path& path) : path_(path), file_(path) {}

    EnergyTable read() {
        const toml::table& root = file_.root();
        EnergyTable table;
        table.name = path_.stem().string();
        file_.allow(root, {"description", "source", "kind", "node_nm", "access_bytes", "event", "power", "sram", "crossbar", "dram"});
        table.description = text(root, "description");
        table.source = text(root, "source");
        table.kind = word(root, "kind", "kind of table", kKinds);
        table.node_nm = static_cast<std::uint32_t>(number(root, "node_nm", 1, 10000));
        if (root.contains("access_bytes")) table.access_bytes = static_cast<std::uint32_t>(number(root, "access_bytes", 1, 65536));
        for_each(root, "event", [&](const toml::table& row) { table.events.push_back(event(row)); });
        for_each(root, "power", [&](const toml::table& row) { table.powers.push_back(power(row)); });
        if (const toml::table* section = optional_section(root, "sram")) sram(*section, table);
        if (const toml::table* section = optional_section(root, "crossbar")) crossbar(*section, table);
        if (const toml::table* section = optional_section(root, "dram")) dram(*section, table);
        return table;
    }

private:
    [[noreturn]] void fail(const toml::node& at, const std::string& what) const { file_.fail(at, what); }
    std::string text(const toml::table& table, std::string_view key) const {
        const auto value = table[key].value<std::string>();
        if (!value || value->empty()) fail(table, fmt::format("'{}' is missing; write {} = \"...\"", key, key));
        return *value;
    }
    double number(const toml::table& table, std::string_view key, double least = 0, double most = kLargest) const {
        const auto value = table[key].value<double>();
        if (!value) fail(table, fmt::format("'{}' is missing or not a number", key));
        if (!(*value >= least && *value <= most))
            fail(table, fmt::format("{} = {} is out of range; use {} to {}", key, *value, least, most));
        return *value;
    }
    std::string word(const toml::table& table, std::string_view key, std::string_view what, std::span<const std::string_view> known) const {
        std::string value = text(table, key);
        if (std::find(known.begin(), known.end(), value) == known.end()) fail(table, unknown_word(what, value, known));
        return value;
    }
    EnergyCount count(const toml::table& row) const {
        const std::string name = text(row, "count");
        std::vector<std::string_view> known;
        for (std::size_t i = 0; i < kEnergyCounts; ++i) {
            if (energy_count_infos()[i].name == name) return static_cast<EnergyCount>(i);
            known.push_back(energy_count_infos()[i].name);
        }
        fail(row, unknown_word("count", name, known));
    }
    template <class Function>
    void for_each(const toml::table& root, std::string_view key, Function function) const {
        const toml::node* node = root.get(key);
        if (node == nullptr) return;
        const toml::array* rows = node->as_array();
        if (rows == nullptr || !rows->is_homogeneous(toml::node_type::table)) fail(*node, fmt::format("write [[{}]] above each row", key));
        for (const toml::node& row : *rows) function(*row.as_table());
    }
    const toml::table* optional_section(const toml::table& root, std::string_view key) const {
        const toml::node* node = root.get(key);
        if (node != nullptr && !node->is_table()) fail(*node, fmt::format("write [{}] above its values", key));
        return node == nullptr ? nullptr : node->as_table();
    }
    /// A number with where it comes from: key = { value = 1.5, source = "..." }.
    double fact(const toml::table& section, std::string_view key, EnergyTable& table, double least = 0, double most = kLargest) const {
        const toml::node* node = section.get(key);
        const toml::table* value = node == nullptr ? nullptr : node->as_table();
        if (value == nullptr) fail(section, fmt::format("write {} = {{ value = ..., source = \"...\" }}", key));
        file_.allow(*value, {"value", "source"});
        const double result = number(*value, "value", least, most);
        table.facts.emplace_back(fmt::format("{} = {}", key, result), text(*value, "source"));
        return result;
    }

    EnergyEvent event(const toml::table& row) const {
        file_.allow(row, {"component", "name", "count", "pj", "times", "scale_by", "source"});
        EnergyEvent event;
        event.component = word(row, "component", "component", kEventComponents);
        event.name = text(row, "name");
        event.count = count(row);
        event.pj = number(row, "pj");
        if (row.contains("times")) event.times = number(row, "times");
        if (row.contains("scale_by")) event.scale_by = word(row, "scale_by", "size", kScales);
        event.source = text(row, "source");
        return event;
    }
    EnergyPower power(const toml::table& row) const {
        file_.allow(row, {"name", "count", "watts", "source"});
        EnergyPower power;
        power.name = text(row, "name");
        power.count = count(row);
        if (power.count > EnergyCount::idle_sm_cycles) fail(row, "power flows over time: count cycles, sm_cycles or idle_sm_cycles");
        power.watts = number(row, "watts");
        power.source = text(row, "source");
        return power;
    }
    void sram(const toml::table& section, EnergyTable& table) const {
        file_.allow(section, {"tool", "structures"});
        table.sram_tool = text(section, "tool");
        const toml::array* list = section["structures"].as_array();
        if (list == nullptr) fail(section, "'structures' is missing; write structures = [\"l1\", ...]");
        for (const toml::node& node : *list) {
            const auto name = node.value<std::string>();
            if (!name || std::find(kStructures.begin(), kStructures.end(), *name) == kStructures.end())
                fail(node, unknown_word("structure", name.value_or("?"), kStructures));
            table.structures.push_back(*name);
        }
    }
    void crossbar(const toml::table& section, EnergyTable& table) const {
        file_.allow(section, {"logic_area", "wire_area", "leakage", "energy", "link_mm", "link_pj_per_bit_mm"});
        table.crossbar = true;
        table.crossbar_scale = {fact(section, "logic_area", table), fact(section, "wire_area", table), fact(section, "leakage", table),
                                fact(section, "energy", table)};
        table.link_mm = fact(section, "link_mm", table);
        table.link_pj_per_bit_mm = fact(section, "link_pj_per_bit_mm", table);
    }
    void dram(const toml::table& section, EnergyTable& table) const {
        file_.allow(section, {"activate_pj", "read_pj_per_bit", "write_pj_per_bit", "standby_w", "device_bytes_per_clock"});
        table.dram = true;
        table.dram_activate_pj = fact(section, "activate_pj", table);
        table.dram_read_pj_per_bit = fact(section, "read_pj_per_bit", table);
        table.dram_write_pj_per_bit = fact(section, "write_pj_per_bit", table);
        table.dram_standby_w = fact(section, "standby_w", table);
        table.dram_device_bytes_per_clock = static_cast<std::uint32_t>(fact(section, "device_bytes_per_clock", table, 1, 65536));
    }

    fs::path path_;
    TomlFile file_;
};

std::map<std::string, fs::path> table_files(const std::vector<fs::path>& dirs) {
    std::map<std::string, fs::path> found;
    for (const fs::path& dir : dirs) {
        std::error_code ignored;
        for (const fs::directory_entry& entry : fs::directory_iterator(dir, ignored)) {
            if (entry.path().extension() == ".toml") found.emplace(entry.path().stem().string(), entry.path());
        }
    }
    return found;
}

std::optional<fs::path> sram_file(const std::vector<fs::path>& dirs) {
    for (const fs::path& dir : dirs) {
        std::error_code ignored;
        if (fs::is_regular_file(dir / "sram.csv", ignored)) return dir / "sram.csv";
    }
    return std::nullopt;
}

}  // namespace

EnergyData load_energy_table(const std::string& name_or_path, const std::vector<fs::path>& dirs) {
    fs::path file = name_or_path;
    if (file.extension() != ".toml") {
        const std::map<std::string, fs::path> known = table_files(dirs);
        const auto at = known.find(name_or_path);
        if (at == known.end()) {
            std::vector<std::string_view> names;
            for (const auto& [name, path] : known) names.push_back(name);
            throw InputError(unknown_word("energy table", name_or_path.substr(0, 80), names) + "; or give a path ending in .toml");
        }
        file = at->second;
    }
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) throw InputError(fmt::format("there is no energy table '{}'", file.string()));
    EnergyData data;
    data.table = Reader(file).read();
    if (!data.table.structures.empty()) {
        std::vector<fs::path> places = {file.parent_path()};
        places.insert(places.end(), dirs.begin(), dirs.end());
        data.sram = load_sram_table(places);
    }
    return data;
}

SramTable load_sram_table(const std::vector<fs::path>& dirs) {
    const std::optional<fs::path> file = sram_file(dirs);
    if (!file) throw InputError("sram.csv was not found; set MERGELANE_ENERGY to the directory that holds the energy tables");
    return SramTable::read(*file);
}

std::vector<EnergyTable> list_energy_tables(const std::vector<fs::path>& dirs) {
    std::vector<EnergyTable> tables;
    for (const auto& [name, path] : table_files(dirs)) tables.push_back(Reader(path).read());
    return tables;
}

std::vector<fs::path> default_energy_dirs() {
    return data_paths("MERGELANE_ENERGY", "energy", "data/energy");
}

}  // namespace mergelane
