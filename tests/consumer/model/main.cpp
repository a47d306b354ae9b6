// SPDX-License-Identifier: MIT
// The model alone: a machine from a preset, a synthetic kernel, the cycles it takes.
#include <config/config.hpp>
#include <iostream>
#include <sim/simulation.hpp>
#include <workload/synthetic.hpp>

int main() {
    try {
        const mergelane::LoadedConfig config = mergelane::load_config("icc60", {}, {GPUS_DIR});
        mergelane::SyntheticParams params = mergelane::synthetic_defaults("stream");
        params.ctas = 60;
        const std::unique_ptr<mergelane::Workload> workload = mergelane::make_synthetic("stream", params);
        mergelane::Simulation simulation(config.spec, {});
        const mergelane::RunResult result = simulation.run(*workload);
        std::cout << "model only: " << result.cycles << " cycles\n";
        return result.partial.empty() && result.cycles > 0 && result.stat("dispatch.ctas_completed") == params.ctas ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
