// SPDX-License-Identifier: MIT
#include "parts/replacement.hpp"

#include "core/error.hpp"

namespace mergelane {

std::unique_ptr<Replacement> make_lru(std::uint32_t lines);
std::unique_ptr<Replacement> make_fifo(std::uint32_t lines);

namespace {
struct Entry {
    std::string_view name;
    std::unique_ptr<Replacement> (*make)(std::uint32_t lines);
};
// A new policy is one file in parts/replacement/, its maker's declaration above and its line here.
constexpr Entry kPolicies[] = {
    {"lru", make_lru},
    {"fifo", make_fifo},
};
}  // namespace

std::unique_ptr<Replacement> make_replacement(std::string_view name, std::uint32_t lines) {
    for (const Entry& entry : kPolicies) {
        if (entry.name == name) return entry.make(lines);
    }
    throw InputError("unknown replacement policy '" + std::string(name) + "'");
}

std::vector<std::string_view> replacement_names() {
    std::vector<std::string_view> names;
    for (const Entry& entry : kPolicies) names.push_back(entry.name);
    return names;
}

}  // namespace mergelane
