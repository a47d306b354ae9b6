// SPDX-License-Identifier: MIT
// Commands about energy: `list energy`, `list costs`, and what `describe energy` shows.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "config/config.hpp"
#include "config/published_costs.hpp"
#include "core/error.hpp"
#include "costing/energy_of_run.hpp"
#include "sim/declared.hpp"

namespace mergelane {

namespace {

void list_energy() {
    const std::vector<EnergyTable> tables = list_energy_tables(default_energy_dirs());
    if (tables.empty()) throw InputError("no energy tables found; set MERGELANE_ENERGY to the directory that holds them");
    std::size_t width = 0;
    for (const EnergyTable& table : tables) width = std::max(width, table.name.size());
    for (const EnergyTable& table : tables) std::cout << fmt::format("{:<{}}  {}\n", table.name, width, table.description);
}

/// The networks of a mechanism that has its own, compared with those of the machine without it.
void list_networks(const Publication& paper, const Registry& registry) {
    const EnergyData table = load_energy_table("bottom_up_22nm", default_energy_dirs());
    struct Cost {
        double mm2 = 0, milliwatts = 0;
    };
    const auto cost_of = [&](const std::vector<std::string>& overrides) {
        const MachineSpec spec = load_config(paper.machine, overrides, default_preset_dirs(), registry).spec;
        const EnergyPrices prices = prices_of(spec, table);
        Cost cost;
        for (const auto& [structure, mm2] : prices.areas_mm2) cost.mm2 += structure.ends_with(" network") ? mm2 : 0;
        for (const EnergyPrice& price : prices.list)
            cost.milliwatts += price.name.ends_with(" network leakage") ? static_cast<double>(price.fj) * prices.core_mhz * 1e-6 : 0;
        return cost;
    };
    std::cout << fmt::format("\nnetworks of {} on {} at 22 nm, compared with the machine without it\n", paper.mechanism, paper.machine);
    std::cout << fmt::format("{:<28}{:>10}{:>10}{:>10}{:>10}\n", "variant", "mm2", "change", "leak mW", "change");
    const Cost base = cost_of({});
    std::cout << fmt::format("  {:<26}{:>10.3f}{:>10}{:>10.1f}\n", "without", base.mm2, "", base.milliwatts);
    for (const Publication::Variant& variant : paper.networks) {
        const Cost cost = cost_of(variant.overrides);
        std::cout << fmt::format("  {:<26}{:>10.3f}{:>+9.1f}%{:>10.1f}{:>+9.1f}%\n", variant.name, cost.mm2,
                                 100 * (cost.mm2 / base.mm2 - 1), cost.milliwatts, 100 * (cost.milliwatts / base.milliwatts - 1));
    }
}

void list_structures(const Publication& paper, const Registry& registry) {
    std::cout << fmt::format("{}, per {} ({})\n", paper.mechanism, paper.per, paper.remark);
    const auto printed = [](double value, int digits) { return value == 0 ? "" : fmt::format("{:>14.{}f}", value, digits); };
    std::uint64_t bytes = 0, all_bytes = 0, owners = 0;
    for (const Structure& s : structures_of(paper, default_preset_dirs(), registry)) {
        std::cout << fmt::format("  {:<26}{:>8}{:>12}{:>10}{:>10}{}\n", s.name, s.entries, s.entry_bits(), s.bits(), s.bytes(),
                                 printed(s.published_mw, 1));
        bytes += s.bytes();
        all_bytes += s.bytes() * s.instances;
        owners = s.instances;
    }
    if (owners == 0) return;
    std::cout << fmt::format("  {:<56}{:>10}  {} bytes in all {} instances\n", "total", bytes, all_bytes, owners);
    if (paper.published_mm2 != 0) std::cout << fmt::format("  {:<56}{:>10}\n", "published mm2", paper.published_mm2);
}

void list_costs(const Registry& registry) {
    const std::vector<Publication> papers = publications(registry);
    std::cout << fmt::format("{:<28}{:>8}{:>12}{:>10}{:>10}{:>14}\n", "structure", "entries", "bits each", "bits", "bytes", "published mW");
    for (const Publication& paper : papers) list_structures(paper, registry);
    for (const Publication& paper : papers) {
        if (!paper.networks.empty()) list_networks(paper, registry);
    }
}

}  // namespace

void describe_energy(const std::string& part) {
    if (part == "energy") {
        std::cout
            << "Events that energy tables assign an energy to; 'mergelane describe energy.TABLE' shows the values, 'mergelane list energy' "
               "the tables\n"
               "\n";
        for (const EnergyCountInfo& info : energy_count_infos())
            std::cout << fmt::format("{:<26}{:<20}{}\n", info.name, info.unit, info.meaning);
        std::cout << "\nSearches, reads and writes of structures declared by mechanisms are costed by size in "
                     "every table that lists \"declared\"\n";
        return;
    }
    const EnergyTable table = load_energy_table(part.substr(part.find('.') + 1), default_energy_dirs()).table;
    const std::string node = table.node_nm == 0 ? "" : fmt::format(", {} nm", table.node_nm);
    std::cout << fmt::format("{}: {}\nkind {}{}\nsource: {}\n\n", table.name, table.description, table.kind, node, table.source);
    for (const std::string& standard : table.dram_standards) std::cout << fmt::format("for machines with {}\n", standard);
    for (const EnergyEvent& event : table.events) {
        std::cout << fmt::format("{:<8}{:<30}{:>12.5g} pJ{}{} per {}: {}\n", event.component, event.name, event.pj,
                                 event.times == 1 ? "" : fmt::format(" x {:g}", event.times),
                                 event.scale_by.empty() ? "" : " x " + event.scale_by,
                                 energy_count_infos()[static_cast<std::size_t>(event.count)].name, event.source);
    }
    for (const EnergyPower& power : table.powers) {
        std::cout << fmt::format("{:<8}{:<30}{:>12.5g} W during {}: {}\n", "static", power.name, power.watts,
                                 energy_count_infos()[static_cast<std::size_t>(power.count)].name, power.source);
    }
    for (const std::string& structure : table.structures)
        std::cout << fmt::format("{:<16} costed by size with {} (sram.csv)\n", structure, table.sram_tool);
    for (const auto& [fact, source] : table.facts) std::cout << fmt::format("{:<34}{}\n", fact, source);
}

void add_energy_commands(CLI::App& app, const Registry& registry) {
    CLI::App* list = app.get_subcommand("list");
    CLI::App* energy = list->add_subcommand("energy", "List energy tables for 'mergelane run --energy'");
    energy->footer("Example: mergelane list energy\nValues of one table: mergelane describe energy.gpuwattch_gtx480_40nm");
    energy->callback([] { list_energy(); });
    CLI::App* costs = list->add_subcommand("costs", "List storage, area and power of the published mechanisms");
    costs->footer("Example: mergelane list costs");
    costs->callback([&registry] { list_costs(registry); });
}

}  // namespace mergelane
