// SPDX-License-Identifier: MIT
// `mergelane diff`: what differs in two results, and by how much.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "output.hpp"
#include "report/run_diff.hpp"

namespace mergelane {

namespace {

/// Pipes are read as well, so the size is known only at the end.
report::Json read_result(const std::string& path) {
    const std::string file = printable(path);
    std::ifstream in(path, std::ios::binary);
    std::string text;
    for (char chunk[1 << 16]; in.read(chunk, sizeof chunk) || in.gcount() > 0;) {
        text.append(chunk, static_cast<std::size_t>(in.gcount()));
        if (text.size() > kMostResultBytes)
            throw InputError(fmt::format("{}: has more than {} MiB, which no result has", file, kMostResultBytes >> 20));
    }
    if (!in.eof()) throw InputError(fmt::format("cannot read '{}': {}; check the path", file, std::strerror(errno)));
    return read_run(text, file);
}

}  // namespace

void add_diff_command(CLI::App& app) {
    struct Arguments {
        std::string a, b, json_file;
        bool all = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand("diff", "Show how two results differ: configuration, time, counters; the largest effect first");
    command->add_option("A", arguments->a, "result of 'mergelane run --json' or 'mergelane cuda --json'")->required();
    command->add_option("B", arguments->b, "the result to compare with A")->required();
    command->add_flag("--all", arguments->all, "also show differences of less than 1 %");
    command->add_option("--json", arguments->json_file, "write the differences as JSON to this file (- for standard output)");
    command->footer(
        "Examples:\n"
        "  mergelane run --gpu icc60 --workload hotspot --size tiny --json a.json\n"
        "  mergelane run --gpu icc60 --workload hotspot --size tiny --set noc.flit_bytes=16 --json b.json\n"
        "  mergelane diff a.json b.json\n"
        "Sections: configuration, time, kernels, scheduler cycles, load latency by stage, energy, counters. Within a section the largest\n"
        "effect comes first: the change as a share of the whole in A, for counters of the largest counter with the same unit. See\n"
        "docs/using.md, Comparing.");
    command->callback([arguments] {
        Output json(arguments->json_file);
        const report::Json a = read_result(arguments->a), b = read_result(arguments->b);
        const RunDiff diff = diff_runs(a, arguments->a, b, arguments->b);
        json.write(to_json(diff, arguments->all));
        if (arguments->json_file != "-") fmt::print("{}", to_text(diff, arguments->all));
    });
}

}  // namespace mergelane
