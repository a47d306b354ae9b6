// SPDX-License-Identifier: MIT
// Reading JSON that may be anything, and writing text that may contain anything.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace mergelane::report {

using Json = nlohmann::json;

/// The member, or null when there is none or `object` is no object.
const Json& member(const Json& object, const char* key);
/// The member when it is an array, else an empty one.
const Json& list(const Json& object, const char* key);
/// Strings as they are, numbers readably rounded, nothing for null, other values as JSON. Always valid UTF-8.
std::string text_of(const Json& value);
std::string text(const Json& object, const char* key);
/// A number that can be drawn: finite and not absurdly large.
std::optional<double> number_of(const Json& value);
std::optional<double> number(const Json& object, const char* key);
/// Four significant digits, or all those before the point.
std::string readable(double value);

/// For text and quoted attributes of HTML and XML; what is no valid UTF-8 or no valid character becomes U+FFFD.
std::string escaped(std::string_view text);
/// JSON for the inside of a <script> element: no `<`, `>` or `&` is left in it.
std::string script_json(const Json& value);

}  // namespace mergelane::report
