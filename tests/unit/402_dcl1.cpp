// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/cluster_spec.hpp"
#include "cluster/network_ports_spec.hpp"
#include "dcl1_machines.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

/// The paper's machine: 80 SMs, 32 slices on 16 channels.
MachineSpec eighty(std::uint32_t nodes, std::uint32_t clusters, std::uint32_t local_mhz = 700) {
    MachineSpec s = private_l1s();
    s.gpu.clusters = 80;
    s.dram.channels = 16;
    s.l1.size_kib = 16;
    s.l1.ways = 4;
    s.l1.hit_latency = 28;
    s.l2.size_kib = 128;
    s.l2.ways = 8;
    s.noc.traversal_latency = 8;
    s.noc.credit_latency = 8;
    return decoupled(nodes, clusters, local_mhz, valid(s));
}

TEST(DcL1Layout, FollowsFromThreeNumbers) {
    struct Row {
        std::uint32_t nodes, clusters;   // and 80 SMs
        std::uint32_t local[2], far[3];  // inputs and outputs of a local crossbar; number, inputs and outputs of those to the L2
        std::uint32_t kib;               // of a node
    };
    const Row rows[] = {{80, 80, {1, 1}, {1, 80, 32}, 16},  {40, 40, {2, 1}, {1, 40, 32}, 32},  {20, 20, {4, 1}, {1, 20, 32}, 64},
                        {10, 10, {8, 1}, {1, 10, 32}, 128}, {40, 1, {80, 40}, {1, 40, 32}, 32}, {40, 5, {16, 8}, {8, 5, 4}, 32},
                        {40, 10, {8, 4}, {4, 10, 8}, 32},   {40, 20, {4, 2}, {2, 20, 16}, 32}};
    for (const Row& row : rows) {
        const MachineSpec s = eighty(row.nodes, row.clusters);
        const DcL1Spec& spec = s.section<DcL1Spec>();
        const DcL1Layout layout(spec, 80, 32);
        EXPECT_EQ(layout.cores_per_cluster(), row.local[0]);
        EXPECT_EQ(layout.nodes_per_cluster(), row.local[1]);
        EXPECT_EQ(layout.far_networks(), row.far[0]);
        EXPECT_EQ(layout.nodes_per_network(), row.far[1]);
        EXPECT_EQ(layout.slices_per_network(), row.far[2]);
        EXPECT_EQ(spec.cache(s.l1, 80).size_kib, row.kib);
        EXPECT_EQ(spec.cache(s.l1, 80).mshrs, 32 * 80 / row.nodes);
    }
    MachineSpec large = eighty(60, 10);
    const DcL1Layout layout(large.section<DcL1Spec>(), 120, 48);
    EXPECT_EQ(layout.cores_per_cluster(), 12u);
    EXPECT_EQ(layout.nodes_per_cluster(), 6u);
    EXPECT_EQ(layout.far_networks(), 6u);
    EXPECT_EQ(layout.slices_per_network(), 8u);
}

TEST(DcL1Layout, HomesAreRangesOfSlices) {
    const AddressMap slices(16, 2, 256, "plain");
    const AddressMap c10 = eighty(40, 10).section<DcL1Spec>().port_map(slices, 80);
    EXPECT_EQ(c10.slice(0), 0u);
    EXPECT_EQ(c10.slice(2047), 0u);
    EXPECT_EQ(c10.slice(2048), 1u);
    EXPECT_EQ(c10.slice(7936), 3u);
    EXPECT_EQ(c10.slice(8192), 0u);
    const AddressMap shared = eighty(40, 1).section<DcL1Spec>().port_map(slices, 80);
    EXPECT_EQ(shared.slice(0), 0u);
    EXPECT_EQ(shared.slice(256), 1u);
    EXPECT_EQ(shared.slice(39 * 256), 39u);
    EXPECT_EQ(shared.slice(40 * 256), 0u);
    const AddressMap own = eighty(40, 40).section<DcL1Spec>().port_map(slices, 80);
    for (const Addr address : {0, 2048, 123456}) EXPECT_EQ(own.slice(address), 0u);
    // Many sets grow by powers of two, what is left over by ways.
    MachineSpec one = eighty(1, 1);
    const L1Spec cache = one.section<DcL1Spec>().cache(one.l1, 80);
    EXPECT_EQ(cache.size_kib, 1280u);
    EXPECT_EQ(cache.ways, 20u);
    EXPECT_EQ(cache.sets(), 512u);
}

