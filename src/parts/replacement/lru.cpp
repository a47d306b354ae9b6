// SPDX-License-Identifier: MIT
#include "parts/replacement/stamps.hpp"

namespace mergelane {

namespace {
/// Least recently used: every use renews the stamp.
class Lru final : public StampOrder {
public:
    using StampOrder::StampOrder;
    void touched(std::uint32_t line) override { renew(line); }
    void filled(std::uint32_t line) override { renew(line); }
};
}  // namespace

std::unique_ptr<Replacement> make_lru(std::uint32_t lines, const Sections&) {
    return std::make_unique<Lru>(lines);
}

}  // namespace mergelane
