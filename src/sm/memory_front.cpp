// SPDX-License-Identifier: MIT
#include "sm/memory_front.hpp"

#include "sm/in_order_front.hpp"

namespace mergelane {

// A new front is its own files and its line here.
void add_memory_fronts(Registry& registry) {
    registry.add<MemoryFront>("in_order", "instructions one after the other, each as soon as the L1 takes its next block",
                              [](const FrontContext& context, const Sections&) { return std::make_unique<InOrderFront>(context); });
}

}  // namespace mergelane
