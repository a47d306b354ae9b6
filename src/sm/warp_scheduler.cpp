// SPDX-License-Identifier: MIT
#include "sm/warp_scheduler.hpp"

namespace mergelane {

std::unique_ptr<WarpScheduler> make_greedy_then_oldest(const SmSpec&, const Sections&);
std::unique_ptr<WarpScheduler> make_loose_round_robin(const SmSpec&, const Sections&);

// To add a policy: one file in sm/, the declaration of its maker above, and one line here.
void add_warp_schedulers(Registry& registry) {
    registry.add<WarpScheduler>("gto", "greedy then oldest: the same warp until it stalls, then the oldest ready warp",
                                make_greedy_then_oldest);
    registry.add<WarpScheduler>("lrr", "loose round robin: the next ready warp after the one that issued last", make_loose_round_robin);
}

}  // namespace mergelane
