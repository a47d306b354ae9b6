// SPDX-License-Identifier: MIT
// Small machines with decoupled L1s: 8 SMs and 8 slices in every organisation that the three numbers can define.
#pragma once

#include "cluster/cluster_spec.hpp"
#include "machines.hpp"
#include "nodes/dcl1_spec.hpp"

namespace mergelane::testing {

inline MachineSpec private_l1s() {
    MachineSpec s = gtx480_like();
    s.name = "private-l1s";
    s.gpu.clusters = 8;
    s.dram.channels = 4;
    s.l2.slices_per_channel = 2;
    s.l2.slice_hash = "plain";
    s.l1.size_kib = 2;
    s.l1.ways = 2;
    s.l2.size_kib = 2;
    s.l2.ways = 2;
    s.noc.header_bytes = 0;
    s.noc.queueing = NetworkShape::Queueing::voq;
    s.noc.arbiter = NetworkShape::Arbiter::islip;
    return valid(s);
}

inline MachineSpec decoupled(std::uint32_t nodes, std::uint32_t clusters, std::uint32_t local_mhz = 700, MachineSpec s = private_l1s()) {
    s.name = "nodes-" + std::to_string(nodes) + "-clusters-" + std::to_string(clusters) + "-" + std::to_string(local_mhz);
    DcL1Spec& dcl1 = s.section<DcL1Spec>();
    dcl1.on = true;
    dcl1.nodes = nodes;
    dcl1.clusters = clusters;
    dcl1.local_mhz = local_mhz;
    return valid(s);
}

/// Eight SMs in clusters that share a port.
inline MachineSpec behind_shared_ports(std::uint32_t nodes, std::uint32_t node_clusters, std::uint32_t sms_per_cluster = 2) {
    MachineSpec s = private_l1s();
    s.gpu.clusters = 8 / sms_per_cluster;
    s.gpu.sms_per_cluster = sms_per_cluster;
    s = decoupled(nodes, node_clusters, 1400, s);
    s.name += "-behind-ports-of-" + std::to_string(sms_per_cluster);
    return s;
}

inline std::vector<MachineSpec> dcl1_machines() {
    std::vector<MachineSpec> list = {decoupled(8, 8),       decoupled(4, 4), decoupled(2, 2), decoupled(1, 1), decoupled(4, 1),
                                     decoupled(4, 2, 1400), decoupled(8, 2), decoupled(6, 2)};  // 3 homes do not divide 8 slices
    MachineSpec s = decoupled(4, 2, 700, with_tiny_buffers(private_l1s()));
    s.name += "-tiny";
    s.section<DcL1Spec>().queue = 1;
    s.section<DcL1Spec>().mshrs = 2;
    list.push_back(valid(s));
    s = decoupled(4, 2);
    s.name += "-by-line-whole-lines";
    s.section<DcL1Spec>().home = DcL1Spec::Home::line;
    s.section<DcL1Spec>().sets = DcL1Spec::Sets::whole;
    s.section<DcL1Spec>().reply = DcL1Spec::Reply::line;
    s.section<DcL1Spec>().write_hit = DcL1Spec::WriteHit::line;
    s.section<DcL1Spec>().hit_latency = 0;
    list.push_back(valid(s));
    s = decoupled(1, 1);
    s.name = "one-shared-l1";
    s.section<DcL1Spec>().local = DcL1Spec::Local::direct;
    list.push_back(valid(s));
    s = decoupled(4, 2, 1400);
    s.name = "two-crossbars-in-a-row";
    s.section<DcL1Spec>().caching = false;
    list.push_back(valid(s));
    s = decoupled(4, 2);
    s.name = "warp-pool";
    s.lsu.front = "warp_pool";
    s.sm.shared_path = SmSpec::SharedPath::own;
    list.push_back(valid(s));
    s = decoupled(4, 2);
    s.name = "two-groups-hashed-slices";
    s.gpu.groups = 2;
    s.l2.slice_hash = "xor_fold";
    s.section<DcL1Spec>().reply = DcL1Spec::Reply::sectors;
    list.push_back(valid(s));
    list.push_back(behind_shared_ports(4, 2));
    s = behind_shared_ports(8, 2, 4);  // more nodes than ports, which pass two packets per cycle
    s.section<ClusterWidthSpec>().packets_per_cycle = 2;
    list.push_back(valid(s));
    return list;
}

}  // namespace mergelane::testing
