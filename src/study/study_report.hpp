// SPDX-License-Identifier: MIT
// Formats an evaluated study as text, JSON and CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "study/compare.hpp"
#include "study/study.hpp"

namespace mergelane::study {

std::string to_text(const StudyResult& result);
nlohmann::json to_json(const StudyResult& result);

std::string to_text(const Comparison& comparison);
nlohmann::json to_json(const Comparison& comparison);
std::string to_csv(const Comparison& comparison);

}  // namespace mergelane::study
