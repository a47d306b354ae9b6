// SPDX-License-Identifier: MIT
// JSON texts from outside: their depth and their whole numbers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace mergelane::study {

/// Throws InputError for a text that is nested deeper than any plan: its tree would take a hundred times its memory.
template <typename Json>
Json parse_json(std::string_view text, const std::string& where) {
    constexpr int kDeepest = 8;
    return Json::parse(text, [&](int depth, typename Json::parse_event_t, Json&) {
        if (depth > kDeepest) throw InputError(fmt::format("{}: is nested more than {} deep, which no plan is", where, kDeepest));
        return true;
    });
}

/// Throws the library's own exception for all else; its get() would convert a fraction or 1e300 without a word.
template <typename Json>
std::uint64_t natural(const Json& json) {
    return json.template get_ref<const typename Json::number_unsigned_t&>();
}

}  // namespace mergelane::study
