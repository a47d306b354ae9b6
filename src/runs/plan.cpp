// SPDX-License-Identifier: MIT
#include "runs/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "config/config.hpp"
#include "runs/sample_choice.hpp"
#include "sim/simulation.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/file/workload_file.hpp"
#include "workload/suite/cache.hpp"
#include "workload/suite/kernel_files.hpp"

namespace mergelane::study {

RunKey key_of(std::string_view text) {
    constexpr std::size_t kHalf = 16;
    RunKey key;
    if (text.size() == 2 * kHalf) {
        const char* const begin = text.data();
        const auto high = std::from_chars(begin, begin + kHalf, key.high, 16);
        const auto low = std::from_chars(begin + kHalf, begin + 2 * kHalf, key.low, 16);
        if (high.ptr == begin + kHalf && low.ptr == begin + 2 * kHalf) return key;
    }
    return hash_bits(text);
}

namespace {

std::string key_text(std::string_view config_hash, std::string_view program, std::string_view size, std::uint64_t seed,
                     std::string_view kernels, std::string_view sample, std::string_view recording, std::uint32_t model,
                     std::string_view edition, int schema) {
    // A file is what it contains, wherever it lies.
    std::string text = fmt::format("schema {}\nmodel {}\nconfiguration {}\nworkload {} {} {}\nrecording {}\n", schema, model, config_hash,
                                   is_workload_file(program) ? "file" : program, size, seed, recording);
    if (!kernels.empty()) text += fmt::format("kernels {}\n", kernels);
    if (!edition.empty()) text += fmt::format("edition {}\n", edition);
    if (!sample.empty()) text += fmt::format("sampling {} {}\n", sampling::kSamplingVersion, sample);
    return text;
}

}  // namespace

std::string run_key(std::string_view config_hash, const RunSpec& spec, std::string_view recording, std::uint32_t model,
                    std::string_view edition, int schema) {
    return hash_text(
        key_text(config_hash, spec.workload, spec.size, spec.seed, spec.kernels, spec.sample, recording, model, edition, schema));
}

std::string recording_key(const RunSpec& spec) {
    if (is_workload_file(spec.workload)) return content_hash(spec.workload);
    return suite::recording_key(spec.workload, suite::parse_size(spec.size), spec.seed, launches(spec.kernels));
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

std::uint32_t Plan::machine(const std::string& gpu, const std::vector<std::string>& overrides) {
    const std::string name = fmt::format("{}\n{}", gpu, fmt::join(overrides, "\n"));
    if (const auto at = machine_names_.find(name); at != machine_names_.end()) return at->second;
    std::string hash = gpu == kNoMachine ? "profile" : config_hash(load_config(gpu, overrides, default_preset_dirs(), *registry_).spec);
    machines_.push_back({gpu, overrides, std::move(hash)});
    return machine_names_.emplace(name, static_cast<std::uint32_t>(machines_.size() - 1)).first->second;
}

std::uint32_t Plan::workload(const std::string& program, const std::string& size_name, std::uint64_t seed, const std::string& kernels,
                             const std::string& sample) {
    const std::string name = fmt::format("{} {} {} {}\n{}", program, size_name, seed, kernels, sample);
    if (const auto at = workload_names_.find(name); at != workload_names_.end()) return at->second;
    const suite::ExecutorOptions options = launches(kernels);
    if (!sample.empty()) parse_sample(sample);  // say now what is wrong with it
    if (is_workload_file(program)) {
        const std::uint32_t number = workload_file(program, kernels, sample);
        return workload_names_.emplace(name, number).first->second;
    }
    const suite::Size size = suite::parse_size(size_name);
    PlannedWorkload workload{program, size_name, seed, kernels, "", 0, sample};
    const suite::SuiteWorkload& found = suite::find_workload(program);
    const auto [ptx, is_new] = ptx_.try_emplace(fmt::format("{} {}", found.module, found.others));
    if (is_new) ptx->second = suite::ptx_of(found, suite::KernelFiles());
    workload.recording = suite::recording_key(found, size, seed, options, suite::source_hash(found), ptx->second);
    const PlannedWorkload* before = workloads_.empty() ? nullptr : &workloads_.back();
    if (before != nullptr && before->program == program && before->size == size_name && before->kernels == kernels) {
        workload.threads = before->threads;  // only its seed is another
    } else {
        suite::check_first_launch(found, size, options.first_launch);
        std::uint64_t number = 0;
        for (const suite::KernelShape& shape : suite::launch_shapes(found, size)) {
            if (++number < options.first_launch || number > options.last_launch) continue;
            workload.threads += static_cast<double>(shape.ctas) * static_cast<double>(shape.block.count());
        }
    }
    workloads_.push_back(std::move(workload));
    return workload_names_.emplace(name, static_cast<std::uint32_t>(workloads_.size() - 1)).first->second;
}

/// It has neither sizes nor seeds.
std::uint32_t Plan::workload_file(const std::string& path, const std::string& kernels, const std::string& sample) {
    const std::string name = fmt::format("{} {}\n{}", path, kernels, sample);
    if (const auto at = workload_names_.find(name); at != workload_names_.end()) return at->second;
    WorkloadFileOptions options;
    options.kernels = kernels;
    if (path.ends_with(".mlt") || !kernels.empty()) open_workload_file(path, options);  // say now what is wrong with it
    workloads_.push_back({path, "", 0, kernels, content_hash(path), 0, sample});
    return workload_names_.emplace(name, static_cast<std::uint32_t>(workloads_.size() - 1)).first->second;
}

std::size_t Plan::add(std::uint32_t machine, std::uint32_t workload) {
    const PlannedWorkload& w = workloads_[workload];
    const RunKey key = hash_bits(key_text(machines_[machine].config_hash, w.program, w.size, w.seed, w.kernels, w.sample, w.recording,
                                          kModelVersion, registry_->edition(), kSchema));
    const auto [at, is_new] = by_key_.try_emplace(key, static_cast<std::uint32_t>(runs_.size()));
    if (is_new) runs_.push_back({machine, workload, key});
    return at->second;
}

std::size_t Plan::add(const RunSpec& spec) {
    const std::uint32_t what = workload(spec.workload, spec.size, spec.seed, spec.kernels, spec.sample);
    return add(machine(spec.gpu, spec.overrides), what);
}

void Plan::add(const Plan& other) {
    for (std::size_t i = 0; i < other.size(); ++i) add(other.run(i).spec);
}

PlannedRun Plan::run(std::size_t index) const {
    const Pair& pair = runs_[index];
    const PlannedMachine& m = machines_[pair.machine];
    const PlannedWorkload& w = workloads_[pair.workload];
    return {{m.gpu, m.overrides, w.program, w.size, w.seed, w.kernels, w.sample}, to_hex(pair.key), w.threads};
}

void Plan::restore(std::vector<PlannedMachine> machines, std::vector<PlannedWorkload> workloads) {
    machines_ = std::move(machines);
    workloads_ = std::move(workloads);
}

}  // namespace mergelane::study
