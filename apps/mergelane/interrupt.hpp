// SPDX-License-Identifier: MIT
// Ctrl-C, or SIGTERM from a scheduler: the first one requests an orderly shutdown, the second one ends the process.
#pragma once

#include <atomic>

namespace mergelane {

/// Thrown by work that leaves nothing behind when interrupted: exit code 130.
struct Interrupted {};

void catch_interrupts();
const std::atomic<bool>& interrupted();

}  // namespace mergelane
