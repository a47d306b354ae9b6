// SPDX-License-Identifier: MIT
#include "sm/warp_scheduler.hpp"

#include "core/error.hpp"

namespace mergelane {

std::unique_ptr<WarpScheduler> make_greedy_then_oldest();
std::unique_ptr<WarpScheduler> make_loose_round_robin();

namespace {
struct Entry {
    std::string_view name;
    std::unique_ptr<WarpScheduler> (*make)();
};
// A new policy is one file in sm/, its maker's declaration above and its line here.
constexpr Entry kPolicies[] = {
    {"gto", make_greedy_then_oldest},
    {"lrr", make_loose_round_robin},
};
}  // namespace

std::unique_ptr<WarpScheduler> make_warp_scheduler(std::string_view name) {
    for (const Entry& entry : kPolicies) {
        if (entry.name == name) return entry.make();
    }
    throw InputError("unknown warp scheduler '" + std::string(name) + "'");
}

std::vector<std::string_view> warp_scheduler_names() {
    std::vector<std::string_view> names;
    for (const Entry& entry : kPolicies) names.push_back(entry.name);
    return names;
}

}  // namespace mergelane
