// SPDX-License-Identifier: MIT
#include "cmd_energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "energy/cost_tables.hpp"
#include "sim/built_in.hpp"
#include "sim/declared.hpp"

namespace mergelane {

int cmd_list_energy(std::ostream& out) {
    const std::vector<EnergyTable> tables = list_energy_tables(default_energy_dirs());
    if (tables.empty()) throw InputError("no energy tables found; set MERGELANE_ENERGY to the directory that holds them");
    std::size_t width = 0;
    for (const EnergyTable& table : tables) width = std::max(width, table.name.size());
    for (const EnergyTable& table : tables) out << fmt::format("{:<{}}  {}\n", table.name, width, table.description);
    return 0;
}

namespace {

/// The networks of machines with decoupled L1s, by what these declare.
void list_networks(std::ostream& out) {
    const EnergyData table = load_energy_table("bottom_up_22nm", default_energy_dirs());
    struct Cost {
        double mm2 = 0, milliwatts = 0;
    };
    const auto cost_of = [&](const std::vector<std::string>& overrides) {
        const MachineSpec spec = load_config("dcl1-80", overrides, default_preset_dirs(), built_in()).spec;
        const EnergyPrices prices = energy_prices(table, energy_shape(spec), structures_of(spec));
        Cost cost;
        for (const EnergyArea& area : prices.areas) cost.mm2 += area.structure.ends_with(" network") ? area.mm2 : 0;
        for (const EnergyPrice& price : prices.list)
            cost.milliwatts += price.name.ends_with(" network leakage") ? static_cast<double>(price.fj) * prices.core_mhz * 1e-6 : 0;
        return cost;
    };
    out << "\nnetworks of decoupled L1s on dcl1-80, 22 nm, relative to private L1s\n";
    out << fmt::format("{:<28}{:>10}{:>10}{:>10}{:>10}\n", "nodes, clusters", "mm2", "change", "leak mW", "change");
    const Cost base = cost_of({});
    out << fmt::format("  {:<26}{:>10.3f}{:>10}{:>10.1f}\n", "none", base.mm2, "", base.milliwatts);
    static constexpr std::pair<int, int> kOrganisations[] = {{40, 40}, {20, 20}, {10, 10}, {40, 1}, {40, 5}, {40, 10}, {40, 20}};
    for (const auto& [nodes, clusters] : kOrganisations) {
        const Cost cost = cost_of({"dcl1.enabled=true", fmt::format("dcl1.nodes={}", nodes), fmt::format("dcl1.clusters={}", clusters)});
        out << fmt::format("  {:<26}{:>10.3f}{:>+9.1f}%{:>10.1f}{:>+9.1f}%\n", fmt::format("{}, {}", nodes, clusters), cost.mm2,
                           100 * (cost.mm2 / base.mm2 - 1), cost.milliwatts, 100 * (cost.milliwatts / base.milliwatts - 1));
    }
}

}  // namespace

int cmd_list_costs(std::ostream& out) {
    out << fmt::format("{:<28}{:>8}{:>12}{:>10}{:>10}{:>14}\n", "structure", "entries", "bits each", "bits", "bytes", "published mW");
    for (const CostTable& table : cost_tables()) {
        out << fmt::format("{}, per {} ({})\n", table.mechanism, table.per, table.remark);
        for (const StorageCost& row : table.storage) {
            const Structure& s = row.structure;
            out << fmt::format("  {:<26}{:>8}{:>12}{:>10}{:>10}", s.name, s.entries, s.entry_bits(), s.bits(), s.bytes());
            out << (row.published_mw == 0 ? "\n" : fmt::format("{:>14.1f}\n", row.published_mw));
        }
        if (!table.storage.empty())
            out << fmt::format("  {:<56}{:>8}  {} bytes in all {} instances\n", "together", table.bytes(), table.bytes() * table.instances,
                               table.instances);
    }
    list_networks(out);
    return 0;
}

int cmd_describe_energy(const std::string& part, std::ostream& out) {
    if (part == "energy") {
        out << "Events that energy tables assign an energy to; 'mergelane describe energy.TABLE' shows the values, 'mergelane list energy' "
               "the tables\n"
               "\n";
        for (const EnergyCountInfo& info : energy_count_infos()) out << fmt::format("{:<26}{:<20}{}\n", info.name, info.unit, info.meaning);
        out << "\n"
               "Searches, reads and writes of structures declared by mechanisms, such as merge tables, are costed by size in every table "
               "that lists \"declared\"\n";
        return 0;
    }
    const EnergyTable table = load_energy_table(part.substr(part.find('.') + 1), default_energy_dirs()).table;
    out << fmt::format("{}: {}\nkind {}, {} nm\nafter {}\n\n", table.name, table.description, table.kind, table.node_nm, table.source);
    for (const EnergyEvent& event : table.events) {
        out << fmt::format("{:<8}{:<30}{:>12.5g} pJ{}{} per {}: {}\n", event.component, event.name, event.pj,
                           event.times == 1 ? "" : fmt::format(" x {:g}", event.times),
                           event.scale_by.empty() ? "" : " x " + event.scale_by,
                           energy_count_infos()[static_cast<std::size_t>(event.count)].name, event.source);
    }
    for (const EnergyPower& power : table.powers) {
        out << fmt::format("{:<8}{:<30}{:>12.5g} W during {}: {}\n", "static", power.name, power.watts,
                           energy_count_infos()[static_cast<std::size_t>(power.count)].name, power.source);
    }
    for (const std::string& structure : table.structures)
        out << fmt::format("{:<16} costed by size with {} (sram.csv)\n", structure, table.sram_tool);
    for (const auto& [fact, source] : table.facts) out << fmt::format("{:<34}{}\n", fact, source);
    return 0;
}

void add_energy_commands(CLI::App& app, int& exit_code) {
    CLI::App* list = app.get_subcommand("list");
    CLI::App* energy = list->add_subcommand("energy", "List energy tables for 'mergelane run --energy'");
    energy->footer("Example: mergelane list energy\nValues of one table: mergelane describe energy.gpuwattch_gtx480_40nm");
    energy->callback([&exit_code] { exit_code = cmd_list_energy(std::cout); });
    CLI::App* costs = list->add_subcommand("costs", "List storage, area and power of the published mechanisms");
    costs->footer("Example: mergelane list costs");
    costs->callback([&exit_code] { exit_code = cmd_list_costs(std::cout); });
}

}  // namespace mergelane
