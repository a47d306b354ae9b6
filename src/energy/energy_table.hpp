// SPDX-License-Identifier: MIT
// Event tables: the energy of each kind of event, as data with the source of every number.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "energy/crossbar_cost.hpp"
#include "energy/energy_counts.hpp"
#include "energy/sram.hpp"

namespace mergelane {

/// The component an event is attributed to; continuous consumption is "static".
inline constexpr std::array<std::string_view, 6> kEventComponents = {"sm", "l1", "cluster", "noc", "l2", "dram"};

/// One priced event of a table.
struct EnergyEvent {
    std::string component;  ///< "sm", "l1", "cluster", "noc", "l2", "dram" or "static"
    std::string name;
    EnergyCount count = EnergyCount::cycles;
    double pj = 0;         ///< for one of the tool's events
    double times = 1;      ///< tool events per simulated event
    std::string scale_by;  ///< empty, or a machine size that the price is proportional to: "flit_bytes", "dram_access_bytes"
    std::string source;
};

/// Power consumed continuously.
struct EnergyPower {
    std::string name;
    EnergyCount count = EnergyCount::cycles;  ///< cycles, sm_cycles or idle_sm_cycles
    double watts = 0;
    std::string source;
};

struct EnergyTable {
    std::string name;
    std::string description;
    std::string source;
    /// "regressed": fitted to one chip; "bottom_up": from models of the structures; "measured"; "extrapolated": from such measurements
    std::string kind;
    std::uint32_t node_nm = 0;       ///< 0 in a table of DRAM only
    std::uint32_t access_bytes = 0;  ///< a cache access of the chip it was fitted to; 0: any

    std::vector<EnergyEvent> events;
    std::vector<EnergyPower> powers;

    // Which structures are priced by the table of SRAM structures: "l1", "l2", "declared" (all that mechanisms declare).
    std::string sram_tool;
    std::vector<std::string> structures;

    // Crossbars by the closed forms.
    bool crossbar = false;
    NodeScale crossbar_scale;
    double link_mm = 0;
    double link_pj_per_bit_mm = 0;

    // DRAM, by command, from the currents of one device.
    bool dram = false;
    std::vector<std::string> dram_standards;  ///< that it holds for, as dram.controller.standard has them; none: any
    double dram_activate_pj = 0;              ///< per device, precharge included
    double dram_read_pj_per_bit = 0;
    double dram_write_pj_per_bit = 0;
    std::optional<double> dram_refresh_pj;          ///< of all banks; per device, as the rest
    std::optional<double> dram_refresh_bank_pj;     ///< of one bank
    double dram_standby_w = 0;                      ///< with all banks closed if there is a price for open ones
    std::optional<double> dram_open_bank_w;         ///< in addition, for each bank with an open row
    std::uint32_t dram_device_bytes_per_clock = 0;  ///< the share of a channel's width that one device provides

    /// Numbers of the sections above, each with its source, as read.
    std::vector<std::pair<std::string, std::string>> facts;
};

/// The tables and their data.
struct EnergyData {
    EnergyTable table;
    SramTable sram;
};

/// `name_or_path`: a table found in `dirs`, or the path of a .toml file. sram.csv is searched next to the table, then in `dirs`. Throws
/// InputError with file, cause and remedy.
EnergyData load_energy_table(const std::string& name_or_path, const std::vector<std::filesystem::path>& dirs);

/// Tables found in the directories, sorted by name.
std::vector<EnergyTable> list_energy_tables(const std::vector<std::filesystem::path>& dirs);

/// $MERGELANE_ENERGY if set, the installed data directory next to the executable, data/energy of the source tree.
std::vector<std::filesystem::path> default_energy_dirs();

/// The SRAM structures of the first directory that has them.
SramTable load_sram_table(const std::vector<std::filesystem::path>& dirs);

}  // namespace mergelane
