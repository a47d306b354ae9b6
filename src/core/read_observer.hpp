// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/packet.hpp"

namespace mergelane {

/// Is told of every read that leaves an SM, for meters that want to know more than packets carry.
class ReadObserver {
public:
    /// `cta` asks for packet.read.wanted. The packet's tag is its SM's until the reply.
    virtual void read_sent(const Packet& packet, std::uint64_t cta) = 0;

protected:
    ~ReadObserver() = default;
};

}  // namespace mergelane
