// SPDX-License-Identifier: MIT
// Uses the installed library from outside: reads a preset, changes a value, runs a small kernel, prints the result.
#include <iostream>
#include <mergelane.hpp>

int main() {
    try {
        const std::vector<std::string> overrides = {"l1.size_kib=32"};
        const mergelane::LoadedConfig config = mergelane::load_config("icc60", overrides, {GPUS_DIR});

        mergelane::SyntheticParams params = mergelane::synthetic_defaults("stream");
        params.ctas = 60;
        const std::unique_ptr<mergelane::Workload> workload = mergelane::make_synthetic("stream", params);

        mergelane::Simulation simulation(config.spec, {});
        const mergelane::RunResult result = simulation.run(*workload);
        std::cout << mergelane::summary(result);

        const bool plausible = result.partial.empty() && result.cycles > 0 && result.stat("dispatch.ctas_completed") == params.ctas;
        std::cout << (plausible ? "consumer: ok\n" : "consumer: implausible result\n");
        return plausible ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
