// SPDX-License-Identifier: MIT
// Errors a user can act on. The library throws; the command prints and chooses the exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace mergelane {

/// Invalid user input (configuration, workload, arguments): exit code 2.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The simulated machine cannot make progress (deadlock, livelock) or violated an invariant: exit code 3.
class SimulationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The user asked to stop (Ctrl-C, SIGTERM), and the work leaves nothing behind: exit code 130.
struct Interrupted {};

}  // namespace mergelane
