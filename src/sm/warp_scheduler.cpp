// SPDX-License-Identifier: MIT
#include "sm/warp_scheduler.hpp"

#include "sm/sm_spec.hpp"

namespace mergelane {

std::unique_ptr<WarpScheduler> make_greedy_then_oldest(const SmSpec&, const Sections&);
std::unique_ptr<WarpScheduler> make_loose_round_robin(const SmSpec&, const Sections&);

// To add a policy: one file in sm/, the declaration of its maker above, and one line here.
void add_warp_schedulers(Registry& registry) {
    registry.add<WarpScheduler>("gto", "the same warp until it cannot, then the oldest that can", make_greedy_then_oldest);
    registry.add<WarpScheduler>("lrr", "the next warp that can after the one that issued last", make_loose_round_robin);
}

std::unique_ptr<WarpScheduler> make_warp_scheduler(std::string_view name) {
    return policies_of<add_warp_schedulers>().make<WarpScheduler>(name, SmSpec{});
}

}  // namespace mergelane
