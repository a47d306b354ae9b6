// SPDX-License-Identifier: MIT
// Commands that inspect configurations: `config show|diff|check`, `describe` and `list gpus`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace mergelane {

using PresetDirs = std::vector<std::filesystem::path>;

/// Each prints to `out` and returns the exit code. An unreadable configuration throws InputError, except in cmd_config_check, which reports
/// it.
int cmd_config_show(const std::string& gpu, const std::vector<std::string>& overrides, const PresetDirs& dirs, std::ostream& out,
                    const Registry& registry);
int cmd_config_diff(const std::string& first, const std::string& second, const PresetDirs& dirs, std::ostream& out,
                    const Registry& registry);
int cmd_config_check(const std::string& file, const std::vector<std::string>& overrides, const PresetDirs& dirs, std::ostream& out,
                     const Registry& registry);
/// `part`: a section ("dram.timing"), a key ("l1.size_kib"), or empty for everything.
int cmd_describe(const std::string& part, std::ostream& out, const Registry& registry);
/// Every statistic by stage, as text or as the page docs/statistics.md.
int cmd_describe_statistics(bool markdown, const PresetDirs& dirs, std::ostream& out, const Registry& registry);
int cmd_list_gpus(const PresetDirs& dirs, std::ostream& out);

/// Registers the commands. The chosen one runs while `app` parses and stores its exit code in `exit_code`.
void add_config_commands(CLI::App& app, int& exit_code, const Registry& registry);

}  // namespace mergelane
