// SPDX-License-Identifier: MIT
// A stream whose addresses need not all be read.
#pragma once

#include "core/kernel.hpp"

namespace mergelane {

/// Decodes addresses, which costs more than finding where they end.
class PassingStream : public CtaStream {
public:
    /// Instead of addresses(), for every execution of an instruction whose addresses are never read.
    virtual void pass_addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active) = 0;
};

}  // namespace mergelane
