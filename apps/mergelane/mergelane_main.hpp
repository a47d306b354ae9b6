// SPDX-License-Identifier: MIT
// The whole command line as a function, for programs that add their own mechanisms to it:
//
//   int main(int argc, char** argv) {
//       mergelane::Registry registry = mergelane::built_in_registry();
//       registry.set_edition("my-lab 1");
//       registry.add<mergelane::CtaScheduler>("mine", "what it does", make_mine);
//       return mergelane::mergelane_main(argc, argv, registry);
//   }
#pragma once

#include "sim/built_in.hpp"

namespace mergelane {

/// Every command of `mergelane`, with the choices in `registry` (by default those that are built in); returns the exit code.
int mergelane_main(int argc, char** argv, const Registry& registry);
int mergelane_main(int argc, char** argv);

}  // namespace mergelane
