// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace mergelane {

/// Without the number of the launch ("#12") with which some workloads end the names of their kernels.
inline std::string name_without_number(const std::string& name) {
    const std::size_t mark = name.find_last_not_of("0123456789");
    const bool numbered = mark != std::string::npos && mark != 0 && mark + 1 < name.size() && name[mark] == '#';
    return numbered ? name.substr(0, mark) : name;
}

}  // namespace mergelane
