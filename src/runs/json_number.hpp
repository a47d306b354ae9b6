// SPDX-License-Identifier: MIT
// Whole numbers of JSON texts from outside.
#pragma once

#include <cstdint>

namespace mergelane::study {

/// Throws the library's own exception for all else; its get() would convert a fraction or 1e300 without a word.
template <typename Json>
std::uint64_t natural(const Json& json) {
    return json.template get_ref<const typename Json::number_unsigned_t&>();
}

}  // namespace mergelane::study