/// Neighbouring lines of a node belong to neighbouring sets, whatever lies between them at other nodes.
TEST(DcL1Layout, EveryNodeNumbersItsLinesWithoutGaps) {
    for (const auto& [nodes, clusters] : {std::pair{40u, 40u}, {40u, 10u}, {40u, 5u}, {40u, 1u}, {1u, 1u}, {6u, 2u}}) {
        for (const char* hash : {"plain", "xor_fold"}) {
            for (const DcL1Spec::Home home : {DcL1Spec::Home::chunk, DcL1Spec::Home::line}) {
                MachineSpec s = eighty(nodes, clusters);
                DcL1Spec& spec = s.section<DcL1Spec>();
                spec.home = home;
                const AddressMap map = spec.port_map(AddressMap(16, 2, 256, hash), 80);
                const DcL1Layout layout(spec, 80, 32);
                const LineShare share = layout.share(256, 128);
                std::vector<std::vector<std::uint64_t>> numbers(layout.nodes_per_cluster());
                const std::uint64_t lines = 100ull * share.unit * share.turn;
                for (std::uint64_t line = 0; line < lines; ++line) numbers.at(map.slice(line * 128)).push_back(share.number(line));
                for (std::vector<std::uint64_t>& of_node : numbers) {
                    std::sort(of_node.begin(), of_node.end());
                    for (std::uint64_t k = 0; k < of_node.size(); ++k)
                        ASSERT_EQ(of_node[k], k) << nodes << " nodes, " << clusters << " clusters, " << hash;
                    EXPECT_EQ(of_node.size(), lines / layout.nodes_per_cluster());
                }
            }
        }
    }
}

/// Every CTA, one to an SM, loads one line.
RunResult loads_of(const MachineSpec& s, const std::vector<Addr>& lines, std::uint32_t times = 1) {
    std::vector<CtaScript> ctas;
    for (const Addr line : lines) {
        WarpScript warp;
        Access access;
        access.lanes = affine(line);
        for (std::uint32_t k = 0; k < times; ++k) warp.load(1, access).use(1);
        ctas.push_back({warp});
    }
    ScriptedWorkload workload(ctas);
    workload.info().shared_bytes = s.sm.shared_kib * 1024;
    return run_on(s, workload);
}

TEST(DcL1, OneFetchForAClusterOneForEach) {
    const MachineSpec s = decoupled(4, 2);  // SMs 0 to 3 and 4 to 7
    EXPECT_EQ(loads_of(s, {0, 0, 0, 0}).stat("noc.request.packets"), 1u);
    EXPECT_EQ(loads_of(s, {0, 0, 0, 0, 0, 0, 0, 0}).stat("noc.request.packets"), 2u);
    EXPECT_EQ(loads_of(decoupled(8, 8), {0, 0, 0, 0, 0, 0, 0, 0}).stat("noc.request.packets"), 8u);
    EXPECT_EQ(loads_of(decoupled(4, 1), {0, 0, 0, 0, 0, 0, 0, 0}).stat("noc.request.packets"), 1u);
    const RunResult merged = loads_of(s, {0, 0, 0, 0});
    EXPECT_EQ(merged.stat("l1.sector_pending_hits"), 3u * 4);
    EXPECT_EQ(merged.stat("noc.local_reply.packets"), 4u);
}

