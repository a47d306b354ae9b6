// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/packet.hpp"

namespace mergelane {

/// Notified of every read that leaves an SM, for meters that need more than packets carry.
class ReadObserver {
public:
    /// `cta` requests packet.read.wanted. The packet's tag belongs to its SM until the reply.
    virtual void read_sent(const Packet& packet, std::uint64_t cta) = 0;

protected:
    ~ReadObserver() = default;
};

}  // namespace mergelane
