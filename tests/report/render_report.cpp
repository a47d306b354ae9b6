// SPDX-License-Identifier: MIT
// mergelane_render_report IN.json OUT.html [SVG_DIR]: renders what a command wrote with --json, for the browser test and for experiments.
// SVG_DIR: for the charts of a reproduced paper.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "report/html_report.hpp"

namespace {

using Json = nlohmann::ordered_json;

std::string page_of(const Json& json) {
    if (json.contains("experiments")) return mergelane::html_report(json);
    if (json.contains("curves")) return mergelane::network_page(json);
    if (json.contains("quantities")) return mergelane::compare_page(json);
    if (json.contains("window_study_sms")) return mergelane::profile_page(json);
    std::vector<mergelane::Finding> findings;
    for (const Json& finding : json.value("findings", Json::array())) {
        findings.push_back({finding.at("title"), finding.at("sentence"), {}, finding.at("gain").get<double>()});
        for (const auto& [name, value] : finding.at("numbers").items()) findings.back().numbers.emplace_back(name, value);
    }
    return mergelane::run_page(json, findings);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::cerr << "usage: mergelane_render_report IN.json OUT.html [SVG_DIR]\n";
        return 2;
    }
    std::ifstream in(argv[1]);
    const auto results = Json::parse(in, nullptr, false);
    if (results.is_discarded()) {
        std::cerr << argv[1] << " is no JSON file\n";
        return 1;
    }
    std::ofstream(argv[2], std::ios::binary) << page_of(results);
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
