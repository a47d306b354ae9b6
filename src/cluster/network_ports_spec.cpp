// SPDX-License-Identifier: MIT
#include "cluster/network_ports_spec.hpp"

#include <fmt/format.h>

#include "cluster/cluster_spec.hpp"
#include "core/result.hpp"
#include "parts/fabric.hpp"

namespace mergelane {

void NetworkPortsSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integer("network_ports", ports, 1, 64, "ports",
              "ports of an SM cluster into each network: SM n uses port n mod ports, and each port has an injection buffer and a response "
              "FIFO of its own");
}

void NetworkPortsSpec::check(const MachineFacts& machine, const Sections& others, Problems& problems) const {
    const std::uint32_t width = others.get<ClusterWidthSpec>().packets_per_cycle;
    problems.require(
        ports <= machine.sms_per_cluster, {"cluster.network_ports", "gpu.sms_per_cluster"},
        fmt::format("cluster.network_ports ({}) is more than the {} SMs of an SM cluster; lower it", ports, machine.sms_per_cluster));
    problems.require(width % ports == 0, {"cluster.network_ports", "cluster.packets_per_cycle"},
                     fmt::format("cluster.packets_per_cycle ({}) is of all network ports together; make it a multiple of "
                                 "cluster.network_ports ({})",
                                 width, ports));
    problems.require(
        ports == 1 || fabric_of(others) == nullptr, {"cluster.network_ports"},
        "a mechanism places nodes between SM clusters and L2, which have one port per SM cluster; set cluster.network_ports = 1");
    problems.require(!machine.network_has_routers, {"cluster.network_ports", "noc.kind"},
                     "a mesh has one router per SM cluster; use noc.kind = \"crossbar\", or set cluster.network_ports = 1");
}

}  // namespace mergelane
