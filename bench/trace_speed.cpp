// SPDX-License-Identifier: MIT
// Speed of trace reading alone: first the index, then every instruction and address of every CTA, on one core. Usage: mergelane_trace_speed
// FILE [REPETITIONS]; reports the fastest repetition in CPU time.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "workload/accelsim/traced_kernel.hpp"

namespace {

using namespace mergelane;

struct Work {
    std::uint64_t instructions = 0;
    std::uint64_t accesses = 0;
    std::uint64_t sum = 0;  ///< of the addresses, so that none may be left out
};

/// One run of every warp in turn, as an SM would.
Work read_all(const KernelSource& kernel) {
    Work work;
    const std::unique_ptr<CtaStream> stream = kernel.make_stream();
    const std::uint32_t warps = kernel.info().warps_per_cta();
    std::vector<std::uint32_t> live;
    LaneAddresses lanes;
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        stream->open(cta);
        live.clear();
        for (std::uint32_t warp = 0; warp < warps; ++warp) live.push_back(warp);
        while (!live.empty()) {
            std::erase_if(live, [&](std::uint32_t warp) {
                Run run;
                if (!stream->next_run(warp, run)) return true;
                work.instructions += run.count;
                for (std::uint32_t i = 0; i < run.count; ++i) {
                    const OpClass op = run.first[i].op;
                    if (op < OpClass::load || op > OpClass::atomic || run.active == 0) continue;
                    stream->addresses(warp, run.first[i], run.active, lanes);
                    ++work.accesses;
                    if (lanes.affine)
                        work.sum += lanes.base;
                    else
                        work.sum +=
                            lanes.run_count != 0 ? lanes.runs[0].base : lanes.lane[static_cast<std::size_t>(std::countr_zero(run.active))];
                }
                return false;
            });
        }
    }
    return work;
}

/// Processor time, which other work on the computer disturbs less than the clock on the wall.
double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) {
        fmt::print(stderr, "usage: {} FILE.traceg [REPETITIONS]\n", argv[0]);
        return 2;
    }
    try {
        const std::string path = argv[1];
        const int repetitions = argc == 3 ? std::max(1, std::atoi(argv[2])) : 5;
        const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
        double index = 1e30;
        double parse = 1e30;
        Work work;
        for (int i = 0; i < repetitions; ++i) {
            double start = cpu_seconds();
            const accelsim::TracedKernel kernel(std::make_unique<accelsim::TraceFile>(path));
            index = std::min(index, cpu_seconds() - start);
            start = cpu_seconds();
            work = read_all(kernel);
            parse = std::min(parse, cpu_seconds() - start);
        }
        fmt::print("{}: {:.1f} MB, {} warp instructions, {} accesses, address sum {:x}\n", path, megabytes, work.instructions,
                   work.accesses, work.sum);
        fmt::print("index {:.0f} MB/s, parse {:.0f} MB/s, both {:.0f} MB/s, {:.2f} M warp instructions/s\n", megabytes / index,
                   megabytes / parse, megabytes / (index + parse), static_cast<double>(work.instructions) / (index + parse) / 1e6);
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 2;
    }
    return 0;
}