/// Together the nodes have the capacity of all SMs, however few ports these share; a port passes one request per cycle.
TEST(DcL1, NodesServeSmsThatShareAPort) {
    const MachineSpec s = behind_shared_ports(4, 2, 4);
    const L1Spec cache = s.section<DcL1Spec>().cache(s.l1, 8);
    EXPECT_EQ(cache.size_kib, 2 * s.l1.size_kib);
    EXPECT_EQ(loads_of(s, {0, 0, 0, 0, 0, 0, 0, 0}).stat("noc.request.packets"), 2u);
    EXPECT_EQ(loads_of(s, {0, 0, 0, 0, 0, 0, 0, 0}).stat("dcl1.requests"), 8u);
    MachineSpec ports = s;
    ports.section<NetworkPortsSpec>().ports = 2;
    ports.section<ClusterWidthSpec>().packets_per_cycle = 2;
    EXPECT_NE(check(ports).front().text.find("cluster.network_ports = 1"), std::string::npos);
}

TEST(DcL1, StoresEmptyTheirLineAndGoOn) {
    const MachineSpec s = decoupled(4, 2);
    WarpScript warp;
    Access whole, word;
    whole.lanes = affine(0);
    word.active = 1;
    warp.load(1, whole).use(1).store(word).load(2, whole).use(2).load(3, whole).use(3);
    Access elsewhere = word;
    elsewhere.lanes = affine(4096);
    warp.store(elsewhere).load(4, whole).use(4);
    const RunResult result = run_on(s, warp);
    EXPECT_EQ(result.stat("l1.write_invalidations"), 1u);
    EXPECT_EQ(result.stat("l1.fills"), 2u);
    EXPECT_EQ(result.stat("l1.sector_hits"), 2u * 4);
    EXPECT_EQ(result.stat("l2.writes"), 2u);
    // A store of one word takes a flit each way through both networks; a load's reply is the whole line here.
    EXPECT_EQ(result.stat("noc.request.flits"), 4u);
    EXPECT_EQ(result.stat("noc.local_reply.flits"), 4u * 4 + 2);
}

TEST(DcL1, ASmGetsTheWordsItAskedFor) {
    MachineSpec s = decoupled(4, 2);
    Access two;
    two.lanes = affine(96, 28);  // words 24 and 31
    two.active = 3;
    WarpScript warp;
    warp.load(1, two).use(1);
    EXPECT_EQ(run_on(s, warp).stat("noc.local_reply.flits"), 1u);
    two.lanes = affine(0, 124);  // words 0 and 31: two sectors
    WarpScript apart;
    apart.load(1, two).use(1);
    EXPECT_EQ(run_on(s, apart).stat("noc.local_reply.flits"), 1u);
    s.section<DcL1Spec>().reply = DcL1Spec::Reply::sectors;
    EXPECT_EQ(run_on(s, apart).stat("noc.local_reply.flits"), 2u);
    s.section<DcL1Spec>().reply = DcL1Spec::Reply::line;
    EXPECT_EQ(run_on(s, apart).stat("noc.local_reply.flits"), 4u);
}

TEST(DcL1, RefusesWhatMakesNoSense) {
    const auto problem = [](auto change) {
        MachineSpec s = decoupled(4, 2);
        change(s, s.section<DcL1Spec>());
        const std::vector<SpecProblem> problems = check(s);
        return problems.empty() ? std::string() : problems.front().text;
    };
    EXPECT_NE(problem([](MachineSpec&, DcL1Spec& d) { d.nodes = 5; }).find("multiple of dcl1.clusters"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec&, DcL1Spec& d) { d.nodes = d.clusters = 3; }).find("change dcl1.clusters"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec&, DcL1Spec& d) { d.nodes = 16; }).find("lower it"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec&, DcL1Spec& d) { d.local = DcL1Spec::Local::direct; }).find("equal"), std::string::npos);
    EXPECT_NE(problem([](MachineSpec& s, DcL1Spec&) {
                  s.lsu.front = "mrpb";
                  s.sm.shared_path = SmSpec::SharedPath::own;
              }).find("lsu.front"),
              std::string::npos);
    EXPECT_NE(problem([](MachineSpec& s, DcL1Spec&) { s.l1.enabled = false; }).find("l1.enabled"), std::string::npos);
}

}  // namespace
}  // namespace mergelane::testing
