// SPDX-License-Identifier: MIT
#include "parts/replacement/queue.hpp"

namespace mergelane {

/// First in, first out: only a fill moves a line to the end of the queue.
std::unique_ptr<Replacement> make_fifo(std::uint32_t, const Sections&) {
    return std::make_unique<QueueOrder<Replacement::Order::by_fill>>();
}

}  // namespace mergelane
