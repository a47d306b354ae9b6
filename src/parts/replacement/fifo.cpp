// SPDX-License-Identifier: MIT
#include "parts/replacement/stamps.hpp"

namespace mergelane {

namespace {
/// First in, first out: only a fill renews the stamp.
class Fifo final : public StampOrder {
public:
    using StampOrder::StampOrder;
    void touched(std::uint32_t) override {}
    void filled(std::uint32_t line) override { renew(line); }
};
}  // namespace

std::unique_ptr<Replacement> make_fifo(std::uint32_t lines, const Sections&) {
    return std::make_unique<Fifo>(lines);
}

}  // namespace mergelane
