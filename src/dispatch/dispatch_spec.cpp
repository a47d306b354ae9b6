// SPDX-License-Identifier: MIT
#include "dispatch/dispatch_spec.hpp"

#include "dispatch/cta_scheduler.hpp"
#include "dispatch/kernel_transform.hpp"

namespace mergelane {

void DispatchSpec::fields(SpecFields& f) {
    f.section("dispatch");
    f.policy<CtaScheduler>("scheduler", scheduler, "which CTA goes to which SM");
    f.policy<KernelTransform>("transform", transform, "software that changes which CTA does what before a kernel is dispatched");
    f.integer("block_ctas", block_ctas, 1, 64, "CTAs",
              "distributed_block: neighbouring CTAs that go to one SM together; fewer if fewer fit on an SM");
    f.boolean("delayed_launch", delayed_launch,
              "distributed_block: an SM gets new CTAs only when a whole block has room; else one for every context that is freed");
    f.integer("latency", latency, 1, 100000, "core cycles", "from dispatcher to SM and back, each way, the same for all schedulers");
    f.integer("launch_latency", launch_latency, 0, 1000000, "core cycles", "before the first CTA of a kernel may be dispatched");
    f.boolean("continue_round", continue_round,
              "round_robin, two_level_rr: a kernel's first CTA goes to the SM after the last one that got a CTA; else to SM 0");
    f.integer("seed", seed, 0, 1000000, "number", "random_per_turnaround: another one is another order");
}

void DispatchSpec::laws(LawBook& book) const {
    if (book.drained())
        book.balance("every CTA dispatched has finished", book("dispatch.ctas_dispatched"), book("dispatch.ctas_completed"));
}

}  // namespace mergelane
