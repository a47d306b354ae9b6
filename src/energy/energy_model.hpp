// SPDX-License-Identifier: MIT
// Applies a table to a machine to obtain prices, and prices to counts to obtain energy.
//
// A price is an integral number of femtojoules per event, or per cycle for continuous consumption. Energy is count times price, summed in
// integers: parts add up exactly to the total, and so do kernels, on every host and in any order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/structure.hpp"
#include "energy/energy_table.hpp"

namespace mergelane {

/// What prices depend on: the sizes of the machine.
struct MachineShape {
    std::uint32_t process_nm = 0;  ///< 0: not stated
    std::uint32_t groups = 1;
    std::uint32_t slices = 1;    ///< of one group
    std::uint32_t channels = 1;  ///< of all groups
    std::uint32_t core_mhz = 1000;

    bool l1 = true;
    std::uint32_t l1s = 1;  ///< of all groups
    std::uint32_t l1_bytes = 0;
    std::uint32_t l1_block_bytes = 128;
    std::uint32_t l1_mshrs = 0;
    bool l1_keeps_stores = false;  ///< otherwise a store only searches for the line to invalidate
    std::uint32_t l2_bytes = 0;    ///< of a slice
    std::uint32_t l2_block_bytes = 128;
    std::uint32_t l2_mshrs = 0;

    std::uint32_t flit_bytes = 32;  ///< of the networks at the L2
    std::vector<CrossbarSet> networks;

    std::uint32_t dram_bus_bytes = 32;
    std::uint32_t dram_access_bytes = 32;
    std::string dram_standard;  ///< empty: unknown
    std::uint32_t dram_mhz = 1000;
    std::uint32_t dram_banks = 16;           ///< of a channel
    std::uint32_t dram_pseudo_channels = 1;  ///< of a channel: a row belongs to one of them
    bool dram_detailed = false;              ///< its channels count cycles with open rows
    enum class Refresh : std::uint8_t { none, all_bank, per_bank } dram_refresh = Refresh::none;
};

struct EnergyPrice {
    std::string component;
    std::string name;
    EnergyCount count = EnergyCount::cycles;
    std::uint64_t fj = 0;                ///< for one
    std::optional<std::size_t> use;      ///< of EnergyCounts::uses, instead of `count`
    std::optional<std::size_t> network;  ///< of EnergyCounts::flits, instead of `count`
    std::string_view unit;
};

/// A table applied to a machine.
struct EnergyPrices {
    std::string table;
    std::string kind;
    std::uint32_t core_mhz = 1;
    std::vector<EnergyPrice> list;
    std::vector<std::pair<std::string, double>> areas_mm2;  ///< of all instances of what the table models from its structure
    std::vector<std::string> notes;                         ///< where the table does not fit the machine exactly
};

/// `structures`: declared by the machine's mechanisms. A table that lists "declared" prices them by size. Throws InputError if a structure
/// cannot be priced.
EnergyPrices energy_prices(const EnergyData& data, const MachineShape& shape, std::span<const Structure> structures = {});

/// Throws InputError if the sum exceeds 64 bits (18 kJ).
EnergyReport energy_of(const EnergyPrices& prices, const EnergyCounts& counts);

}  // namespace mergelane
