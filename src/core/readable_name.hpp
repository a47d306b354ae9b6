// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace mergelane {

/// Of a kernel, as its source has it where a compiler wrote it in its own way; a long one is cut.
std::string readable_name(const std::string& name);

}  // namespace mergelane
