// SPDX-License-Identifier: MIT
#include "cluster/cluster_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/result.hpp"

namespace mergelane {

void ClusterSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integer("injection_buffer", injection_buffer, 1, 1024, "packets", "injection buffer of an SM cluster's network port");
    f.integer("response_fifo", response_fifo, 1, 1024, "packets",
              "reply FIFO of an SM cluster, in addition to replies in flight on the link");
}

void ClusterSpec::laws(LawBook& s) const {
    s.balance("cluster.requests_in = cluster.requests_out + cluster.kept + queued", s("cluster.requests_in"),
              s("cluster.requests_out") + s("cluster.kept") + s("cluster.queued"));
}

void ClusterSizesSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integers(
        "sizes", sizes, 0, 64, "SMs",
        "SMs of each SM cluster, if they differ: gpu.clusters numbers, of which gpu.sms_per_cluster is the largest; 0: they do not differ");
}

void ClusterWidthSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integer("packets_per_cycle", packets_per_cycle, 1, 64, "packets",
              "requests and replies that the network port of an SM cluster moves per core cycle, each; the network takes one per cycle of "
              "its own");
}

void ClusterSizesSpec::check(const MachineFacts& machine, const Sections&, Problems& problems) const {
    const std::size_t clusters = machine.clusters / machine.groups;
    problems.require(sizes.size() == clusters, {"cluster.sizes", "gpu.clusters"},
                     fmt::format("cluster.sizes lists {} SM clusters, but gpu.clusters is {}; make them equal", sizes.size(), clusters));
    problems.require(std::find(sizes.begin(), sizes.end(), 0u) == sizes.end(), {"cluster.sizes"},
                     "cluster.sizes lists an SM cluster without SMs; leave it out");
    const std::uint32_t largest = *std::max_element(sizes.begin(), sizes.end());
    problems.require(largest == machine.sms_per_cluster, {"cluster.sizes", "gpu.sms_per_cluster"},
                     fmt::format("the largest SM cluster of cluster.sizes has {} SMs; set gpu.sms_per_cluster to {}", largest, largest));
}

std::vector<std::uint32_t> ClusterSizesSpec::first_sms() const {
    if (!enabled()) return {};
    std::vector<std::uint32_t> firsts(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), firsts.begin() + 1);
    return firsts;
}

}  // namespace mergelane
