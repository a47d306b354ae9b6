// SPDX-License-Identifier: MIT
#include "parts/replacement/queue.hpp"

namespace mergelane {

/// Least recently used: every use moves a line to the end of the queue.
std::unique_ptr<Replacement> make_lru(std::uint32_t, const Sections&) {
    return std::make_unique<QueueOrder<Replacement::Order::by_use>>();
}

}  // namespace mergelane
