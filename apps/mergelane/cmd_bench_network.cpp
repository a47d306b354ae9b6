// SPDX-License-Identifier: MIT
// A network alone, under the traffic that network people use: how much arrives and how late, for more and more of it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "config/config.hpp"
#include "core/json_text.hpp"
#include "noc/traffic.hpp"
#include "output.hpp"
#include "report/html_report.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

namespace {

struct NetworkArguments {
    std::string gpu = "icc60";
    std::vector<std::string> settings;
    std::string kind = "mesh";
    std::uint32_t width = 8;
    std::uint32_t height = 8;
    std::uint32_t flits = 1;
    std::uint64_t measured = 8000;
    std::vector<std::string> patterns;
    std::vector<double> loads;
    std::string json_file;
    std::string html_file;
};

const std::vector<double> kShares = {0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2};

std::vector<TrafficPattern> patterns_of(const NetworkArguments& arguments) {
    std::vector<TrafficPattern> list;
    for (std::size_t p = 0; p < kTrafficPatterns.size(); ++p) {
        const auto pattern = static_cast<TrafficPattern>(p);
        const bool asked = std::find(arguments.patterns.begin(), arguments.patterns.end(), kTrafficPatterns[p]) != arguments.patterns.end();
        const bool possible = pattern != TrafficPattern::transpose || arguments.width == arguments.height;
        if (asked || (arguments.patterns.empty() && possible)) list.push_back(pattern);
    }
    return list;
}

nlohmann::ordered_json point_json(const TrafficResult& result) {
    return {{"offered", result.offered}, {"accepted", result.accepted},   {"lowest", result.lowest},
            {"latency", result.latency}, {"zero_load", result.zero_load}, {"drained", result.drained},
            {"packets", result.packets}, {"delivered", result.delivered}, {"hops", result.hops}};
}

nlohmann::ordered_json curve_json(const TrafficBench& bench, TrafficLoad load, const std::vector<double>& shares, bool print) {
    const double bound = bench.bound(load.pattern);
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["pattern"] = kTrafficPatterns[static_cast<std::size_t>(load.pattern)];
    json["bound"] = bound;
    if (print) {
        fmt::print("\n{}: upper bound {:.4f} flits per node and cycle\n", kTrafficPatterns[static_cast<std::size_t>(load.pattern)], bound);
        fmt::print("{:>10}{:>12}{:>16}{:>14}{:>12}{:>10}\n", "offered", "accepted", "of the bound", "lowest node", "latency", "zero load");
    }
    for (const double share : shares) {
        load.rate = std::min(1.0, share * bound);
        const TrafficResult result = bench.run(load);
        json["points"].push_back(point_json(result));
        if (!print) continue;
        fmt::print("{:>10.4f}{:>12.4f}{:>14.1f} %{:>14.4f}{:>12.1f}{:>10.1f}{}\n", result.offered, result.accepted,
                   100 * result.accepted / bound, result.lowest, result.latency, result.zero_load, result.drained ? "" : "  saturated");
    }
    return json;
}

int bench_network(const NetworkArguments& arguments, const Registry& registry) {
    std::vector<std::string> settings = {"noc.kind=" + arguments.kind};  // so that values of that kind may be set
    settings.insert(settings.end(), arguments.settings.begin(), arguments.settings.end());
    const LoadedConfig config = load_config(arguments.gpu, settings, default_preset_dirs(), registry);
    keep_apart({arguments.json_file, arguments.html_file}, {arguments.gpu});
    Output json_file(arguments.json_file);
    Output html_file(arguments.html_file);
    const bool print = arguments.json_file != "-" && arguments.html_file != "-";
    TrafficBench bench(config.spec.policies());
    bench.width = arguments.width;
    bench.height = arguments.height;
    bench.shape = config.spec.noc;
    TrafficLoad load;
    load.flits = arguments.flits;
    load.measured = arguments.measured;
    load.warm_up = arguments.measured / 4;
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    json["schema"] = 1;  // docs/schema/bench-network.json
    json["network"] = bench.description();
    json["version"] = version();
    json["flits"] = load.flits;
    json["warm_up"] = load.warm_up;
    json["measured"] = load.measured;
    if (print) fmt::print("{}; packets of {} flit{}\n", json["network"].get<std::string>(), load.flits, load.flits == 1 ? "" : "s");
    json["curves"] = nlohmann::ordered_json::array();
    for (const TrafficPattern pattern : patterns_of(arguments)) {
        load.pattern = pattern;
        json["curves"].push_back(curve_json(bench, load, arguments.loads.empty() ? kShares : arguments.loads, print));
    }
    json_file.write(json_text(json, 2) + "\n");
    html_file.write(network_page(json));
    return 0;
}

}  // namespace

void add_bench_network_command(CLI::App& bench, int& exit_code, const Registry& registry) {
    auto arguments = std::make_shared<NetworkArguments>();
    CLI::App* command = bench.add_subcommand("network", "Measure latency-throughput curves of the network alone under synthetic traffic");
    command
        ->add_option("-g,--gpu", arguments->gpu,
                     "GPU that provides the network parameters, except kind and size: preset name or .toml file")
        ->capture_default_str();
    add_list_option(*command, "--set", arguments->settings,
                    "override a configuration value, for example --set noc.mesh.virtual_channels=8; repeatable");
    const std::vector<std::string_view> kinds = registry.names<NetworkKind>();
    command->add_option("--kind", arguments->kind, "network kind; replaces the noc.kind of the GPU")
        ->check(CLI::IsMember(std::vector<std::string>(kinds.begin(), kinds.end())))
        ->capture_default_str();
    add_number_option(*command, "--width", arguments->width, 1, 64, "nodes per row of a mesh; other networks have width x height nodes");
    add_number_option(*command, "--height", arguments->height, 1, 64, "rows of a mesh");
    add_number_option(*command, "--flits", arguments->flits, 1, 64, "packet length in flits");
    add_number_option(*command, "--cycles", arguments->measured, 100, 10'000'000,
                      "network cycles to measure, after a warm-up of a quarter as many");
    add_list_option(*command, "--pattern", arguments->patterns,
                    "traffic pattern: uniform, transpose, bit-complement, tornado or hotspot; repeatable (default: all, transpose only if "
                    "--width equals --height)")
        ->check(CLI::IsMember(std::vector<std::string>(kTrafficPatterns.begin(), kTrafficPatterns.end())));
    add_list_option(*command, "--load", arguments->loads,
                    "offered load as a fraction of the pattern's upper bound on throughput; repeatable (default: a sweep from 0.02 to 1.2)")
        ->check(CLI::Range(0.0001, 100.0));
    command->add_option("--json", arguments->json_file, "write the curves as JSON to this file (- for standard output)");
    command->add_option("--html", arguments->html_file, "write an HTML page with plots to this file");
    command->footer(
        "Examples:\n"
        "  mergelane bench network --set noc.mesh.virtual_channels=8 --html curves.html\n"
        "  mergelane bench network --kind crossbar --pattern uniform");
    command->callback([arguments, &exit_code, &registry] { exit_code = bench_network(*arguments, registry); });
}

}  // namespace mergelane
