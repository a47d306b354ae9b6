// SPDX-License-Identifier: MIT
// The one way to write JSON that is a result. What is read back and must be exact (orders to children, plans, YAML) refuses such texts.
#pragma once

#include <string>

namespace mergelane {

// A value that becomes an object by being indexed is destroyed wrongly if memory ends in that moment, so objects begin as Json::object().

/// Names of files, machines and kernels need not be UTF-8: what is not becomes U+FFFD instead of an exception. `indent` below 0: one line.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mergelane
