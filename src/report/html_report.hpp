// SPDX-License-Identifier: MIT
// A study as one page for a browser.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mergelane {

/// `results`: what `mergelane reproduce --json` writes. The page needs no other file and no network.
std::string html_report(const nlohmann::json& results);

}  // namespace mergelane
