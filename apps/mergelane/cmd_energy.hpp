// SPDX-License-Identifier: MIT
// Commands about energy: `list energy`, `list costs`, and what `describe energy` shows.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

namespace mergelane {

class Registry;

int cmd_list_energy(std::ostream& out);
int cmd_list_costs(const Registry& registry, std::ostream& out);
/// `part`: "energy" for what is counted, "energy.TABLE" for the numbers of one table.
int cmd_describe_energy(const std::string& part, std::ostream& out);

/// Adds to the `list` command, which must exist.
void add_energy_commands(CLI::App& app, int& exit_code, const Registry& registry);

}  // namespace mergelane
