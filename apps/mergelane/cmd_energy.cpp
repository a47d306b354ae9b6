// SPDX-License-Identifier: MIT
#include "cmd_energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "core/error.hpp"
#include "energy/cost_tables.hpp"
#include "energy/energy_table.hpp"

namespace mergelane {

int cmd_list_energy(std::ostream& out) {
    const std::vector<EnergyTable> tables = list_energy_tables(default_energy_dirs());
    if (tables.empty()) throw InputError("no energy tables found; set MERGELANE_ENERGY to the directory that holds them");
    std::size_t width = 0;
    for (const EnergyTable& table : tables) width = std::max(width, table.name.size());
    for (const EnergyTable& table : tables) out << fmt::format("{:<{}}  {}\n", table.name, width, table.description);
    return 0;
}

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
            out << fmt::format("  {:<56}{:>8}  and {} bytes in {} of them\n", "together", table.bytes(), table.bytes() * table.instances,
                               table.instances);
    }
    out << "\nnetworks of decoupled L1s, 80 cores, 32 slices, 22 nm, against one 80x32 (replies transposed)\n";
    out << fmt::format("{:<28}{:>10}{:>10}{:>10}{:>10}\n", "organisation", "mm2", "change", "leak mW", "change");
    const std::vector<NocDesign> designs = dc_l1_nocs();
    const NocTotal base = noc_total(designs.front(), ReplyCount::transposed);
    for (const NocDesign& design : designs) {
        const NocTotal total = noc_total(design, ReplyCount::transposed);
        out << fmt::format("  {:<26}{:>10.3f}{:>+9.1f}%{:>10.1f}{:>+9.1f}%\n", design.name, total.area_mm2,
                           100 * (total.area_mm2 / base.area_mm2 - 1), total.leak_mw, 100 * (total.leak_mw / base.leak_mw - 1));
    }
    return 0;
}

int cmd_describe_energy(const std::string& part, std::ostream& out) {
    if (part == "energy") {
        out << "What event tables put a price on; 'mergelane describe energy.TABLE' shows the prices, 'mergelane list energy' the "
               "tables\n\n";
        for (const EnergyCountInfo& info : energy_count_infos()) out << fmt::format("{:<26}{:<20}{}\n", info.name, info.unit, info.meaning);
        out << "\nSearches, reads and writes of the structures that mechanisms declare, such as merge tables, are priced by their size in "
               "every table that lists \"declared\"\n";
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
        out << fmt::format("{:<16} by its size from {} (sram.csv)\n", structure, table.sram_tool);
    for (const auto& [fact, source] : table.facts) out << fmt::format("{:<34}{}\n", fact, source);
    return 0;
}

void add_energy_commands(CLI::App& app, int& exit_code) {
    CLI::App* list = app.get_subcommand("list");
    CLI::App* energy = list->add_subcommand("energy", "Energy tables for 'mergelane run --energy'");
    energy->footer("Example: mergelane list energy\nThe numbers of one table: mergelane describe energy.gpuwattch_gtx480_40nm");
    energy->callback([&exit_code] { exit_code = cmd_list_energy(std::cout); });
    CLI::App* costs = list->add_subcommand("costs", "Storage, area and power of the published mechanisms");
    costs->footer("Example: mergelane list costs");
    costs->callback([&exit_code] { exit_code = cmd_list_costs(std::cout); });
}

}  // namespace mergelane
