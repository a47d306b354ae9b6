// SPDX-License-Identifier: MIT
#include "energy/energy_model.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/text.hpp"

namespace mergelane {

namespace {

using Count = EnergyCount;

std::uint64_t femtojoules(double pj) {
    return static_cast<std::uint64_t>(pj * 1000 + 0.5);
}

/// Collects the prices of one machine; structures of a kind are charged together.
class Pricing {
public:
    Pricing(const EnergyData& data, const MachineShape& shape) : table_(data.table), sram_(data.sram), shape_(shape) {
        prices_.table = table_.name;
        prices_.kind = table_.kind;
        prices_.core_mhz = shape.core_mhz;
        if (shape.process_nm != 0 && table_.node_nm != 0 && shape.process_nm != table_.node_nm)
            throw InputError(
                fmt::format("energy table {} is for {} nm, and this GPU is made in {} nm, for which no source has figures; use a table "
                            "of DRAM alone (mergelane list energy), or set gpu.process_nm=0 to price it as a chip of {} nm",
                            table_.name, table_.node_nm, shape.process_nm, table_.node_nm));
    }

    EnergyPrices all(std::span<const Structure> structures) {
        for (const EnergyEvent& event : table_.events) {
            const double scale = event.scale_by == "flit_bytes"          ? shape_.flit_bytes
                                 : event.scale_by == "dram_access_bytes" ? shape_.dram_access_bytes
                                                                         : 1;
            price(event.component, event.name, event.count, event.pj * event.times * scale);
        }
        if (table_.access_bytes != 0 && shape_.l1_block_bytes != table_.access_bytes) {
            prices_.notes.push_back(fmt::format("cache access energies are for {} bytes, but this machine accesses {} bytes",
                                                table_.access_bytes, shape_.l1_block_bytes));
        }
        if (prices_sram("l1") && shape_.l1) l1();
        if (prices_sram("declared"))
            declared(structures);
        else
            for (const Structure& s : structures) prices_.notes.push_back(fmt::format("{}: no energy in this table", s.plural));
        if (table_.crossbar) networks();
        if (prices_sram("l2")) l2();
        if (table_.dram) dram();
        for (const EnergyPower& power : table_.powers) flows(power.name, power.watts, power.count);
        return std::move(prices_);
    }

private:
    void price(std::string_view component, std::string_view name, Count count, double pj) {
        if (!(pj < kMostPj)) throw InputError(fmt::format("energy table {}: {} pJ for one of '{}' is implausible", table_.name, pj, name));
        prices_.list.push_back({std::string(component), std::string(name), count, femtojoules(pj), std::nullopt, std::nullopt,
                                energy_count_infos()[static_cast<std::size_t>(count)].unit});
    }
    /// Watts at MHz are microjoules per million cycles: 10^6 pJ in each.
    void flows(std::string_view name, double watts, Count count = Count::cycles) {
        price("static", name, count, watts * 1e6 / shape_.core_mhz);
    }
    bool prices_sram(std::string_view structure) const {
        return std::find(table_.structures.begin(), table_.structures.end(), structure) != table_.structures.end();
    }
    /// Leakage and area of `instances` structures are charged here, accesses by the caller.
    SramCost structure(std::string_view name, std::string_view kind, std::uint64_t bits, std::uint32_t port_bits, std::uint32_t instances) {
        const SramCost cost = sram_.cost({table_.sram_tool, table_.node_nm, kind, bits, port_bits});
        if (cost.extrapolated) {
            prices_.notes.push_back(
                fmt::format("{}: {} bits with a port of {} bits are outside the range of the {} runs and were extrapolated", name, bits,
                            port_bits, table_.sram_tool));
        }
        flows(fmt::format("{} leakage", name), cost.leak_mw * instances / 1000);
        prices_.areas_mm2.emplace_back(name, cost.area_mm2 * instances);
        return cost;
    }

    void l1() {
        const SramCost array = structure("L1", "cache", std::uint64_t{shape_.l1_bytes} * 8, shape_.l1_block_bytes * 8, shape_.l1s);
        price("l1", "L1 read hits", Count::l1_read_hits, array.read_pj);
        price("l1", "L1 reads of merged loads", Count::l1_read_merges, array.read_pj);
        price("l1", "L1 read misses (tags)", Count::l1_read_misses, array.tag_pj);
        price("l1", "L1 fills", Count::l1_fills, array.write_pj);
        const double store_pj = shape_.l1_keeps_stores ? array.write_pj : array.tag_pj;
        price("l1", "L1 stores that hit", Count::l1_write_hits, store_pj);
        price("l1", "L1 stores that miss", Count::l1_write_misses, store_pj);
        if (shape_.l1_mshrs == 0) return;
        const SramCost mshrs = structure("L1 MSHRs", "cam", std::uint64_t{shape_.l1_mshrs} * kCamBits, kCamBits, shape_.l1s);
        price("l1", "L1 MSHR searches", Count::l1_read_misses, mshrs.search_pj);
        price("l1", "L1 MSHR searches of merged loads", Count::l1_read_merges, mshrs.search_pj);
        price("l1", "L1 MSHR entries written", Count::l1_read_misses, mshrs.write_pj);
    }

