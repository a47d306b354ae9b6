// SPDX-License-Identifier: MIT
#include "workload/suite/listing.hpp"

#include <fmt/format.h>

namespace mergelane::suite {

namespace {

std::string dimensions(const Dim3& d) {
    if (d.z > 1) return fmt::format("{}x{}x{}", d.x, d.y, d.z);
    return d.y > 1 ? fmt::format("{}x{}", d.x, d.y) : fmt::format("{}", d.x);
}

/// "31x31 to 1x1" where launches differ.
std::string grids(const KernelShape& shape) {
    if (shape.smallest.count() == shape.largest.count()) return dimensions(shape.largest);
    return fmt::format("{} to {}", dimensions(shape.largest), dimensions(shape.smallest));
}

}  // namespace

std::string list_workloads(Size size) {
    std::string text = fmt::format("{:<22}{:<14}{:<28}{}\n", "workload", "suite", "used by", "what it does");
    for (const SuiteWorkload& workload : workloads()) {
        text += fmt::format("{:<22}{:<14}{:<28}{}\n", workload.name, workload.suite, workload.papers.empty() ? "-" : workload.papers,
                            workload.meaning);
        for (const KernelShape& shape : launch_shapes(workload, size)) {
            const std::string launches = workload.open_ended   ? "per level"
                                         : shape.launches == 1 ? "once"
                                                               : fmt::format("{} times", shape.launches);
            text += fmt::format("    {:<26}{:<10} {:>14} CTAs of {}\n", shape.kernel, launches, grids(shape), dimensions(shape.block));
        }
    }
    text +=
        fmt::format("\nLaunches are those of size {}; sizes: tiny, paper, large (--size).\n", kSizeNames[static_cast<std::size_t>(size)]);
    return text;
}

}  // namespace mergelane::suite
