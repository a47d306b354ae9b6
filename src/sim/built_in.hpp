// SPDX-License-Identifier: MIT
// Everything of ours that can be chosen by name.
#pragma once

#include "core/registry.hpp"

namespace mergelane {

/// A registry of its own, to add to.
Registry built_in_registry();

const Registry& built_in();

}  // namespace mergelane
