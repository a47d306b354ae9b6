// SPDX-License-Identifier: MIT
// A launch manifest: a PTX file, buffers with their initial contents, and launches, in TOML.
//
//   ptx = "saxpy.ptx"                      # next to the manifest
//   [buffers.x]
//   type = "f32"                           # u8 .. s64, f32, f64
//   count = 1048576
//   init = "random"                        # "zero" (default), "iota", "random", a number, or file = "x.bin"
//   [[launch]]
//   kernel = "saxpy"
//   grid = [4096]
//   block = [256]
//   arguments = ["y", "x", 2.5, 1048576]   # buffers by name, numbers, { f32 = 1 }, { buffer = "x", offset = 64 }, { hex = "00ff" }
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::ptx {

/// The launches of a manifest, each executed when the timing model requests it. `warn` receives errors of kernels. Throws InputError, also
/// from next_kernel. The manifest's quantum precedes that of the options; of the two budgets the smaller counts, and 0 is none.
std::unique_ptr<Workload> load_manifest(const std::string& path, std::function<void(const std::string&)> warn = {},
                                        const ExecOptions& options = {});

/// The manifest and all files it names. Throws InputError.
std::vector<std::string> manifest_files(const std::string& path);

}  // namespace mergelane::ptx
