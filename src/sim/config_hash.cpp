// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/hash.hpp"
#include "sim/simulation.hpp"

namespace mergelane {

std::string config_hash(const MachineSpec& spec) {
    MachineSpec copy = spec;
    const SpecFields fields = copy.fields();
    std::vector<std::string> lines;
    for (const SpecField& field : fields.list()) {
        if (field.active) lines.push_back(field.key + "=" + field.value() + "\n");
    }
    // Where a part lists its values is no property of the machine.
    std::sort(lines.begin(), lines.end());
    Hasher hasher;
    for (const std::string& line : lines) hasher.add(line);
    return hasher.hex();
}

}  // namespace mergelane
