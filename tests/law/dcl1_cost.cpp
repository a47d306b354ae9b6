// SPDX-License-Identifier: MIT
// Invariant: the cost of a machine with decoupled L1s follows from the simulated networks and caches, and is close to the published one
// without tuning.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "costing/energy_of_run.hpp"
#include "dcl1_machines.hpp"
#include "energy_data.hpp"
#include "noc_designs.hpp"
#include "run.hpp"
#include "sim/declared.hpp"

namespace mergelane::testing {
namespace {

MachineSpec eighty() {
    MachineSpec s = private_l1s();
    s.gpu.clusters = 80;
    s.dram.channels = 16;
    s.l1.size_kib = 16;
    s.l1.ways = 4;
    s.l2.size_kib = 128;
    s.l2.ways = 8;
    s.noc.traversal_latency = 8;
    s.noc.credit_latency = 8;
    s.noc.input_buffer_flits = 16;
    return valid(s);
}

struct Cost {
    double noc_mm2 = 0;
    double noc_leak_fj = 0;  // per core cycle
    double l1_mm2 = 0;
};
Cost cost_of(const MachineSpec& s) {
    const EnergyPrices prices = energy_prices(energy_table("bottom_up_22nm"), energy_shape(s), structures_of(s));
    Cost cost;
    for (const auto& [structure, mm2] : prices.areas_mm2) {
        if (structure.find("network") != std::string::npos) cost.noc_mm2 += mm2;
        if (structure == "L1") cost.l1_mm2 = mm2;
    }
    for (const EnergyPrice& price : prices.list) {
        if (price.name.find("network leakage") != std::string::npos) cost.noc_leak_fj += static_cast<double>(price.fj);
    }
    return cost;
}

/// What a machine declares is what the paper lists.
TEST(DcL1Cost, MachinesDeclareThePublishedCrossbars) {
    const auto expect = [](const MachineSpec& s, const NocDesign& design) {
        std::vector<CrossbarSet> requests, replies;
        for (const CrossbarSet& set : energy_shape(s).networks) (set.name.ends_with("request") ? requests : replies).push_back(set);
        ASSERT_EQ(requests.size(), design.request.size()) << design.name;
        ASSERT_EQ(replies.size(), design.request.size()) << design.name;
        for (const NocDesign::Crossbars& wanted : design.request) {
            const CrossbarShape& shape = wanted.shape;
            const auto is = [&](std::uint32_t inputs, std::uint32_t outputs) {
                return [&, inputs, outputs](const CrossbarSet& set) {
                    return set.instances == wanted.count && set.inputs == inputs && set.outputs == outputs &&
                           set.flit_bytes * 8 == shape.flit_bits && set.buffer_flits == shape.buffer_flits;
                };
            };
            EXPECT_EQ(std::count_if(requests.begin(), requests.end(), is(shape.inputs, shape.outputs)), 1) << design.name;
            EXPECT_EQ(std::count_if(replies.begin(), replies.end(), is(shape.outputs, shape.inputs)), 1) << design.name;
        }
    };
    const std::vector<NocDesign> designs = dc_l1_nocs();
    expect(eighty(), designs[0]);
    const std::pair<std::uint32_t, std::uint32_t> organisations[] = {{40, 40}, {20, 20}, {10, 10}, {40, 1}, {40, 5}, {40, 10}, {40, 20}};
    ASSERT_EQ(designs.size(), 1 + std::size(organisations));
    for (std::size_t i = 0; i < std::size(organisations); ++i)
        expect(decoupled(organisations[i].first, organisations[i].second, 700, eighty()), designs[1 + i]);
    MachineSpec larger = eighty();
    larger.gpu.clusters = 120;
    larger.dram.channels = 24;
    expect(decoupled(60, 10, 700, larger), dc_l1_noc("Sh60+C10", 120, 60, 10, 48));
}

TEST(DcL1Cost, AreaAndLeakageOfTheNetworksAreNearThePaper) {
    struct Row {
        std::uint32_t nodes, clusters;
        double area, leak, leak_tolerance;  // published, per cent; replies transposed, which overstates Sh40's leakage
    };
    const Cost base = cost_of(eighty());
    for (const Row& row : {Row{40, 40, -28, -4, 6}, Row{20, 20, -54, 0, 0}, Row{10, 10, -67, 0, 0}, Row{40, 1, 69, 57, 15},
                           Row{40, 5, -45, -15, 5}, Row{40, 10, -50, -16, 5}, Row{40, 20, -45, -14, 5}}) {
        const Cost cost = cost_of(decoupled(row.nodes, row.clusters, 700, eighty()));
        const std::string name = std::to_string(row.nodes) + " nodes, " + std::to_string(row.clusters) + " clusters";
        EXPECT_NEAR(100 * (cost.noc_mm2 / base.noc_mm2 - 1), row.area, 5) << name;
        if (row.leak_tolerance != 0) {
            EXPECT_NEAR(100 * (cost.noc_leak_fj / base.noc_leak_fj - 1), row.leak, row.leak_tolerance) << name;
        }
    }
    // Faster networks have the same wires and buffers.
    EXPECT_EQ(cost_of(decoupled(40, 10, 1400, eighty())).noc_mm2, cost_of(decoupled(40, 10, 700, eighty())).noc_mm2);
    // Fewer, larger caches of the same capacity.
    EXPECT_LT(cost_of(decoupled(40, 10, 700, eighty())).l1_mm2, base.l1_mm2);
}

TEST(DcL1Cost, EveryFlitIsPaidForOnTheNetworkItIsOn) {
    const MachineSpec s = decoupled(4, 2);
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 40;
    const auto workload = make_synthetic("stream", params);
    RunResult result = run_on(s, *workload);
    add_energy(result, s, energy_table("bottom_up_22nm"));
    std::map<std::string, std::uint64_t> found;
    std::uint64_t sum = 0;
    for (const EnergyItem& item : result.energy.front().items) {
        found[item.name] = item.count;
        sum += item.fj;
    }
    for (const std::string name : {"request", "reply", "local_request", "local_reply"}) {
        std::string words = name + " network switch";
        if (const auto at = words.find('_'); at != std::string::npos) words[at] = ' ';
        EXPECT_EQ(found.at(words), result.stat("noc." + name + ".flits")) << name;
    }
    EXPECT_EQ(found.at("node queue writes"), result.stat("dcl1.requests") + result.stat("dcl1.replies") + result.stat("dcl1.requests_out") +
                                                 result.stat("dcl1.network_replies"));
    EXPECT_EQ(sum, result.energy.front().total_fj);
}

}  // namespace
}  // namespace mergelane::testing
