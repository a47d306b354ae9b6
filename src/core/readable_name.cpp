// SPDX-License-Identifier: MIT
#include "core/readable_name.hpp"

#include <cxxabi.h>

#include <cstdlib>

namespace mergelane {

std::string readable_name(const std::string& name) {
    constexpr std::size_t kWidest = 100;
    int status = 0;
    char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 ? text : name;
    std::free(text);
    if (result.size() > kWidest) result = result.substr(0, kWidest - 3) + "...";
    return result;
}

}  // namespace mergelane
