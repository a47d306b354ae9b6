// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_spec.hpp"

#include "dispatch/cta_scheduler.hpp"
#include "dispatch/kernel_transform.hpp"

namespace mergelane {

void DispatchSpec::fields(SpecFields& f) {
    f.section("dispatch");
    f.policy<CtaScheduler>("scheduler", scheduler, "CTA scheduling policy");
    f.policy<KernelTransform>("transform", transform, "software transformation of the kernel that reassigns work to CTAs before dispatch");
    f.integer("block_ctas", block_ctas, 1, 64, "CTAs",
              "distributed_block: block size, in neighbouring CTAs dispatched to one SM; at most as many as fit on an SM");
    f.boolean("delayed_launch", delayed_launch,
              "distributed_block: dispatch to an SM only when a full block fits; otherwise one CTA per freed context");
    f.integer("latency", latency, 1, 100000, "core cycles",
              "latency from dispatcher to SM and from SM to dispatcher, the same for all schedulers");
    f.integer("launch_latency", launch_latency, 0, 1000000, "core cycles", "latency before the first CTA of a kernel is dispatched");
    f.boolean("continue_round", continue_round,
              "round_robin, two_level_rr: start a kernel at the SM after the one that received the last CTA; otherwise at SM 0");
    f.integer("seed", seed, 0, 1000000, "number", "random_per_turnaround: seed of the random order");
}

void DispatchSpec::laws(LawBook& book) const {
    if (book.drained())
        book.balance("every CTA dispatched has finished", book("dispatch.ctas_dispatched"), book("dispatch.ctas_completed"));
}

}  // namespace mergelane