    /// Accesses are numbered as EnergyCounts::uses are: over all structures, in their order.
    void declared(std::span<const Structure> structures) {
        for (const Structure& s : structures) {
            if (std::find(kEventComponents.begin(), kEventComponents.end(), s.component) == kEventComponents.end())
                throw InputError(fmt::format("{}: {}", s.name, unknown_word("component", s.component, kEventComponents)));
            const SramCost cost = declared_cost(s);
            for (const Structure::Use& use : s.uses) price_use(s, use, cost);
        }
    }
    SramCost declared_cost(const Structure& s) {
        if (s.kind != Structure::Kind::fully_associative)
            return structure(s.plural, s.kind == Structure::Kind::cam ? "cam" : "ram", s.bits(), s.entry_bits(), s.instances);
        SramCost cost = structure(s.plural, "fully_associative", s.entries * s.data_bits, s.data_bits, s.instances);
        // The tool's search includes reading the line it finds; a lookup that finds nothing searches tags only.
        cost.search_pj = sram_.cost({table_.sram_tool, table_.node_nm, "cam", s.entries * s.tag_bits, s.tag_bits}).search_pj;
        return cost;
    }
    void price_use(const Structure& s, const Structure::Use& use, const SramCost& cost) {
        static constexpr std::array<std::string_view, 3> kUnits = {"searches", "reads", "writes"};
        const double each[] = {cost.search_pj, cost.read_pj, cost.write_pj};
        const auto access = static_cast<std::size_t>(use.access);
        if (each[access] == 0)
            throw InputError(
                fmt::format("energy table {}: {} of {} have no energy in {}", table_.name, kUnits[access], s.plural, table_.sram_tool));
        price(s.component, fmt::format("{} {}", s.name, use.name), Count::cycles, each[access]);
        prices_.list.back().use = next_use_++;
        prices_.list.back().unit = kUnits[access];
    }

    void networks() {
        for (std::size_t n = 0; n < shape_.networks.size(); ++n) network(shape_.networks[n], n);
    }
    void network(const CrossbarSet& set, std::size_t number) {
        const CrossbarShape shape = {set.inputs, set.outputs, set.flit_bytes * 8, kVirtualChannels, set.buffer_flits};
        constexpr std::string_view kTooLarge = "network: buffers or flits exceed the range that the closed forms were fitted to";
        if ((shape.buffer_flits > kMostFittedFlits || shape.flit_bits > kMostFittedBits) &&
            std::find(prices_.notes.begin(), prices_.notes.end(), kTooLarge) == prices_.notes.end())
            prices_.notes.emplace_back(kTooLarge);
        const double mm = set.link_mm != 0 ? set.link_mm : table_.link_mm;
        const CrossbarCost cost = crossbar_cost(shape, table_.crossbar_scale);
        const auto per_flit = [&](std::string_view what, double pj) {
            price("noc", fmt::format("{} network {}", set.name, what), Count::request_flits, pj);
            prices_.list.back().network = number;
        };
        per_flit("buffers", cost.buffers.flit_pj);
        per_flit("switch", cost.switch_fabric.flit_pj);
        per_flit("allocator", cost.allocator.flit_pj);
        per_flit("links", table_.link_pj_per_bit_mm * shape.flit_bits * mm);
        flows(fmt::format("{} network leakage", set.name), cost.leak_mw() / 1000 * set.instances);
        flows(fmt::format("{} network clock", set.name), cost.clock_pj * set.mhz * 1e-6 * set.instances);
        prices_.areas_mm2.emplace_back(fmt::format("{} network", set.name), cost.area_mm2() * set.instances);
    }

    void l2() {
        const std::uint32_t slices = shape_.groups * shape_.slices;
        const SramCost array = structure("L2", "cache", std::uint64_t{shape_.l2_bytes} * 8, shape_.l2_block_bytes * 8, slices);
        price("l2", "L2 read hits", Count::l2_read_hits, array.read_pj);
        price("l2", "L2 reads of merged requests", Count::l2_read_merges, array.read_pj);
        price("l2", "L2 read misses (tags)", Count::l2_read_misses, array.tag_pj);
        price("l2", "L2 fills", Count::l2_fills, array.write_pj);
        price("l2", "L2 write hits", Count::l2_write_hits, array.write_pj);
        price("l2", "L2 write misses", Count::l2_write_misses, array.write_pj);
        price("l2", "L2 lines written back", Count::l2_writebacks, array.read_pj);
        if (shape_.l2_mshrs == 0) return;
        const SramCost mshrs = structure("L2 MSHRs", "cam", std::uint64_t{shape_.l2_mshrs} * kCamBits, kCamBits, slices);
        price("l2", "L2 MSHR searches", Count::l2_read_misses, mshrs.search_pj);
        price("l2", "L2 MSHR searches of merged requests", Count::l2_read_merges, mshrs.search_pj);
        price("l2", "L2 MSHR entries written", Count::l2_read_misses, mshrs.write_pj);
    }

