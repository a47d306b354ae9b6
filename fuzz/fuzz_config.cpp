// SPDX-License-Identifier: MIT
// Any text given as a configuration must be accepted or rejected with an InputError. Lines at the start that begin with "--set " are
// overrides, the rest is the file. It may name only the small bases in fuzz/gpus: reading a preset would dominate the time of an input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::filesystem::path> presets = {std::filesystem::path(MERGELANE_SOURCE_DIR) / "fuzz/gpus"};
    constexpr std::string_view kSet = "--set ";
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> overrides;
    while (text.starts_with(kSet)) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        overrides.emplace_back(text.substr(kSet.size(), end - kSet.size()));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    try {
        // Checks the machine and derives its totals, too.
        const mergelane::LoadedConfig config = mergelane::parse_config(text, "fuzz.toml", overrides, presets);
        if (config.spec.sms() == 0 || config.spec.slices() == 0) std::abort();
    } catch (const mergelane::InputError& error) {
        const std::string_view message = error.what();
        if (message.empty() || message.size() >= 2000) std::abort();
    }
    return 0;
}
