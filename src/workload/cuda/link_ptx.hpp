// SPDX-License-Identifier: MIT
// Relocatable device code: the PTX of several source files becomes one module.
#pragma once

#include <string>
#include <vector>

namespace mergelane::cuda {

/// One text in which a name means the same everywhere: names private to a later unit that an earlier one also uses get the
/// unit's number, functions every unit brings along (.weak) are kept once per unit, such variables once.
/// Throws InputError for a unit that is not PTX; `where` names the program in messages.
std::string link_ptx(const std::vector<std::string>& units, const std::string& where);

}  // namespace mergelane::cuda
