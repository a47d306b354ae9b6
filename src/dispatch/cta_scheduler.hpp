// SPDX-License-Identifier: MIT
// Which CTA goes to which SM. One small file per policy, one line in add_cta_schedulers().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/policies.hpp"
#include "dispatch/dispatch_spec.hpp"

namespace mergelane {

struct Placement {
    std::uint64_t cta;
    std::uint32_t sm;
};

/// What a policy may inspect. SMs are numbered cluster by cluster.
struct DispatchState {
    std::uint32_t clusters = 1;
    std::uint32_t sms_per_cluster = 1;
    std::uint32_t contexts_per_sm = 1;  ///< CTAs of this kernel that fit on an SM
    std::uint64_t first_cta = 0;
    std::uint64_t end_cta = 0;
    std::vector<std::uint32_t> free_contexts;  ///< per SM
    std::vector<std::uint32_t> first_sms;      ///< of each cluster and one more, if they have unequal sizes; else empty

    std::uint32_t sms() const { return first_sms.empty() ? clusters * sms_per_cluster : first_sms.back(); }
    std::uint32_t first_sm(std::uint32_t cluster) const { return first_sms.empty() ? cluster * sms_per_cluster : first_sms[cluster]; }
    std::uint32_t cluster_size(std::uint32_t cluster) const { return first_sm(cluster + 1) - first_sm(cluster); }
};

class CtaScheduler {
public:
    static constexpr std::string_view kKind = "CTA scheduler";
    using Maker = std::function<std::unique_ptr<CtaScheduler>(const DispatchSpec&, const Sections&)>;

    virtual ~CtaScheduler() = default;
    virtual void start(const DispatchState& state) = 0;
    /// Placements for this cycle, at most one per SM; the dispatcher then updates `state`. Called every cycle until it places nothing, then
    /// after every finished CTA.
    virtual void place(const DispatchState& state, std::vector<Placement>& out) = 0;
    /// CTAs not placed yet.
    virtual std::uint64_t remaining() const = 0;
    /// Whether any freed context takes one of the next CTAs, from the first CTA to the last, so that those in flight are neighbours and
    /// a part of the grid is executed as it is within the whole.
    virtual bool in_order() const { return false; }
};

void add_cta_schedulers(Registry& registry);

// Only the built-in policies.
std::unique_ptr<CtaScheduler> make_cta_scheduler(std::string_view name, const DispatchSpec& spec = {});
std::vector<std::string_view> cta_scheduler_names();

}  // namespace mergelane
