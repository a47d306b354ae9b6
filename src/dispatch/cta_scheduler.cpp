// SPDX-License-Identifier: MIT
#include "dispatch/cta_scheduler.hpp"

#include "core/error.hpp"
#include "dispatch/dispatch_spec.hpp"

namespace mergelane {

std::unique_ptr<CtaScheduler> make_round_robin();

namespace {
struct Entry {
    std::string_view name;
    std::unique_ptr<CtaScheduler> (*make)();
};
// A new policy is one file in dispatch/, its maker's declaration above and its line here.
constexpr Entry kPolicies[] = {
    {"round_robin", make_round_robin},
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
    f.integer("latency", latency, 1, 100000, "core cycles", "from dispatcher to SM and back, each way, the same for all schedulers");
    f.integer("launch_latency", launch_latency, 0, 1000000, "core cycles", "before the first CTA of a kernel may be dispatched");
}

}  // namespace mergelane
