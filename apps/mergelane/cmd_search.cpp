// SPDX-License-Identifier: MIT
// `mergelane search`: the command of the Python package (python/mergelane/search.py), which has Optuna. docs/search.md
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "core/error.hpp"

namespace mergelane {

namespace {

namespace fs = std::filesystem;

struct SearchArguments {
    std::string file, store, runs;
    std::uint64_t budget = 0, seed = 0, workers = 1, jobs = 0;
    bool show = false, json = false, quiet = false;
};

constexpr std::uint64_t kMostSeed = 0xffffffff, kMostPoints = 10'000'000;

constexpr const char* kStart = R"(import sys
try:
    from mergelane.search import main
except ImportError as problem:
    print(f"error: a search needs the Python package of mergelane ({problem}); install it as docs/python.md says, or name a Python that has it: "
          "MERGELANE_PYTHON=/usr/bin/python3", file=sys.stderr)
    sys.exit(2)
main()
)";

/// The package beside this command: in a build directory, or in the package itself.
void prefer_own_package(const fs::path& command) {
    for (const fs::path& folder : {command.parent_path() / "../../python", command.parent_path() / "../.."}) {
        std::error_code ignored;
        if (!fs::exists(folder / "mergelane/search.py", ignored)) continue;
        const char* const before = std::getenv("PYTHONPATH");
        const std::string paths =
            fs::weakly_canonical(folder).string() + (before != nullptr && *before != 0 ? fmt::format(":{}", before) : "");
        setenv("PYTHONPATH", paths.c_str(), 1);
        return;
    }
}

std::vector<std::string> words_of(const CLI::App& command, const SearchArguments& a) {
    std::vector<std::string> words;
    const auto add = [&](const char* option, const std::string& value) {
        if (command.get_option(option)->count() == 0) return;
        words.emplace_back(option);
        if (!value.empty()) words.push_back(value);
    };
    add("--store", a.store);
    add("--budget", fmt::to_string(a.budget));
    add("--seed", fmt::to_string(a.seed));
    add("--workers", fmt::to_string(a.workers));
    add("--jobs", fmt::to_string(a.jobs));
    add("--runs", a.runs);
    add("--show", "");
    add("--json", "");
    add("--quiet", "");
    if (!a.file.empty()) words.insert(words.end(), {"--", a.file});
    return words;
}

[[noreturn]] void search(const CLI::App& command, const SearchArguments& a) {
    std::error_code unknown;
    const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
    if (!unknown) {
        setenv("MERGELANE_COMMAND", self.c_str(), 0);
        prefer_own_package(self);
    }
    const char* const chosen = std::getenv("MERGELANE_PYTHON");
    const std::string python = chosen != nullptr && *chosen != 0 ? chosen : "python3";
    std::vector<std::string> words{python, "-c", kStart};
    for (std::string& word : words_of(command, a)) words.push_back(std::move(word));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(python.c_str(), arguments.data());
    throw InputError(
        fmt::format("a search needs Python, and '{}' cannot be started ({}); install Python 3.11 or later, or name it: "
                    "MERGELANE_PYTHON=/usr/bin/python3",
                    python, std::strerror(errno)));
}

}  // namespace

void add_search_command(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("search", "Find the best configurations of a space with few simulations (needs Python and Optuna)");
    auto arguments = std::make_shared<SearchArguments>();
    SearchArguments& a = *arguments;
    command->add_option("file", a.file, "search file (.toml)");
    command->add_option("--store", a.store, "directory of trials and runs")->default_str("out/search-NAME");
    add_number_option(*command, "--budget", a.budget, std::uint64_t{1}, kMostPoints, "points of the first level, instead of the file's");
    add_number_option(*command, "--seed", a.seed, std::uint64_t{0}, kMostSeed, "seed of the search, instead of the file's");
    add_number_option(*command, "--workers", a.workers, 1, 1024, "processes; one of them gives the same trials every time");
    add_number_option(*command, "--jobs", a.jobs, 1, 4096, "simulations at a time of each worker; without it all cores together");
    for (const char* name : {"--budget", "--seed", "--jobs"}) command->get_option(name)->default_str("");
    command->add_option("--runs", a.runs, "store of runs that several searches share")->default_str("STORE/runs");
    command->add_flag("--show", a.show, "simulate nothing, show what the store has");
    command->add_flag("--json", a.json, "print JSON instead of text");
    command->add_flag("-q,--quiet", a.quiet, "suppress the progress line");
    command->footer(
        "The store gets result.txt, result.json, trials.csv and result.html. docs/search.md describes search files.\n"
        "Exit codes: 0 done, 2 invalid input, 130 interrupted (Ctrl-C); repeat the command to go on.\n"
        "Examples:\n"
        "  mergelane search best.toml --store out/best\n"
        "  mergelane search best.toml --store out/best --budget 400 --workers 8\n"
        "  mergelane search --show --store out/best");
    command->callback([command, arguments] { search(*command, *arguments); });
}

}  // namespace mergelane