    void dram() {
        check_standard();
        // A command is for a pseudo-channel, hence for the devices that form its width.
        const std::uint32_t width = table_.dram_device_bytes_per_clock * shape_.dram_pseudo_channels;
        const std::uint32_t devices = (shape_.dram_bus_bytes + width - 1) / width;
        const double bits = shape_.dram_access_bytes * 8.0;
        price("dram", "DRAM rows opened and closed", Count::dram_activates, table_.dram_activate_pj * devices);
        price("dram", "DRAM read bursts", Count::dram_read_bursts, table_.dram_read_pj_per_bit * bits);
        price("dram", "DRAM write bursts", Count::dram_write_bursts, table_.dram_write_pj_per_bit * bits);
        using Refresh = MachineShape::Refresh;
        if (shape_.dram_refresh == Refresh::all_bank)
            refresh("DRAM refreshes of all banks", Count::dram_refreshes, table_.dram_refresh_pj, devices);
        else if (shape_.dram_refresh == Refresh::per_bank)
            refresh("DRAM refreshes of a bank", Count::dram_bank_refreshes, table_.dram_refresh_bank_pj, devices);
        const std::uint32_t all_devices = devices * shape_.dram_pseudo_channels * shape_.channels;
        flows("DRAM standby", table_.dram_standby_w * all_devices);
        if (table_.dram_open_bank_w) open_banks(*table_.dram_open_bank_w, devices);
    }
    /// A table from one memory says nothing about another.
    void check_standard() const {
        const auto& known = table_.dram_standards;
        if (known.empty() || std::find(known.begin(), known.end(), shape_.dram_standard) != known.end()) return;
        throw InputError(
            fmt::format("energy table {} has prices for {}, but the memory of this machine is {} (dram.controller.standard); use a "
                        "table that has it, see 'mergelane list energy'",
                        table_.name, fmt::join(known, ", "), shape_.dram_standard.empty() ? "not named" : shape_.dram_standard));
    }
    void refresh(std::string_view name, Count count, const std::optional<double>& pj, std::uint32_t devices) {
        if (pj)
            price("dram", name, count, *pj * devices);
        else
            prices_.notes.push_back(fmt::format("{}: no energy in this table", name));
    }
    /// Watts at MHz are microjoules per million cycles: 10^6 pJ in each.
    void open_banks(double watts, std::uint32_t devices) {
        if (shape_.dram_detailed)
            price("static", "DRAM open rows", Count::dram_open_cycles, watts * devices * 1e6 / shape_.dram_mhz);
        else  // without counts: as if every bank had an open row
            flows("DRAM open rows", watts * devices * shape_.dram_banks * shape_.channels);
    }

    static constexpr double kMostPj = 1e12;
    static constexpr std::uint32_t kCamBits = 48;  ///< of an MSHR entry
    static constexpr std::uint32_t kVirtualChannels = 1;
    static constexpr std::uint32_t kMostFittedFlits = 32;
    static constexpr std::uint32_t kMostFittedBits = 512;

    const EnergyTable& table_;
    const SramTable& sram_;
    const MachineShape& shape_;
    EnergyPrices prices_;
    std::size_t next_use_ = 0;
};

}  // namespace

EnergyPrices energy_prices(const EnergyData& data, const MachineShape& shape, std::span<const Structure> structures) {
    return Pricing(data, shape).all(structures);
}

EnergyReport energy_of(const EnergyPrices& prices, const EnergyCounts& counts) {
    EnergyReport report;
    report.table = prices.table;
    report.kind = prices.kind;
    for (const std::string_view component : kEventComponents) report.components.push_back({std::string(component), 0});
    report.components.push_back({"static", 0});
    bool fits = true;
    for (const EnergyPrice& price : prices.list) {
        EnergyItem item;
        item.component = price.component;
        item.name = price.name;
        item.count = price.use ? counts.uses.at(*price.use) : price.network ? counts.flits.at(*price.network) : counts[price.count];
        item.unit = price.unit;
        item.unit_fj = price.fj;
        fits = !__builtin_mul_overflow(item.count, item.unit_fj, &item.fj) && fits;
        for (auto& [component, fj] : report.components) {
            if (component == item.component) fj += item.fj;  // less than the total, which is checked
        }
        fits = !__builtin_add_overflow(report.total_fj, item.fj, &report.total_fj) && fits;
        report.items.push_back(std::move(item));
    }
    if (!fits) throw InputError(fmt::format("the energy of this run exceeds 64 bits of femtojoules (table {})", prices.table));
    report.seconds = static_cast<double>(counts[Count::cycles]) / (prices.core_mhz * 1e6);
    report.joules = static_cast<double>(report.total_fj) * 1e-15;
    report.joule_seconds = report.joules * report.seconds;
    report.areas_mm2 = prices.areas_mm2;
    report.notes = prices.notes;
    return report;
}

}  // namespace mergelane
