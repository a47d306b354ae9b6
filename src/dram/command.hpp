// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/types.hpp"

namespace mergelane {

/// A command on the bus of a channel, as its log records it.
struct DramCommand {
    enum class Kind : std::uint8_t { activate, precharge, read, write, refresh, refresh_bank };
    static constexpr std::size_t kKinds = 6;

    Cycle at = 0;
    Kind kind = Kind::activate;
    std::uint32_t bank = 0;  ///< of a refresh of all banks: the first of its pseudo-channel
    std::uint64_t row = 0;
};

}  // namespace mergelane
