// SPDX-License-Identifier: MIT
// Sends the CTAs of a kernel to the SMs of one group and collects their completions.
#pragma once

#include <optional>
#include <vector>

#include "core/component.hpp"
#include "core/gpc_message.hpp"
#include "core/kernel.hpp"
#include "core/link.hpp"
#include "core/packet.hpp"
#include "dispatch/cta_scheduler.hpp"
#include "dispatch/dispatch_spec.hpp"

namespace mergelane {

class Dispatcher final : public Component {
public:
    Dispatcher(std::string name, const DispatchSpec& spec, std::uint32_t clusters, std::uint32_t sms_per_cluster,
               std::vector<std::uint32_t> first_sms = {}, const Policies& policies = policies_of<add_cta_schedulers>());

    void connect(std::vector<Link<CtaMessage>*> to_sms, std::vector<Link<CtaMessage>*> from_sms);
    /// `first_sms`: of each GPC and one more; `to_gpcs`: to their switches.
    void connect_gpcs(std::vector<std::uint32_t> first_sms, std::vector<Link<GpcMessage>*> to_gpcs);
    /// CTAs [first, end) of a kernel.
    struct Grid {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        std::uint32_t contexts_per_sm = 1;
        Cycle start = 0;  ///< no CTA is sent before this cycle
    };
    /// Called between windows.
    void launch(const Grid& grid);
    /// If the kernel depends on where its CTAs run, the dispatcher also chooses their slots and notifies it. `first_sm`: of this
    /// dispatcher, among `all_sms` of the machine.
    void launch(const Grid& grid, const KernelSource& kernel, std::uint32_t first_sm, std::uint32_t all_sms);
    /// For the kernel that was just launched: when so many of its CTAs have completed, in ascending order.
    void mark(std::vector<std::uint64_t> completed);
    /// The cycles in which they had, as far as they have.
    const std::vector<Cycle>& marked() const { return marked_; }
    const CtaScheduler& scheduler() const { return *scheduler_; }

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void gauges(StatFields& out) const override;
    void explain(std::vector<Wait>& waits) const override;

    bool finished() const { return completed_ == total_; }
    /// Cycle in which the last completion arrived.
    Cycle finished_at() const { return finished_at_; }
    std::uint64_t completed() const { return completed_; }
    std::uint64_t total() const { return total_; }

private:
    std::uint32_t take_slot(std::uint32_t sm);
    void place_clusters(Cycle now);
    bool place_cluster(std::uint32_t gpc, Cycle now);
    std::uint64_t remaining() const;

    std::unique_ptr<CtaScheduler> scheduler_;
    DispatchState state_;
    std::vector<Link<CtaMessage>*> to_sms_;
    std::vector<Link<CtaMessage>*> from_sms_;
    std::vector<Placement> placements_;
    const KernelSource* placed_ = nullptr;  ///< the kernel to notify, if any
    std::uint32_t first_sm_ = 0;
    std::uint32_t all_sms_ = 1;
    std::vector<std::uint64_t> used_slots_;  ///< per SM, one bit per slot; only if this component chooses slots
    // Clusters of CTAs.
    std::vector<std::uint32_t> gpc_first_sms_;
    std::vector<Link<GpcMessage>*> to_gpcs_;
    std::optional<KernelInfo> clustered_;        ///< the kernel, if it has clusters of several CTAs
    std::uint64_t next_cluster_ = 0;             ///< of the kernel
    std::vector<std::uint16_t> cluster_number_;  ///< per GPC: of its next cluster
    std::vector<bool> taken_;                    ///< per SM: it has got a CTA in this cycle
    std::vector<std::uint32_t> candidates_;
    std::uint32_t next_gpc_ = 0;
    bool placed_some_ = false;
    Cycle start_ = 0;
    Cycle finished_at_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t total_ = 0;
    std::vector<std::uint64_t> marks_;  ///< completions that were asked for, and one more that is never reached
    std::vector<Cycle> marked_;
    std::uint64_t dispatched_all_ = 0;
    std::uint64_t completed_all_ = 0;
};

}  // namespace mergelane
