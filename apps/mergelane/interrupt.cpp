// SPDX-License-Identifier: MIT
#include "interrupt.hpp"

#include <csignal>

namespace mergelane {

namespace {

std::atomic<bool> asked{false};

void on_interrupt(int) {
    asked.store(true);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
}
const std::atomic<bool>& interrupted() {
    return asked;
}

}  // namespace mergelane
