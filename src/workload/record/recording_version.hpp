// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace mergelane::record {

/// Of what execution and recording make of a program. A person raises it whenever the same program gives another recording, or the
/// same recording other bytes; tests/golden/recordings.txt finds out if somebody forgot.
inline constexpr std::uint32_t kRecordingVersion = 1;

}  // namespace mergelane::record
