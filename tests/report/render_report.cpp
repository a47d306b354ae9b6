// SPDX-License-Identifier: MIT
// mergelane_render_report IN.json OUT.html [SVG_DIR]: renders a file of results, for the browser test and for experiments.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "report/html_report.hpp"

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::cerr << "usage: mergelane_render_report IN.json OUT.html [SVG_DIR]\n";
        return 2;
    }
    std::ifstream in(argv[1]);
    const auto results = nlohmann::json::parse(in, nullptr, false);
    if (results.is_discarded()) {
        std::cerr << argv[1] << " is no JSON file\n";
        return 1;
    }
    std::ofstream(argv[2], std::ios::binary) << mergelane::html_report(results);
    if (argc < 4) return 0;
    std::filesystem::create_directories(argv[3]);
    int number = 0;
    for (const auto& experiment : results.at("experiments")) {
        if (!experiment.contains("charts")) continue;
        for (const auto& chart : experiment["charts"])
            std::ofstream(std::filesystem::path(argv[3]) / ("chart" + std::to_string(number++) + ".svg"), std::ios::binary)
                << mergelane::svg_chart(chart);
    }
    return 0;
}
