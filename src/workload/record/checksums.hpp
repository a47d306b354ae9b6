// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace mergelane::record {

/// Ignoring checksums lets a fuzzer reach the code behind them.
enum class Checksums : std::uint8_t { verify, ignore };

}  // namespace mergelane::record
