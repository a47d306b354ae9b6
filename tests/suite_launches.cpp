// SPDX-License-Identifier: MIT
// Prints src/workload/suite/launches.inc for the sizes that are named.
#include <fmt/format.h>

#include <cstdio>

#include "workload/suite/suite.hpp"

using namespace mergelane;

namespace {

std::string dimensions(const Dim3& d) {
    return fmt::format("{{{}, {}, {}}}", d.x, d.y, d.z);
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const suite::Size size = suite::parse_size(argv[i]);
        for (const suite::SuiteWorkload& workload : suite::workloads()) {
            for (const suite::KernelShape& shape : suite::measured_launch_shapes(workload, size)) {
                fmt::print("{{\"{}\", Size::{}, \"{}\", {}, {}, {}, {}, {}}},\n", workload.name, argv[i], shape.kernel,
                           dimensions(shape.block), dimensions(shape.smallest), dimensions(shape.largest), shape.launches, shape.ctas);
            }
        }
    }
}
