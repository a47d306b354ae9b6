// SPDX-License-Identifier: MIT
// Ctrl-C, or SIGTERM as schedulers send it: the first one asks for an orderly end, the second one ends the process.
#pragma once

#include <atomic>

namespace mergelane {

/// Thrown by work that leaves nothing behind when it is interrupted: exit code 130.
struct Interrupted {};

void catch_interrupts();
const std::atomic<bool>& interrupted();

}  // namespace mergelane
