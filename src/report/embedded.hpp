// SPDX-License-Identifier: MIT
// Files embedded in the library, so that a report needs only the command that writes it.
#pragma once

#include <string_view>

namespace mergelane::report::embedded {

std::string_view page_style();
std::string_view page_script();
std::string_view vega();
std::string_view vega_lite();
std::string_view vega_embed();
std::string_view vega_licence();
std::string_view vega_lite_licence();
std::string_view vega_embed_licence();
/// Licences of the third-party code in the three bundles.
std::string_view contained_licences();

}  // namespace mergelane::report::embedded
