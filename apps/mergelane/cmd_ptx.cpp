// SPDX-License-Identifier: MIT
// `mergelane ptx check`: which kernels can be executed.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "core/error.hpp"
#include "exit_codes.hpp"
#include "files/input_file.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sim/simulation.hpp"
#include "workload/cuda/ptx_images.hpp"
#include "workload/ptx/check.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kMostProgramBytes = std::uint64_t{4} << 30;

struct PtxCheckArguments {
    std::vector<std::string> files;
    std::string json_file;
    bool kernels = false;
    bool quiet = false;
};

int check(const PtxCheckArguments& a) {
    keep_apart({a.json_file}, a.files);
    Output json(a.json_file);
    ProgressLine line(a.quiet);
    catch_interrupts();
    std::vector<ptx::CheckedFile> checked;
    for (std::size_t f = 0; f < a.files.size(); ++f) {
        const auto progress = [&](double share) {
            if (interrupted()) throw Interrupted{};
            line.update_share(fmt::format("checking file {} of {}", f + 1, a.files.size()),
                              (static_cast<double>(f) + share) / static_cast<double>(a.files.size()));
        };
        progress(0);
        try {
            for (const cuda::NamedPtx& image : cuda::ptx_images(read_input(a.files[f], kMostProgramBytes), a.files[f]))
                checked.push_back(ptx::check_ptx(image.text, image.name, progress));
        } catch (const InputError& error) {  // the other files are still checked
            checked.push_back(ptx::refused_file(a.files[f], error.what()));
        }
    }
    line.clear();
    json.write(ptx::check_json(checked, version()));
    if (!a.quiet && a.json_file != "-") fmt::print("{}", ptx::check_table(checked, a.kernels));
    return ptx::any_refused(checked) ? kIncomplete : kDone;
}

}  // namespace

void add_ptx_command(CLI::App& app, int& exit_code) {
    CLI::App* group = app.add_subcommand("ptx", "Inspect PTX: 'ptx check' says which kernels can be executed");
    group->require_subcommand(1);
    CLI::App* command = group->add_subcommand("check", "Say which kernels can be executed, and what refuses the others; executes nothing");
    auto arguments = std::make_shared<PtxCheckArguments>();
    PtxCheckArguments& a = *arguments;
    command->add_option("file", a.files, "PTX files, containers of device code (.fatbin), CUDA programs or libraries")->required();
    command->add_option("--json", a.json_file, "write the result of every kernel as JSON to this file (- for standard output)");
    command->add_flag("--kernels", a.kernels, "list every kernel with what refuses it");
    command->add_flag("-q,--quiet", a.quiet, "suppress the table and the progress line");
    command->footer(
        "Exit codes: 0 all kernels are accepted, 4 some are refused.\n"
        "Examples:\n"
        "  nvcc -ptx -arch=compute_80 kernel.cu && mergelane ptx check kernel.ptx\n"
        "  mergelane ptx check --kernels ./app\n"
        "  mergelane ptx check --json refused.json *.ptx");
    command->callback([arguments, &exit_code] { exit_code = check(*arguments); });
}

}  // namespace mergelane
