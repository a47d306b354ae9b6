// SPDX-License-Identifier: MIT
// How results are written as JSON. What is read back and must be exact (orders to child processes, plans, YAML) refuses texts that are not
// UTF-8 instead.
#pragma once

#include <string>

namespace mergelane {

// Indexing a null value makes it an object. If memory runs out in that step, its destructor crashes; so objects start as Json::object().

/// Names of files, machines and kernels need not be UTF-8: what is not becomes U+FFFD instead of an exception. `indent` below 0: one line.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mergelane
