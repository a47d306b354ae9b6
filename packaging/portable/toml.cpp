// SPDX-License-Identifier: MIT
// What Debian's libtomlplusplus.so holds, compiled from the headers of libtomlplusplus-dev: Debian has no static library.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
