// SPDX-License-Identifier: MIT
// Latency-throughput curves of a network as one HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mergelane {

/// `bench`: what `mergelane bench network --json` writes.
std::string network_page(const nlohmann::json& bench);

}  // namespace mergelane
