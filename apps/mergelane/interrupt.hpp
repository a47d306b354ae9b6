// SPDX-License-Identifier: MIT
// Ctrl-C, or SIGTERM from a scheduler: the first one requests an orderly shutdown, the second one ends the process.
#pragma once

#include <atomic>

namespace mergelane {

void catch_interrupts();
const std::atomic<bool>& interrupted();

}  // namespace mergelane
