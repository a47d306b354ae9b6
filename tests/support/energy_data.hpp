// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "energy/crossbar_cost.hpp"
#include "energy/energy_model.hpp"

namespace mergelane::testing {

inline std::vector<std::filesystem::path> energy_dirs() {
    return {std::filesystem::path(MERGELANE_SOURCE_DIR) / "data/energy"};
}
inline EnergyData energy_table(const std::string& name) {
    return load_energy_table(name, energy_dirs());
}
inline SramTable sram_table() {
    return load_sram_table(energy_dirs());
}

/// One router as DSENT itself computed it.
struct DsentRouter {
    CrossbarShape shape;
    bool minimum_size = false;  ///< gates not sized for a clock
    double flit_pj = 0;
    double clock_pj = 0;
    double leak_mw = 0;
    double area_mm2 = 0;
};
inline std::vector<DsentRouter> dsent_routers() {
    std::ifstream in(std::filesystem::path(MERGELANE_SOURCE_DIR) / "tests/data/energy/dsent_routers.csv");
    std::vector<DsentRouter> routers;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] < '0' || line[0] > '9') continue;
        for (char& c : line) {
            if (c == ',') c = ' ';
        }
        std::istringstream cells(line);
        DsentRouter r;
        double flits_per_channel = 0, gigahertz = 0, sized = 0;
        cells >> r.shape.inputs >> r.shape.outputs >> r.shape.flit_bits >> r.shape.virtual_channels >> flits_per_channel >> gigahertz >>
            sized >> r.flit_pj >> r.clock_pj >> r.leak_mw >> r.area_mm2;
        r.shape.buffer_flits = r.shape.virtual_channels * static_cast<std::uint32_t>(flits_per_channel);
        r.minimum_size = sized == 0;
        routers.push_back(r);
    }
    return routers;
}

}  // namespace mergelane::testing
