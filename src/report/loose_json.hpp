// SPDX-License-Identifier: MIT
// Reads JSON of unknown structure, and writes text with arbitrary contents.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace mergelane::report {

/// Members keep their order, such as that of the stages of a load.
using Json = nlohmann::ordered_json;

/// The member, or null if there is none or `object` is not an object.
const Json& member(const Json& object, const char* key);
/// The member if it is an array, otherwise an empty array.
const Json& list(const Json& object, const char* key);
/// Strings verbatim, numbers rounded for reading, empty for null, other values as JSON. Always valid UTF-8.
std::string text_of(const Json& value);
std::string text(const Json& object, const char* key);
/// A number that can be drawn: finite and not absurdly large.
std::optional<double> number_of(const Json& value);
std::optional<double> number(const Json& object, const char* key);
/// Four significant digits, or all digits before the decimal point.
std::string readable(double value);

/// Escapes text for HTML and XML, including quoted attributes; invalid UTF-8 and invalid characters become U+FFFD.
std::string escaped(std::string_view text);
/// JSON for the inside of a <script> element, without `<`, `>` and `&`.
std::string script_json(const Json& value);

}  // namespace mergelane::report
