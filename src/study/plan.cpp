// SPDX-License-Identifier: MIT
#include "study/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "sim/simulation.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/suite/cache.hpp"

namespace mergelane::study {

std::string run_key(std::string_view config_hash, const RunSpec& spec, std::string_view recording, std::uint32_t model,
                    std::string_view edition) {
    std::string text = fmt::format("schema {}\nmodel {}\nconfiguration {}\nworkload {} {} {}\nrecording {}\n", kSchema, model, config_hash,
                                   spec.workload, spec.size, spec.seed, recording);
    if (!spec.kernels.empty()) text += fmt::format("kernels {}\n", spec.kernels);
    if (!edition.empty()) text += fmt::format("edition {}\n", edition);
    return hash_text(text);
}

suite::ExecutorOptions launches(const std::string& kernels) {
    suite::ExecutorOptions options;
    if (kernels.empty()) return options;
    accelsim::ReplayOptions range;
    accelsim::parse_kernel_range(kernels, range);
    options.first_launch = range.first_kernel;
    options.last_launch = range.last_kernel;
    return options;
}

const std::string& Plan::config_hash_of(const std::string& gpu, const std::vector<std::string>& overrides) {
    static const std::string profile = "profile";
    if (gpu == kNoMachine) return profile;
    const std::string name = fmt::format("{}\n{}", gpu, fmt::join(overrides, "\n"));
    const auto at = config_hashes_.find(name);
    if (at != config_hashes_.end()) return at->second;
    return config_hashes_.emplace(name, config_hash(load_config(gpu, overrides, default_preset_dirs(), *registry_).spec)).first->second;
}

const Plan::WorkloadFacts& Plan::facts_of(const RunSpec& spec) {
    const std::string name = fmt::format("{} {} {} {}", spec.workload, spec.size, spec.seed, spec.kernels);
    const auto at = workloads_.find(name);
    if (at != workloads_.end()) return at->second;
    const suite::Size size = suite::parse_size(spec.size);
    WorkloadFacts facts;
    const suite::ExecutorOptions options = launches(spec.kernels);
    facts.recording = suite::recording_key(spec.workload, size, spec.seed, options);
    std::uint64_t number = 0;
    for (const suite::KernelShape& shape : suite::launch_shapes(suite::find_workload(spec.workload), size)) {
        if (++number < options.first_launch || number > options.last_launch) continue;
        facts.threads += static_cast<double>(shape.ctas) * static_cast<double>(shape.block.count());
    }
    return workloads_.emplace(name, std::move(facts)).first->second;
}

std::size_t Plan::add(const RunSpec& spec) {
    const WorkloadFacts& facts = facts_of(spec);
    std::string key = run_key(config_hash_of(spec.gpu, spec.overrides), spec, facts.recording, kModelVersion, registry_->edition());
    const auto [at, is_new] = by_key_.try_emplace(key, runs_.size());
    if (is_new) runs_.push_back({spec, std::move(key), facts.threads});
    return at->second;
}

}  // namespace mergelane::study
