// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

#include "core/error.hpp"
#include "dispatch/dispatch_spec.hpp"

namespace mergelane {

std::unique_ptr<CtaScheduler> make_round_robin();
std::unique_ptr<CtaScheduler> make_two_level_rr();
std::unique_ptr<CtaScheduler> make_greedy();
std::unique_ptr<CtaScheduler> make_distributed();
std::unique_ptr<CtaScheduler> make_distributed_block();

namespace {
struct Entry {
    std::string_view name;
    std::unique_ptr<CtaScheduler> (*make)();
};
// A new policy is one file in dispatch/, its maker's declaration above and its line here.
constexpr Entry kPolicies[] = {
    {"round_robin", make_round_robin},   {"global_rr", make_round_robin},  // the ICC paper's name for it
    {"two_level_rr", make_two_level_rr}, {"greedy", make_greedy},
    {"distributed", make_distributed},   {"distributed_block", make_distributed_block},
};
}  // namespace

std::unique_ptr<CtaScheduler> make_cta_scheduler(std::string_view name) {
    for (const Entry& entry : kPolicies) {
        if (entry.name == name) return entry.make();
    }
    throw InputError("unknown CTA scheduler '" + std::string(name) + "'");
}

std::vector<std::string_view> cta_scheduler_names() {
    std::vector<std::string_view> names;
    for (const Entry& entry : kPolicies) names.push_back(entry.name);
    return names;
}

void DispatchSpec::fields(SpecFields& f) {
    f.section("dispatch");
    f.choice("scheduler", scheduler, cta_scheduler_names(), "which CTA goes to which SM");
    f.integer("block_ctas", block_ctas, 1, 64, "CTAs",
              "distributed_block: neighbouring CTAs that go to one SM together; fewer if fewer fit on an SM");
    f.boolean("delayed_launch", delayed_launch,
              "distributed_block: an SM gets new CTAs only when a whole block has room; else one for every context that is freed");
    f.integer("latency", latency, 1, 100000, "core cycles", "from dispatcher to SM and back, each way, the same for all schedulers");
    f.integer("launch_latency", launch_latency, 0, 1000000, "core cycles", "before the first CTA of a kernel may be dispatched");
}

}  // namespace mergelane
