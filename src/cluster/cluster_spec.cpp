// SPDX-License-Identifier: MIT
#include "cluster/cluster_spec.hpp"

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

}  // namespace mergelane
