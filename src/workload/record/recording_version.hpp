// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace mergelane::record {

/// Version of execution and recording. Raise it whenever the same program gives a different recording, or the same recording different
/// bytes; tests/golden/recordings.txt detects if this was forgotten.
inline constexpr std::uint32_t kRecordingVersion = 1;

}  // namespace mergelane::record
