// SPDX-License-Identifier: MIT
// The command, with children that fail on request: MERGELANE_STUDY_FAULT="crash:hotspot" (also hang, fail, hog). With the prefix "once-",
// only if the file named by MERGELANE_STUDY_FAULT_MARK does not exist yet; it is then created. --sum reads records that a test has
// changed from standard input and gives them valid checksums.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "launch/child.hpp"
#include "mergelane_main.hpp"
#include "runs/record.hpp"

namespace {

using mergelane::SimulationError;
using mergelane::study::ChildOrder;

void act_up_if_asked(const ChildOrder& order) {
    const char* variable = std::getenv("MERGELANE_STUDY_FAULT");
    if (variable == nullptr || order.prepare) return;
    std::string_view fault(variable);
    const std::size_t colon = fault.find(':');
    if (colon == std::string_view::npos || fault.substr(colon + 1) != order.spec.workload) return;
    fault = fault.substr(0, colon);
    if (fault.starts_with("once-")) {
        fault.remove_prefix(5);
        const char* mark = std::getenv("MERGELANE_STUDY_FAULT_MARK");
        if (mark == nullptr || access(mark, F_OK) == 0) return;
        std::ofstream(mark) << "done";
    }
    if (fault == "crash") {
        std::signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (fault == "hang") pause();
    if (fault == "hog") {
        void* volatile much = std::malloc(std::size_t{1} << 36);  // not touched; freed by the end
        if (much == nullptr) throw std::bad_alloc();
    }
    if (fault == "fail") throw SimulationError("this run was asked to fail");
}

void add_checksums() {
    for (std::string line; std::getline(std::cin, line);) {
        line.erase(std::min(line.find(",\"sum\":"), line.size() - 1));
        fmt::print("{}{}\n", line, mergelane::study::checksum_member(line));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && argv[1] == std::string_view("--sum")) return add_checksums(), 0;
    if (argc != 3 || argv[1] != mergelane::study::kChildArgument) return mergelane::mergelane_main(argc, argv);
    try {
        fmt::print("{}", mergelane::study::run_child(argv[2], mergelane::built_in(), act_up_if_asked));
        return 0;
    } catch (const mergelane::study::ProgramChanged& error) {
        fmt::print(stderr, "{}\n", error.what());
        return mergelane::study::kProgramChanged;
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 3;
    }
}
