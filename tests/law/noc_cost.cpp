// SPDX-License-Identifier: MIT
// Invariant: area and leakage of the DC-L1 networks, from the tool and without tuning, are close to the published values, and are not if
// the dominant part is left out.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "energy_data.hpp"
#include "noc_designs.hpp"

namespace mergelane::testing {
namespace {

const std::map<std::string, double> kPublishedArea = {{"Pr40", -28},    {"Pr20", -54},     {"Pr10", -67},    {"Sh40", 69},
                                                      {"Sh40+C5", -45}, {"Sh40+C10", -50}, {"Sh40+C20", -45}};
const std::map<std::string, double> kPublishedStatic = {{"Pr40", -4}, {"Sh40", 57}, {"Sh40+C5", -15}, {"Sh40+C10", -16}, {"Sh40+C20", -14}};

struct Change {
    double area, leak;  // per cent against the baseline
};
using Total = NocTotal (*)(const NocDesign&);

std::map<std::string, Change> changes(Total total) {
    std::map<std::string, Change> found;
    const std::vector<NocDesign> designs = dc_l1_nocs();
    const NocTotal base = total(designs.front());
    for (const NocDesign& design : designs) {
        const NocTotal t = total(design);
        found[design.name] = {100 * (t.area_mm2 / base.area_mm2 - 1), 100 * (t.leak_mw / base.leak_mw - 1)};
    }
    return found;
}
NocTotal transposed(const NocDesign& design) {
    return noc_total(design, ReplyCount::transposed);
}
NocTotal twice(const NocDesign& design) {
    return noc_total(design, ReplyCount::as_the_request);
}
/// From the tool's own runs instead of the closed forms.
NocTotal transposed_runs(const NocDesign& design) {
    const std::vector<DsentRouter> routers = dsent_routers();
    NocTotal total;
    const auto add = [&](std::uint32_t count, const CrossbarShape& shape) {
        for (const DsentRouter& r : routers) {
            const CrossbarShape& s = r.shape;
            if (!r.minimum_size || s.inputs != shape.inputs || s.outputs != shape.outputs || s.flit_bits != shape.flit_bits) continue;
            total.area_mm2 += count * r.area_mm2;
            total.leak_mw += count * r.leak_mw;
            return;
        }
        ADD_FAILURE() << "no run of " << shape.inputs << "x" << shape.outputs;
    };
    for (const auto& [count, shape] : design.request) {
        add(count, shape);
        add(count, shape.transposed());
    }
    return total;
}

TEST(NocCost, RunsOfTheToolReproduceThePaper) {
    const auto found = changes(transposed_runs);
    for (const auto& [name, published] : kPublishedArea) EXPECT_NEAR(found.at(name).area, published, name == "Sh40" ? 5 : 2) << name;
    for (const auto& [name, published] : kPublishedStatic) EXPECT_NEAR(found.at(name).leak, published, name == "Sh40" ? 15 : 5) << name;
}

TEST(NocCost, ClosedFormsFollowTheRuns) {
    const auto runs = changes(transposed_runs);
    const auto found = changes(transposed);
    for (const auto& [name, change] : found) {
        EXPECT_NEAR(change.area, runs.at(name).area, 1) << name;
        EXPECT_NEAR(change.leak, runs.at(name).leak, 2) << name;
    }
}

TEST(NocCost, ClosedFormsReproduceThePaper) {
    const auto found = changes(transposed);
    for (const auto& [name, published] : kPublishedArea) EXPECT_NEAR(found.at(name).area, published, name == "Sh40" ? 5 : 2) << name;
    // Pr40 is 5.6 points off: 4.3 are the tool's, the rest is the error of the forms for the baseline's 80x32.
    for (const auto& [name, published] : kPublishedStatic)
        EXPECT_NEAR(found.at(name).leak, published, name == "Sh40" ? 15 : name == "Pr40" ? 6 : 5) << name;
    const auto doubled = changes(twice);
    for (const auto& [name, published] : kPublishedStatic) EXPECT_NEAR(doubled.at(name).leak, published, 5) << name;
}

/// Flits of 1280 bits are beyond the fitted widths; the paper's own figures are 18.5 and 4.2 times.
TEST(NocCost, FiveTimesTheFlitCostsWhatThePaperSays) {
    NocDesign wide = dc_l1_nocs().front();
    const NocTotal base = transposed(wide);
    wide.request.front().shape.flit_bits *= 5;
    const NocTotal total = transposed(wide);
    EXPECT_NEAR(total.area_mm2 / base.area_mm2, 18.5, 0.1 * 18.5);
    EXPECT_NEAR(total.leak_mw / base.leak_mw, 4.2, 0.1 * 4.2);
}

/// Negative control: without the allocator, which grows as outputs times inputs squared, clustering saves no static power.
TEST(NocCost, WithoutTheAllocatorThePaperIsNotReproduced) {
    const auto found = changes([](const NocDesign& design) { return noc_total(design, ReplyCount::transposed, false); });
    for (const char* name : {"Sh40+C5", "Sh40+C10", "Sh40+C20"}) {
        EXPECT_GT(found.at(name).leak, 0) << name;
        EXPECT_GT(std::abs(found.at(name).leak - kPublishedStatic.at(name)), 20) << name;
    }
}

}  // namespace
}  // namespace mergelane::testing
