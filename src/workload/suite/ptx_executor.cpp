// SPDX-License-Identifier: MIT
#include "workload/suite/ptx_executor.hpp"

#include <fmt/format.h>

#include <map>

#include "core/error.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::suite {

namespace {

class PtxExecutor final : public Executor {
public:
    PtxExecutor(const ExecutorOptions& options, const std::vector<std::filesystem::path>& dirs) : options_(options), files_(dirs) {}

    Addr allocate_bytes(std::uint64_t bytes) override { return memory_.allocate(bytes); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override { memory_.write(to, from, bytes); }
    void read_bytes(Addr from, void* to, std::uint64_t bytes) override { memory_.read(from, to, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override { memory_.fill(to, value, bytes); }
    std::unique_ptr<KernelSource> execute(const KernelCall& call) override {
        auto at = modules_.find(call.module);
        if (at == modules_.end()) {
            auto module = ptx::parse_module(files_.text(call.module), files_.path(call.module).string());
            at = modules_.emplace(std::string(call.module), std::move(module)).first;
        }
        ++launches_;
        ptx::ExecOptions options;
        options.quantum = options_.quantum;
        options.budget = 0;  // benchmarks end
        options.stop = options_.stop;
        auto kernel = ptx::execute(*at->second, call.kernel, {call.grid, call.block, call.dynamic_shared}, call.params, memory_, options,
                                   options_.record && launches_ >= options_.first_launch && launches_ <= options_.last_launch);
        // The benchmarks access only their own buffers: an out-of-bounds access is a bug of the benchmark.
        if (!memory_.warnings().empty()) throw InputError(memory_.warnings().front());
        return kernel;
    }

private:
    ExecutorOptions options_;
    KernelFiles files_;
    ptx::DeviceMemory memory_;
    std::uint64_t launches_ = 0;
    std::map<std::string, std::shared_ptr<const ptx::Module>, std::less<>> modules_;
};

}  // namespace

std::unique_ptr<Executor> make_ptx_executor(const ExecutorOptions& options, const std::vector<std::filesystem::path>& dirs) {
    return std::make_unique<PtxExecutor>(options, dirs);
}

std::string suite_workload_name(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options) {
    std::string full_name = fmt::format("suite:{} size={}", name, kSizeNames[static_cast<std::size_t>(size)]);
    if (seed != 1) full_name += fmt::format(" seed={}", seed);
    if (options.first_launch > 1 || options.last_launch != ExecutorOptions{}.last_launch)
        full_name += fmt::format(" kernels={}-{}", options.first_launch,
                                 options.last_launch == ~std::uint64_t{0} ? "" : std::to_string(options.last_launch));
    return full_name;
}

std::unique_ptr<SuiteStream> make_suite_workload(std::string_view name, Size size, std::uint64_t seed, const ExecutorOptions& options,
                                                 const std::vector<std::filesystem::path>& dirs) {
    const SuiteWorkload& workload = find_workload(name);
    check_first_launch(workload, size, options.first_launch);
    auto executor = make_ptx_executor(options, dirs);
    return std::make_unique<SuiteStream>(suite_workload_name(name, size, seed, options), workload.make(size, seed), std::move(executor),
                                         options.ahead);
}

}  // namespace mergelane::suite
