// SPDX-License-Identifier: MIT
// Device code that a program loads while it runs: PTX text, containers of device code, or machine code, which is refused.
#pragma once

#include <string>
#include <vector>

#include "runtime.hpp"

namespace mergelane::cudart {

/// What can be executed of an image.
struct LoadedCode {
    std::vector<std::string> units;  ///< PTX
    std::uint32_t sm = 0;
    std::string remarks;  ///< of the machine code beside the PTX, for the parser
};

/// `image`: PTX text, a container, a container's wrapper or machine code; as large as it says. Throws CudaError.
LoadedCode read_image(const void* image);
/// The file's content as an image. Throws CudaError.
LoadedCode read_image_file(const char* path);

}  // namespace mergelane::cudart
