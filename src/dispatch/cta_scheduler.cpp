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
    registry.add<CtaScheduler>("round_robin", "one CTA after the other to one SM after the other", make_round_robin);
    registry.add<CtaScheduler>("global_rr", "another name of round_robin", make_round_robin);
    registry.add<CtaScheduler>("rr_then_demand", "another name of round_robin: once all SMs are full, who has room is next",
                               make_round_robin);
    registry.add<CtaScheduler>("rr_strict", "CTA n runs on SM n mod SMs, however long it waits for room", make_rr_strict);
    registry.add<CtaScheduler>("random_per_turnaround", "as round_robin, but those that fit at a time come in random order",
                               make_random_turnaround);
    registry.add<CtaScheduler>("two_level_rr", "round robin over clusters, then over their SMs", make_two_level_rr);
    registry.add<CtaScheduler>("greedy", "one cluster is filled before the next gets any", make_greedy);
    registry.add<CtaScheduler>("distributed", "every cluster works through neighbouring CTAs of its own", make_distributed);
    registry.add<CtaScheduler>("distributed_block", "as distributed, and an SM gets blocks of neighbours", make_distributed_block);
}

std::unique_ptr<CtaScheduler> make_cta_scheduler(std::string_view name, const DispatchSpec& spec) {
    return policies_of<add_cta_schedulers>().make<CtaScheduler>(name, spec);
}

std::vector<std::string_view> cta_scheduler_names() {
    return policies_of<add_cta_schedulers>().names<CtaScheduler>();
}

}  // namespace mergelane
