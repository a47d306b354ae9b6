// SPDX-License-Identifier: MIT
// Finds where the options of a command end and a program's own words begin.
#include "commands.hpp"
#include "program_trace.hpp"

namespace mergelane {

ProgramWords take_program_words(const CLI::App& app, std::vector<std::string>& words) {
    ProgramWords program;
    if (words.empty() || (words.front() != "cuda" && words.front() != "advise")) return program;
    const bool keep_arguments = words.front() == "cuda";  // its parser stops at the first word that is not an option
    const CLI::App* const command = app.get_subcommand(words.front());
    std::size_t at = 1;
    for (; at < words.size() && words[at].starts_with('-') && !program.marked; ++at) {
        if (words[at] == "--") {
            program.marked = true;
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(at--));
            continue;
        }
        const CLI::Option* const option = command->get_option_no_throw(words[at]);
        if (option != nullptr && option->get_expected_max() > 0) ++at;  // its value
    }
    if (keep_arguments || at >= words.size() || !(program.marked || names_program(words[at]))) return program;
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    program.arguments.assign(first, words.end());
    words.erase(first, words.end());
    return program;
}

}  // namespace mergelane
