// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace mergelane {

/// Of the machine's model: same version, configuration and workload, same result. A person raises it whenever simulated results change,
/// and only then; the digests in tests/golden find out if somebody forgot.
inline constexpr std::uint32_t kModelVersion = 1;

}  // namespace mergelane
