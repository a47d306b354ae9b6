// SPDX-License-Identifier: MIT
// A user-defined CTA scheduler: one CTA per cycle, to the SM with the most free contexts; ties go to the lowest SM.
#include <algorithm>

#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

class EmptiestFirst final : public CtaScheduler {
public:
    void start(const DispatchState& state) override {
        next_ = state.first_cta;
        end_ = state.end_cta;
    }
    void place(const DispatchState& state, std::vector<Placement>& out) override {
        const auto most = std::max_element(state.free_contexts.begin(), state.free_contexts.end());
        if (next_ == end_ || *most == 0) return;
        out.push_back({next_++, static_cast<std::uint32_t>(most - state.free_contexts.begin())});
    }
    std::uint64_t remaining() const override { return end_ - next_; }

private:
    std::uint64_t next_ = 0;
    std::uint64_t end_ = 0;
};

}  // namespace

void add_emptiest_first(Registry& registry) {
    registry.add<CtaScheduler>("emptiest_first", "one CTA per cycle to the SM with the most room",
                               [](const DispatchSpec&, const Sections&) { return std::make_unique<EmptiestFirst>(); });
}

}  // namespace outside
