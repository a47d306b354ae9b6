// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace mergelane {

/// Version of the model: the same version, configuration and workload give the same result. Raise it whenever simulated results change, and
/// only then; the digests in tests/golden detect if this was forgotten.
inline constexpr std::uint32_t kModelVersion = 1;

}  // namespace mergelane
