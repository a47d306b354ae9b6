// SPDX-License-Identifier: MIT
// Software that changes which CTA of a kernel does which work: redirected CTAs, agents that execute several tasks, fewer concurrent CTAs. A
// transform wraps any kernel source; chosen by `dispatch.transform`.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/kernel.hpp"
#include "core/policies.hpp"
#include "dispatch/dispatch_spec.hpp"

namespace mergelane {

/// The machine for which a kernel is transformed.
struct TransformTarget {
    std::uint32_t sms = 1;
    std::uint32_t ctas_per_sm = 1;  ///< CTAs of the unchanged kernel that fit on an SM
};

/// What a machine needs to know of a transform.
struct TransformTraits {
    Stated<bool> persistent_ctas;  ///< that take one task after the other
};

class KernelTransform {
public:
    static constexpr std::string_view kKind = "kernel transform";
    using Traits = TransformTraits;
    using Maker = std::function<std::unique_ptr<KernelTransform>(const DispatchSpec&, const Sections&)>;

    virtual ~KernelTransform() = default;
    /// The transformed kernel; `kernel` outlives it. nullptr: the kernel is unchanged.
    virtual std::unique_ptr<KernelSource> wrap(const KernelSource& kernel, const TransformTarget& target) const = 0;
};

void add_kernel_transforms(Registry& registry);

}  // namespace mergelane
