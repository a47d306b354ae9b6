// SPDX-License-Identifier: MIT
// Execution speed of the benchmarks without a machine: PTX warp instructions per CPU second on one core, plain and while recording. Usage:
// mergelane_suite_speed SIZE [WORKLOAD...]; inputs and CPU references are not counted.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workload/ptx/ptx.hpp"
#include "workload/suite/kernel_files.hpp"
#include "workload/suite/stream.hpp"
#include "workload/suite/suite.hpp"

namespace {

using namespace mergelane;

double used_seconds() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

class Stopwatch final : public suite::Device {
public:
    explicit Stopwatch(bool record) : record_(record), files_(suite::default_kernel_dirs()) {}
    Addr allocate_bytes(std::uint64_t bytes) override { return memory_.allocate(bytes); }
    void write_bytes(Addr to, const void* from, std::uint64_t bytes) override { memory_.write(to, from, bytes); }
    void read_bytes(Addr from, void* to, std::uint64_t bytes) override { memory_.read(from, to, bytes); }
    void fill_bytes(Addr to, int value, std::uint64_t bytes) override { memory_.fill(to, value, bytes); }
    void launch_kernel(const suite::KernelCall& call) override {
        auto& module = modules_[std::string(call.module)];
        if (module == nullptr) module = ptx::parse_module(files_.text(call.module), files_.path(call.module).string());
        ptx::ExecStats stats;
        ptx::ExecOptions options;
        options.stats = &stats;
        const double start = used_seconds();
        ptx::execute(*module, call.kernel, {call.grid, call.block, call.dynamic_shared}, call.params, memory_, options, record_);
        seconds += used_seconds() - start;
        instructions += stats.warp_instructions;
    }
    double seconds = 0;
    std::uint64_t instructions = 0;

private:
    bool record_;
    suite::KernelFiles files_;
    ptx::DeviceMemory memory_;
    std::map<std::string, std::shared_ptr<const ptx::Module>> modules_;
};

int run(int count, char** words) {
    if (count < 2) {
        fmt::print(stderr, "usage: {} tiny|paper|large [WORKLOAD...]\n", words[0]);
        return 2;
    }
    const suite::Size size = suite::parse_size(words[1]);
    std::vector<const suite::SuiteWorkload*> chosen;
    for (int w = 2; w < count; ++w) chosen.push_back(&suite::find_workload(words[w]));
    if (chosen.empty()) {
        for (const suite::SuiteWorkload& workload : suite::workloads()) chosen.push_back(&workload);
    }
    std::vector<double> rates;
    fmt::print("{:<16}{:>18}{:>16}{:>16}\n{:<16}{:>18}{:>16}{:>16}\n", "workload", "warp instr", "execution", "with recording", "", "(M)",
               "(M instr/s)", "(M instr/s)");
    for (const suite::SuiteWorkload* workload : chosen) {
        const auto problem = workload->make(size, 1);
        double rate[2] = {};
        std::uint64_t instructions = 0;
        for (const bool record : {false, true}) {
            Stopwatch device(record);
            problem->run(device);
            const suite::Verdict verdict = problem->verify();
            if (!verdict.correct) {
                fmt::print(stderr, "{} computed a wrong result: {}\n", workload->name, verdict.problem);
                return 1;
            }
            instructions = device.instructions;
            rate[record ? 1 : 0] = static_cast<double>(instructions) / device.seconds / 1e6;
        }
        rates.push_back(rate[0]);
        fmt::print("{:<16}{:>18.2f}{:>16.1f}{:>16.1f}\n", workload->name, static_cast<double>(instructions) / 1e6, rate[0], rate[1]);
        std::fflush(stdout);
    }
    std::sort(rates.begin(), rates.end());
    fmt::print("execution: median {:.1f}, slowest {:.1f} M warp instructions/s\n", rates[rates.size() / 2], rates.front());
    return 0;
}

}  // namespace

int main(int count, char** words) try { return run(count, words); } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
}
