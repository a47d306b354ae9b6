// SPDX-License-Identifier: MIT
// A sweep as data: machines, changes to them as a grid or a list, workloads with sizes and seeds, filters. docs/campaigns.md says how such
// files are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runs/plan.hpp"

namespace mergelane::study {

struct CampaignSpec {
    struct Axis {
        std::string key;
        std::vector<std::string> values;
        std::string where;
    };
    struct Program {
        std::string name, kernels, where;
        std::string file = {};  ///< what is run: the name, a file by its absolute path, or the trace of a program
    };
    /// A run matches when all fields do: machine, workload, size, seed or a key of the configuration, each with values that match.
    struct Filter {
        std::vector<std::pair<std::string, std::vector<std::string>>> fields;
        std::string where;
    };

    std::string file, title;
    std::vector<std::pair<std::string, std::string>> machines;  ///< and file with line
    std::vector<std::string> set;                               ///< changes of all runs, "key=value"
    std::map<std::string, std::string> places;                  ///< file and line of a change, by its text
    std::vector<std::vector<std::string>> variants;             ///< changes made together; none: no change
    std::vector<Axis> grid;
    std::vector<Program> workloads;
    std::vector<std::string> sizes;
    std::vector<std::uint64_t> seeds;
    std::vector<Filter> only, exclude;
    std::string sample;  ///< how all runs are sampled (runs/sample_choice.hpp); empty: they are not
};

/// Most runs of one campaign.
inline constexpr std::uint64_t kMostRuns = 20'000'000;

/// Throws InputError that names file, line, cause and remedy. `folder`: where machines' files with relative paths are.
CampaignSpec parse_campaign(std::string_view text, const std::string& name, const std::filesystem::path& folder = {});
CampaignSpec read_campaign(const std::filesystem::path& file);

/// Adds its runs: by machine, variant, grid (its last key changes fastest), workload, size, seed. Throws InputError for a machine or
/// workload there is not, and for a combination that contradicts itself.
void expand(const CampaignSpec& campaign, Plan& plan);

}  // namespace mergelane::study
