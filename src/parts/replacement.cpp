// SPDX-License-Identifier: MIT
#include "parts/replacement.hpp"

namespace mergelane {

std::unique_ptr<Replacement> make_lru(std::uint32_t lines, const Sections&);
std::unique_ptr<Replacement> make_fifo(std::uint32_t lines, const Sections&);

// To add a policy: one file in parts/replacement/, the declaration of its maker above, and one line here.
void add_replacements(Registry& registry) {
    registry.add<Replacement>("lru", "least recently used", make_lru);
    registry.add<Replacement>("fifo", "first in, first out", make_fifo);
}

}  // namespace mergelane
