// SPDX-License-Identifier: MIT
#include "dispatch/kernel_transform.hpp"

namespace mergelane {

namespace {

class NoTransform final : public KernelTransform {
public:
    std::unique_ptr<KernelSource> wrap(const KernelSource&, const TransformTarget&) const override { return nullptr; }
};

}  // namespace

// A new transform is one file in dispatch/, its maker's declaration and its line here.
void add_kernel_transforms(Registry& registry) {
    registry.add<KernelTransform>("none", "the kernel as it is",
                                  [](const DispatchSpec&, const Sections&) { return std::make_unique<NoTransform>(); });
}

}  // namespace mergelane
