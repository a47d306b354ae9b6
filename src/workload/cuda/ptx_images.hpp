// SPDX-License-Identifier: MIT
// The PTX texts in a file: PTX itself, a container of device code (.fatbin), or a CUDA program or library.
#pragma once

#include <string>
#include <vector>

namespace mergelane::cuda {

struct NamedPtx {
    std::string name;
    std::string text;
};

/// `content` is that of the file. The texts of a program are named as `mergelane cuda` names them, PROGRAM.1.ptx and so on; units of
/// relocatable device code are linked into one. Of several PTX versions, the lowest is taken. Throws InputError if there is no PTX.
std::vector<NamedPtx> ptx_images(std::string content, const std::string& name);

}  // namespace mergelane::cuda
