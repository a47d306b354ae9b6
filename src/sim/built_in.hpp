// SPDX-License-Identifier: MIT
// The built-in choices: everything that can be selected by name.
#pragma once

#include "core/registry.hpp"

namespace mergelane {

/// A copy to extend.
Registry built_in_registry();

const Registry& built_in();

}  // namespace mergelane
