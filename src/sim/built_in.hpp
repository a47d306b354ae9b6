// SPDX-License-Identifier: MIT
// The built-in choices: everything that can be selected by name.
#pragma once

#include "core/registry.hpp"

namespace mergelane {

/// A copy to extend.
Registry built_in_registry();
/// Adds them to a registry. Units of sections that it already has come before the built-in ones.
void add_built_in(Registry& registry);

const Registry& built_in();

}  // namespace mergelane
