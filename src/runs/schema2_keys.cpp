// SPDX-License-Identifier: MIT
#include "runs/schema2_keys.hpp"

#include <algorithm>
#include <vector>

#include "core/hash.hpp"

namespace mergelane::runs_schema2 {

std::string old_config_hash(std::span<const std::pair<std::string, std::string>> values) {
    std::vector<std::string_view> off(std::begin(kSwitched), std::end(kSwitched));
    for (const auto& [key, value] : values) {
        if (value == "true") std::erase_if(off, [&key = key](std::string_view prefix) { return key == std::string(prefix) + "enabled"; });
    }
    const auto counted = [&](const std::string& key, const std::string& value) {
        if (std::any_of(off.begin(), off.end(), [&](std::string_view prefix) { return key.starts_with(prefix); })) return false;
        for (const OldDefault& old : kNeutral) {
            if (key == old.key) return value != old.value;
        }
        const std::size_t at = kPlainKeys.find(key + " ");
        return at == 0 || (at != std::string_view::npos && kPlainKeys[at - 1] == ' ');
    };
    std::vector<std::string> lines;
    for (const auto& [key, value] : values) {
        if (counted(key, value)) lines.push_back(key + "=" + value + "\n");
    }
    std::sort(lines.begin(), lines.end());
    Hasher hasher;
    for (const std::string& line : lines) hasher.add(line);
    return hasher.hex();
}

}  // namespace mergelane::runs_schema2
