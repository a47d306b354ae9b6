// SPDX-License-Identifier: MIT
// Files that are part of the library, so that a report needs nothing but the command that writes it.
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
/// Of what others wrote and the three bundles contain.
std::string_view contained_licences();

}  // namespace mergelane::report::embedded
