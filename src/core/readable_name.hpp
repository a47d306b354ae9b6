// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace mergelane {

/// The kernel name as written in the source: demangled, and truncated if long.
std::string readable_name(const std::string& name);

}  // namespace mergelane
