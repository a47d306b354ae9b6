// SPDX-License-Identifier: MIT
#include "report/embedded.hpp"

// The assembler includes a file instantly; a literal of half a megabyte takes a compiler seconds.
#define MERGELANE_EMBED(name, file)                                                                                    \
    __asm__(                                                                                                           \
        ".pushsection .rodata\n"                                                                                       \
        ".globl mergelane_embedded_" #name "\n.hidden mergelane_embedded_" #name "\nmergelane_embedded_" #name         \
        ":\n"                                                                                                          \
        ".incbin \"" MERGELANE_EMBED_TOP "/" file                                                                      \
        "\"\n"                                                                                                         \
        ".globl mergelane_embedded_" #name "_end\n.hidden mergelane_embedded_" #name "_end\nmergelane_embedded_" #name \
        "_end:\n.byte 0\n.popsection\n");                                                                              \
    extern "C" const char mergelane_embedded_##name[] __attribute__((visibility("hidden")));                           \
    extern "C" const char mergelane_embedded_##name##_end[] __attribute__((visibility("hidden")));                     \
    namespace mergelane::report::embedded {                                                                            \
    std::string_view name() {                                                                                          \
        return {mergelane_embedded_##name, mergelane_embedded_##name##_end};                                           \
    }                                                                                                                  \
    }

MERGELANE_EMBED(page_style, "src/report/page.css")
MERGELANE_EMBED(page_script, "src/report/page.js")
MERGELANE_EMBED(vega, "third_party/vega/vega.min.js")
MERGELANE_EMBED(vega_lite, "third_party/vega/vega-lite.min.js")
MERGELANE_EMBED(vega_embed, "third_party/vega/vega-embed.min.js")
MERGELANE_EMBED(vega_licence, "third_party/vega/LICENSE.vega")
MERGELANE_EMBED(vega_lite_licence, "third_party/vega/LICENSE.vega-lite")
MERGELANE_EMBED(vega_embed_licence, "third_party/vega/LICENSE.vega-embed")
MERGELANE_EMBED(contained_licences, "third_party/vega/LICENSE.contained")
