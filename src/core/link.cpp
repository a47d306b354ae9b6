// SPDX-License-Identifier: MIT
#include "core/link.hpp"

#include <fmt/format.h>

namespace mergelane {

std::string LinkBase::describe_wait() const {
    const std::uint64_t on_the_way = sent_ - received_;
    const std::uint64_t held = received_ - released_;
    std::string text =
        fmt::format("no room on '{}' ({} units: {} packets on it, {} held by {})", name_, capacity_, on_the_way, held, receiver_->name());
    if (on_the_way == 0 && held == 0) text += "; every packet was taken, so its credits never came back: flow control lost them";
    return text;
}

}  // namespace mergelane
