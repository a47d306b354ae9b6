// SPDX-License-Identifier: MIT
#pragma once

#include "parts/replacement.hpp"

namespace mergelane {

std::unique_ptr<Replacement> make_lru(std::uint32_t lines);
std::unique_ptr<Replacement> make_fifo(std::uint32_t lines);

}  // namespace mergelane
