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

std::unique_ptr<Replacement> make_replacement(std::string_view name, std::uint32_t lines) {
    return policies_of<add_replacements>().make<Replacement>(name, lines);
}

std::vector<std::string_view> replacement_names() {
    return policies_of<add_replacements>().names<Replacement>();
}

}  // namespace mergelane
