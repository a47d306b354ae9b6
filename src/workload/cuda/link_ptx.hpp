// SPDX-License-Identifier: MIT
// Relocatable device code: links the PTX of several source files into one module.
#pragma once

#include <string>
#include <vector>

namespace mergelane::cuda {

/// Produces one text with unique names. Names that are private to a unit and already used by an earlier one get the unit's number.
/// Functions that every unit contains (.weak) are kept once per unit, such variables once. Throws InputError for a unit that is not PTX;
/// `where` names the program in messages.
std::string link_ptx(const std::vector<std::string>& units, const std::string& where);

}  // namespace mergelane::cuda
