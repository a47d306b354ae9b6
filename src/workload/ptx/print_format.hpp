// SPDX-License-Identifier: MIT
// The text that printf in device code produces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/types.hpp"

namespace mergelane::ptx {

struct PrintArguments {
    std::function<std::uint64_t(std::uint32_t bytes)> next;  ///< the next argument, aligned to its size
    std::function<std::string(Addr)> text_at;                ///< for %s
};
struct Printed {
    std::string text;
    std::uint32_t arguments = 0;  ///< read; what printf returns
};
/// A conversion that does not exist is printed as it is written.
Printed format_print(std::string_view format, const PrintArguments& arguments);

}  // namespace mergelane::ptx
