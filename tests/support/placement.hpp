// SPDX-License-Identifier: MIT
// Drives a CTA scheduler like the dispatcher, without a machine: which CTA is where, and when it was placed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <vector>

#include "dispatch/cta_scheduler.hpp"

namespace mergelane::testing {

class PlacementBench {
public:
    using Ctas = std::vector<std::uint64_t>;

    PlacementBench(std::string_view policy, std::uint32_t clusters, std::uint32_t per_cluster, std::uint32_t contexts, std::uint64_t ctas,
                   const DispatchSpec& spec = {})
        : scheduler(make_cta_scheduler(policy, spec)) {
        state.clusters = clusters;
        state.sms_per_cluster = per_cluster;
        state.contexts_per_sm = contexts;
        state.end_cta = ctas;
        state.free_contexts.assign(state.sms(), contexts);
        received.resize(state.sms());
    }
    void start() { scheduler->start(state); }
    /// One cycle; returns how many CTAs were placed.
    std::size_t cycle() {
        std::vector<Placement> placed;
        scheduler->place(state, placed);
        std::map<std::uint32_t, int> per_sm;
        for (const Placement& p : placed) {
            EXPECT_EQ(++per_sm[p.sm], 1) << "an SM receives at most one CTA per cycle";
            EXPECT_GT(state.free_contexts.at(p.sm), 0u) << "to an SM without room";
            EXPECT_TRUE(where.emplace(p.cta, p.sm).second) << "CTA " << p.cta << " twice";
            EXPECT_TRUE(p.cta >= state.first_cta && p.cta < state.end_cta) << p.cta;
            --state.free_contexts[p.sm];
            received[p.sm].push_back(p.cta);
        }
        EXPECT_EQ(where.size() + scheduler->remaining(), state.end_cta - state.first_cta);
        return placed.size();
    }
    /// Until nothing more is placed, as the dispatcher asks.
    void fill() {
        if (scheduler->remaining() == 0) return;
        while (cycle() != 0 && scheduler->remaining() != 0) {
        }
    }
    void finish(std::uint64_t cta) { ++state.free_contexts[where.at(cta)]; }
    /// CTAs each SM has received so far, counted from 1 as in the papers.
    std::vector<Ctas> from_one() const {
        std::vector<Ctas> list = received;
        for (Ctas& ctas : list) {
            for (std::uint64_t& cta : ctas) ++cta;
        }
        return list;
    }

    DispatchState state;
    std::unique_ptr<CtaScheduler> scheduler;
    std::vector<Ctas> received;
    std::map<std::uint64_t, std::uint32_t> where;
};

}  // namespace mergelane::testing
