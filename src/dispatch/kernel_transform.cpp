// SPDX-License-Identifier: MIT
#include "dispatch/kernel_transform.hpp"

#include "dispatch/clustering_spec.hpp"

namespace mergelane {

std::unique_ptr<KernelTransform> make_redirect(const DispatchSpec&, const Sections&);
std::unique_ptr<KernelTransform> make_agents(const DispatchSpec&, const Sections&);

namespace {

class NoTransform final : public KernelTransform {
public:
    std::unique_ptr<KernelSource> wrap(const KernelSource&, const TransformTarget&) const override { return nullptr; }
};

}  // namespace

// To add a transform: one file in dispatch/, the declaration of its maker, and one line here.
void add_kernel_transforms(Registry& registry) {
    registry.add<KernelTransform>("none", "the kernel as it is", {.persistent_ctas = false},
                                  [](const DispatchSpec&, const Sections&) { return std::make_unique<NoTransform>(); });
    registry.add_section<ClusteringSpec>();
    registry.add<KernelTransform>("redirect",
                                  "CTAs do the work of others, so that neighbours meet on an SM if hardware deals CTAs out in turn",
                                  {.persistent_ctas = false}, make_redirect);
    registry.add<KernelTransform>("agents", "as many CTAs as fit; each works through tasks of its SM's cluster", {.persistent_ctas = true},
                                  make_agents);
}

}  // namespace mergelane
