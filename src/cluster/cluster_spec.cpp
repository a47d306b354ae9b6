// SPDX-License-Identifier: MIT
#include "cluster/cluster_spec.hpp"

namespace mergelane {

void ClusterSpec::fields(SpecFields& f) {
    f.section("cluster");
    f.integer("injection_buffer", injection_buffer, 1, 1024, "packets", "requests of a cluster's SMs waiting at the shared network port");
    f.integer("response_fifo", response_fifo, 1, 1024, "packets",
              "replies waiting to be handed to a cluster's SMs, beyond those still on the link");
}

void ClusterSpec::laws(LawBook& s) const {
    s.balance("cluster.requests_in = cluster.requests_out + cluster.kept + queued", s("cluster.requests_in"),
              s("cluster.requests_out") + s("cluster.kept") + s("cluster.queued"));
}

}  // namespace mergelane
