// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mergelane {

/// Something that limits a run, for the page of its result.
struct Finding {
    std::string title;                                         ///< a few words
    std::string sentence;                                      ///< what happens, and what would help
    std::vector<std::pair<std::string, std::string>> numbers;  ///< name, and value with its unit
    std::optional<double> confirmed_gain;                      ///< speed-up in a simulation without this limit; 1.25: 25 % faster
};

}  // namespace mergelane
