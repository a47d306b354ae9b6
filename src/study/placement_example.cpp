// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <vector>

#include "dispatch/cta_scheduler.hpp"
#include "study/examples.hpp"

namespace mergelane::study {

namespace {

/// Mirrors what the dispatcher does.
class Example {
public:
    Example(std::string_view policy, const PlacementShape& shape) : scheduler_(make_cta_scheduler(policy)) {
        state_.clusters = shape.clusters;
        state_.sms_per_cluster = shape.sms_per_cluster;
        state_.contexts_per_sm = shape.contexts_per_sm;
        state_.end_cta = shape.ctas;
        state_.free_contexts.assign(state_.sms(), shape.contexts_per_sm);
        received_.resize(state_.sms());
        scheduler_->start(state_);
        fill();
    }
    void end_of(std::uint64_t cta) {
        const auto at = where_.find(cta);
        if (at == where_.end()) return;  // not even placed
        ++state_.free_contexts[at->second];
        fill();
    }
    std::string placed() const {
        std::vector<std::string> cells;
        for (const auto& ctas : received_) cells.push_back(fmt::format("{}", fmt::join(ctas, ",")));
        return fmt::format("{}", fmt::join(cells, " | "));
    }

private:
    void fill() {
        std::vector<Placement> placements;
        do {
            placements.clear();
            if (scheduler_->remaining() != 0) scheduler_->place(state_, placements);
            for (const Placement& p : placements) {
                --state_.free_contexts[p.sm];
                where_[p.cta + 1] = p.sm;
                received_[p.sm].push_back(p.cta + 1);
            }
        } while (!placements.empty());
    }

    DispatchState state_;
    std::unique_ptr<CtaScheduler> scheduler_;
    std::map<std::uint64_t, std::uint32_t> where_;
    std::vector<std::vector<std::uint64_t>> received_;
};

}  // namespace

std::string placed(std::string_view policy, const PlacementShape& shape, std::uint64_t ended) {
    Example example(policy, shape);
    for (std::uint64_t cta = 1; cta <= ended; ++cta) example.end_of(cta);
    return example.placed();
}

}  // namespace mergelane::study
