// SPDX-License-Identifier: MIT
// What transforms of the [clustering] section share: instructions that they add, and the wrapping itself.
#pragma once

#include <string_view>
#include <vector>

#include "core/kernel.hpp"
#include "dispatch/clustering_spec.hpp"
#include "dispatch/kernel_transform.hpp"

namespace mergelane {

/// A chain of dependent instructions; with eight or more, two are divisions. Uses one register beyond those of the kernel.
std::vector<StaticInst> address_arithmetic(KernelInfo& info, std::uint32_t count);

/// The lanes of the warp; the last warp of a CTA may have fewer.
std::uint32_t lanes_of(const KernelInfo& info, std::uint32_t warp);

/// All of these instructions, executed by all lanes of the warp.
Run run_of(const std::vector<StaticInst>& instructions, const KernelInfo& info, std::uint32_t warp);

/// Throws InputError for a kernel whose CTAs depend on their placement: a transform would change it.
void refuse_if_placed(const KernelSource& kernel, std::string_view transform);

/// Wraps every kernel in a `Kernel`.
template <typename Kernel>
class WrappedBy final : public KernelTransform {
public:
    WrappedBy(std::string_view name, const Sections& sections) : name_(name), spec_(sections.get<ClusteringSpec>()) {}
    std::unique_ptr<KernelSource> wrap(const KernelSource& kernel, const TransformTarget& target) const override {
        refuse_if_placed(kernel, name_);
        return std::make_unique<Kernel>(kernel, spec_, target);
    }

private:
    const std::string_view name_;
    const ClusteringSpec spec_;
};

}  // namespace mergelane
