// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/component.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "dram/command.hpp"

namespace mergelane {

/// A DRAM channel as the slices of the L2 see it.
class MemoryChannel : public Component {
public:
    using Component::Component;
    /// One pair of links per L2 slice of the channel.
    virtual void connect(std::vector<Link<DramRequest>*> requests, std::vector<Link<DramRequest>*> replies) = 0;
    /// Records every command, for checkers; nullptr disables recording.
    virtual void log_commands(std::vector<DramCommand>* log) = 0;
};

}  // namespace mergelane
