// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

namespace mergelane {

std::unique_ptr<CtaScheduler> make_round_robin(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_rr_strict(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_random_turnaround(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_two_level_rr(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_greedy(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_distributed(const DispatchSpec&, const Sections&);
std::unique_ptr<CtaScheduler> make_distributed_block(const DispatchSpec&, const Sections&);

// To add a policy: one file in dispatch/, the declaration of its maker above, and one line here.
void add_cta_schedulers(Registry& registry) {
    registry.add<CtaScheduler>("round_robin", "round robin over all SMs; a freed context gets the next CTA", make_round_robin);
    registry.add<CtaScheduler>("global_rr", "alias of round_robin", make_round_robin);
    registry.add<CtaScheduler>("rr_then_demand", "alias of round_robin: on demand once all SMs are full", make_round_robin);
    registry.add<CtaScheduler>("rr_strict", "CTA n runs on SM n mod SMs, even if other SMs are idle", make_rr_strict);
    registry.add<CtaScheduler>("random_per_turnaround", "round_robin, with the CTAs of each turnaround shuffled", make_random_turnaround);
    registry.add<CtaScheduler>("two_level_rr", "round robin over SM clusters, then over their SMs", make_two_level_rr);
    registry.add<CtaScheduler>("greedy", "fills one SM cluster before the next", make_greedy);
    registry.add<CtaScheduler>("distributed", "each SM cluster gets a contiguous part of the grid", make_distributed);
    registry.add<CtaScheduler>("distributed_block", "distributed, with blocks of neighbouring CTAs per SM", make_distributed_block);
}

std::unique_ptr<CtaScheduler> make_cta_scheduler(std::string_view name, const DispatchSpec& spec) {
    return policies_of<add_cta_schedulers>().make<CtaScheduler>(name, spec);
}

std::vector<std::string_view> cta_scheduler_names() {
    return policies_of<add_cta_schedulers>().registry().names<CtaScheduler>();
}

}  // namespace mergelane
